"""Checks of the storage of commits: shallow, borrowed or replaced history, and the need for `git gc`.

Further checks find missing objects, and damage by a power loss in loose objects and branch files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from docyard.doctor.finding import (
    COPY_OBJECTS_COMMAND,
    FIX_COMMAND,
    Finding,
    Severity,
    format_count,
    format_list,
)
from workspace.git.loose import BROKEN_OBJECTS
from workspace.git.repository import DamagedRepository

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.git.reader import GitReader
    from workspace.publishing.pruned import PrunedBranch
    from workspace.publishing.repair import TornRef
    from workspace.workspace import Workspace

AREA = "repository"
_SAMPLE_FOLDER, _LOOSE_FOLDER_COUNT = "17", 256
_LOOSE_NAME_LENGTH = 38  # characters of an object id after the two of its folder
MAX_LOOSE_OBJECTS, MAX_PACKS = 6700, 50
"""The numbers of loose objects and packs at which `git gc --auto` runs (gc.auto, gc.autoPackLimit)."""


def check_storage(git: GitReader) -> Iterator[Finding]:
    """Yield notes about incomplete, replaced, borrowed and unpacked objects."""
    common_dir = git.common_dir
    if (common_dir / "shallow").is_file():
        yield Finding(
            Severity.NOTE,
            AREA,
            "this is a shallow clone: older history is missing",
            "git fetch --unshallow",
        )
    if _has_replaced_objects(common_dir):
        yield Finding(
            Severity.NOTE,
            AREA,
            "objects are replaced (git replace, grafts), but docyard reads the original objects",
            "git --no-replace-objects log shows the original objects",
        )
    if (common_dir / "objects" / "info" / "alternates").is_file():
        yield Finding(
            Severity.NOTE,
            AREA,
            "objects are borrowed from another repository, which must not be moved",
            "git repack -a -d, then remove objects/info/alternates, makes this repository independent",
        )
    yield from _check_packing(common_dir / "objects")


def _check_packing(objects_folder: Path) -> Iterator[Finding]:
    # `git gc` estimates in the same way: ids are distributed evenly over 256 folders, of which it reads one.
    loose_count = _count_files(objects_folder / _SAMPLE_FOLDER, _LOOSE_NAME_LENGTH) * _LOOSE_FOLDER_COUNT
    pack_count = _count_files(objects_folder / "pack", None)
    if loose_count > MAX_LOOSE_OBJECTS:
        yield Finding(Severity.NOTE, AREA, f"about {loose_count:,} objects are not packed", "git gc")
    elif pack_count > MAX_PACKS:
        yield Finding(Severity.NOTE, AREA, f"{pack_count} packs slow down every read", "git gc")


def _count_files(folder: Path, name_length: int | None) -> int:
    """Return the number of files whose names have this length; if it is None, the number of packs."""
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return 0
    return sum(len(name) == name_length if name_length else name.endswith(".pack") for name in names)


def _has_replaced_objects(common_dir: Path) -> bool:
    folder = common_dir / "refs" / "replace"
    if (common_dir / "info" / "grafts").is_file() or (folder.is_dir() and any(folder.iterdir())):
        return True
    try:
        return b" refs/replace/" in (common_dir / "packed-refs").read_bytes()
    except OSError:
        return False


def check_damage(workspace: Workspace, open_writable: Callable[[], Workspace]) -> Iterator[Finding]:
    """Yield findings about damaged files of the repository, and missing objects of its branches."""
    from workspace.publishing.pruned import find_pruned_branches
    from workspace.publishing.repair import find_broken_objects, find_torn_refs, is_torn

    git = workspace.git
    broken_ids = find_broken_objects(git.common_dir)
    if broken_ids:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"{format_count(broken_ids, 'object is', 'objects are')} empty or truncated (caused by a "
            "power loss): "
            f"{format_list([id[:12] for id in broken_ids])}",
            FIX_COMMAND,
            partial(_set_aside_objects, git.common_dir, broken_ids),
        )
    if is_torn(git.git_dir / "HEAD"):
        yield Finding(
            Severity.ERROR,
            AREA,
            "HEAD is damaged (caused by a power loss), so git does not recognise the repository",
            f"echo {quote(f'ref: refs/heads/{_guess_head_branch(git)}')} > "
            f"{_format_git_folder(git.git_dir)}/HEAD",
            subject="HEAD",
        )
    yield from (_build_torn_finding(git, torn_ref) for torn_ref in find_torn_refs(git, broken_ids))
    pruned_branches = list(find_pruned_branches(git, workspace.branch))
    yield from _check_pruned_branches(workspace, pruned_branches, open_writable)
    if not any(branch.branch == workspace.branch and branch.can_rebuild for branch in pruned_branches):
        yield from _check_served_commit(workspace, broken_ids)
    yield from _check_set_aside_files(git.common_dir)


def _build_torn_finding(git: GitReader, torn_ref: TornRef) -> Finding:
    message = f"the branch {torn_ref.branch} is damaged (caused by a power loss)"
    if torn_ref.commit is None:
        return Finding(
            Severity.ERROR,
            AREA,
            f"{message}, and no reflog has an intact commit",
            "git fsck --lost-found lists commits; then "
            f'echo COMMIT > "$(git rev-parse --git-common-dir)"/{quote(f"refs/heads/{torn_ref.branch}")}',
            subject=f"refs/heads/{torn_ref.branch}",
        )
    later_note = ", and later commits are broken or missing" if torn_ref.later_move_count else ""
    return Finding(
        Severity.ERROR,
        AREA,
        f"{message}: by its reflog it was at {torn_ref.commit[:12]}{later_note}",
        FIX_COMMAND,
        partial(_restore_branch, git, torn_ref),
        subject=f"refs/heads/{torn_ref.branch}",
    )


def _check_pruned_branches(
    workspace: Workspace, branches: Sequence[PrunedBranch], open_writable: Callable[[], Workspace]
) -> Iterator[Finding]:
    """Yield a finding for each branch with missing objects.

    `_check_served_commit` reports the served branch if its objects cannot be restored.
    """
    for pruned_branch in branches:
        is_served = pruned_branch.branch == workspace.branch
        name = "the served commit" if is_served else f"the branch {pruned_branch.branch}"
        first_object = pruned_branch.missing_objects[0]
        more_text = (
            f" and {len(pruned_branch.missing_objects) - 1:,} more"
            if len(pruned_branch.missing_objects) > 1
            else ""
        )
        message = (
            f"{name} is incomplete: the {first_object.kind} {first_object.id[:12]} is missing or "
            f"broken{more_text}"
        )
        if pruned_branch.can_rebuild:
            yield Finding(
                Severity.ERROR,
                AREA,
                message,
                FIX_COMMAND,
                partial(_rebuild_branch, open_writable, pruned_branch),
                subject=first_object.id,
            )
        elif not is_served:
            fix = COPY_OBJECTS_COMMAND + _format_reset_command(workspace.git, pruned_branch.branch)
            yield Finding(Severity.ERROR, AREA, message, fix, subject=first_object.id)


def _rebuild_branch(open_writable: Callable[[], Workspace], pruned_branch: PrunedBranch) -> str | None:
    from workspace.git.store import GitStore
    from workspace.publishing.pruned import rebuild_branch

    store = open_writable().git
    assert isinstance(store, GitStore)
    result = rebuild_branch(store, pruned_branch)
    if result is None:
        return None
    restored_text = "1 object" if result.restored_count == 1 else f"{result.restored_count:,} objects"
    description = (
        f"wrote {restored_text} of the branch {pruned_branch.branch} again" if result.restored_count else ""
    )
    if result.new_tip is not None:
        description += (
            f"{' and ' if description else ''}committed Git's index as {result.new_tip[:12]} on the branch "
        )
        description += f"{pruned_branch.branch}, in place of {pruned_branch.tip[:12]}"
    if result.unrestorable_objects:
        unrestorable_objects = [
            f"{item.kind} {item.id[:12]}" + (f" ({item.path})" if item.path else "")
            for item in result.unrestorable_objects
        ]
        description += f"; could not restore: {format_list(unrestorable_objects)}"
    return description.removeprefix("; ")


def _check_served_commit(workspace: Workspace, broken_ids: tuple[str, ...]) -> Iterator[Finding]:
    """Yield a finding if the served commit, or one of its folders, is missing."""
    from workspace.git.trees import walk_tree

    git = workspace.git
    try:
        branch, tip = workspace.branch, workspace.tip()
    except DamagedRepository:  # the branch file is damaged, which another check reports
        return
    try:
        if tip is not None:
            for _ in walk_tree(git, git.commit(tip).tree):
                pass
    except DamagedRepository as error:
        id = str(error.details.get("id"))
        reset_command = _format_reset_command(git, branch, broken_ids) if branch is not None else ""
        yield Finding(
            Severity.ERROR,
            AREA,
            f"the served commit is incomplete: the object {id[:12]} is missing or broken",
            f"{COPY_OBJECTS_COMMAND}{reset_command}",
            subject=id,
        )


def _format_reset_command(git: GitReader, branch: str, broken_ids: tuple[str, ...] = ()) -> str:
    """Return the command that moves a branch back to its reflog's last intact commit; empty without one."""
    from workspace.publishing.repair import find_last_complete_commit

    intact_commit = find_last_complete_commit(git, branch, broken_ids).commit
    if intact_commit is None:
        return ""
    return f"; or git update-ref {quote(f'refs/heads/{branch}')} {intact_commit[:12]}, the last intact commit"


def _check_set_aside_files(common_dir: Path) -> Iterator[Finding]:
    from workspace.publishing.repair import BROKEN_REFS

    for name, singular, plural in (
        (BROKEN_OBJECTS, "broken object was", "broken objects were"),
        (BROKEN_REFS, "damaged branch file was", "damaged branch files were"),
    ):
        folder = common_dir / name
        names = os.listdir(folder) if folder.is_dir() else []
        if names:
            yield Finding(
                Severity.NOTE,
                AREA,
                f"{format_count(names, singular, plural)} set aside in {name} of the Git folder; "
                "docyard does not use this folder",
                f'to delete it: rm -r "$(git rev-parse --git-common-dir)/{name}"',
            )


def _guess_head_branch(git: GitReader) -> str:
    """Return the branch that HEAD probably named; else the placeholder BRANCH."""
    branches = git.branches()
    try:
        log = (git.git_dir / "logs" / "HEAD").read_text("utf-8", "replace")
    except OSError:
        log = ""
    visited_branches = [
        line.rpartition(" to ")[2] for line in log.splitlines() if "\tcheckout: moving from " in line
    ]
    if visited_branches and visited_branches[-1] in branches:
        return visited_branches[-1]
    return branches[0] if len(branches) == 1 else "BRANCH"


def _format_git_folder(git_dir: Path) -> str:
    return ".git" if git_dir.name == ".git" else "GIT-FOLDER"


def _set_aside_objects(common_dir: Path, ids: tuple[str, ...]) -> str | None:
    from workspace.publishing.repair import move_broken_objects

    moved_ids = move_broken_objects(common_dir, ids)
    if not moved_ids:
        return None
    return (
        f"set {format_count(moved_ids, 'broken object', 'broken objects')} aside in "
        f"{BROKEN_OBJECTS} of the Git folder"
    )


def _restore_branch(git: GitReader, torn_ref: TornRef) -> str | None:
    from workspace.publishing.repair import BROKEN_REFS, restore_torn_ref

    if not restore_torn_ref(git, torn_ref):
        return None
    assert torn_ref.commit is not None
    commit = torn_ref.commit[:12]
    return f"restored the branch {torn_ref.branch} to {commit}; its damaged file is in {BROKEN_REFS}"
