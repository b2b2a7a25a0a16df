"""Checks of how commits are kept: a history cut off, borrowed or replaced, and when `git gc` is due.

Checks for what a loss of power breaks: loose objects and the files of branches.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from docyard.doctor.finding import FIX_COMMAND, FROM_A_CLONE, Finding, Severity, format_count, format_some
from workspace.git.loose import BROKEN_OBJECTS
from workspace.git.repository import DamagedRepository

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.git.reader import GitReader
    from workspace.publishing.pruned import PrunedBranch
    from workspace.publishing.repair import TornRef
    from workspace.workspace import Workspace

AREA = "repository"
LOOSE, PACKS = 6700, 50
"""As many of each as Git keeps before `git gc --auto` does something (gc.auto, gc.autoPackLimit)."""


def check_storage(git: GitReader) -> Iterator[Finding]:
    """Yield what a person ought to know of the history that is here."""
    common = git.common_dir
    if (common / "shallow").is_file():
        yield Finding(
            Severity.NOTE,
            AREA,
            "this is a shallow clone: history ends where it was cut",
            "git fetch --unshallow",
        )
    if _replaced(common):
        yield Finding(
            Severity.NOTE,
            AREA,
            "objects are replaced here (git replace, grafts): docyard reads what was committed, "
            "not what replaces it",
            "git --no-replace-objects log shows what docyard reads",
        )
    if (common / "objects" / "info" / "alternates").is_file():
        yield Finding(
            Severity.NOTE,
            AREA,
            "objects are borrowed from another repository, which must stay where it is",
            "git repack -a -d, then remove objects/info/alternates, makes this one stand alone",
        )
    yield from _time_to_pack(common / "objects")


def _time_to_pack(objects: Path) -> Iterator[Finding]:
    # As git gc estimates it: ids are spread evenly over 256 folders.
    loose = _count(objects / "17", 38) * 256
    packs = _count(objects / "pack", None)
    if loose > LOOSE:
        yield Finding(
            Severity.NOTE, AREA, f"about {loose:,} objects are not packed yet; it is time", "git gc"
        )
    elif packs > PACKS:
        yield Finding(Severity.NOTE, AREA, f"{packs} packs slow down every read; it is time", "git gc")


def _count(folder: Path, length: int | None) -> int:
    """Return how many loose objects are in a folder, or packs where no length of names is given."""
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return 0
    return sum(len(name) == length if length else name.endswith(".pack") for name in names)


def _replaced(common: Path) -> bool:
    folder = common / "refs" / "replace"
    if (common / "info" / "grafts").is_file() or (folder.is_dir() and any(folder.iterdir())):
        return True
    try:
        return b" refs/replace/" in (common / "packed-refs").read_bytes()
    except OSError:
        return False


def check_damage(workspace: Workspace, writable: Callable[[], Workspace]) -> Iterator[Finding]:
    """Find what is broken in the files of the repository and in the commits of its branches."""
    from workspace.publishing.pruned import find_pruned_branches
    from workspace.publishing.repair import find_broken_objects, find_torn_refs, is_torn

    git = workspace.git
    broken = find_broken_objects(git.common_dir)
    if broken:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"{format_count(broken, 'object is', 'objects are')} empty or cut short (a loss of "
            "power does that): "
            f"{format_some([id[:12] for id in broken])}",
            FIX_COMMAND,
            partial(_set_aside, git.common_dir, broken),
        )
    if is_torn(git.git_dir / "HEAD"):
        yield Finding(
            Severity.ERROR,
            AREA,
            "HEAD is torn (a loss of power does that), so git takes this for no repository",
            f'echo "ref: refs/heads/{_last_branch(git)}" > {_shown(git.git_dir)}/HEAD',
            subject="HEAD",
        )
    yield from (_torn(git, torn) for torn in find_torn_refs(git, broken))
    pruned = list(find_pruned_branches(git, workspace.branch))
    yield from _pruned(workspace, pruned, writable)
    if not any(one.branch == workspace.branch and one.can_rebuild for one in pruned):
        yield from _lost(workspace, broken)
    yield from _kept(git.common_dir)


def _torn(git: GitReader, torn: TornRef) -> Finding:
    message = f"the branch {torn.branch} is torn (a loss of power does that)"
    if torn.commit is None:
        return Finding(
            Severity.ERROR,
            AREA,
            f"{message}, and no reflog names a commit that is whole",
            "git fsck --lost-found names commits; then "
            f'echo COMMIT > "$(git rev-parse --git-common-dir)/refs/heads/{torn.branch}"',
            subject=f"refs/heads/{torn.branch}",
        )
    later = ", and what came after it is broken or missing" if torn.later else ""
    return Finding(
        Severity.ERROR,
        AREA,
        f"{message}: its reflog says that it was at {torn.commit[:12]}{later}",
        FIX_COMMAND,
        partial(_restore, git, torn),
        subject=f"refs/heads/{torn.branch}",
    )


def _pruned(
    workspace: Workspace, branches: Sequence[PrunedBranch], writable: Callable[[], Workspace]
) -> Iterator[Finding]:
    """Report branches whose objects are missing. The served one is only named here if some can come back."""
    for pruned in branches:
        is_served = pruned.branch == workspace.branch
        name = "the commit that is served" if is_served else f"the branch {pruned.branch}"
        first = pruned.missing[0]
        more = f" and {len(pruned.missing) - 1:,} more" if len(pruned.missing) > 1 else ""
        message = f"{name} is not whole: the {first.kind} {first.id[:12]} is missing or broken{more}"
        if pruned.can_rebuild:
            yield Finding(
                Severity.ERROR,
                AREA,
                message,
                FIX_COMMAND,
                partial(_rebuild, writable, pruned),
                subject=first.id,
            )
        elif not is_served:
            fix = FROM_A_CLONE + _back(workspace.git, pruned.branch)
            yield Finding(Severity.ERROR, AREA, message, fix, subject=first.id)


def _rebuild(writable: Callable[[], Workspace], pruned: PrunedBranch) -> str | None:
    from workspace.git.store import GitStore
    from workspace.publishing.pruned import rebuild_branch

    store = writable().git
    assert isinstance(store, GitStore)
    done = rebuild_branch(store, pruned)
    if done is None:
        return None
    number = "1 object" if done.restored == 1 else f"{done.restored:,} objects"
    words = f"wrote {number} of the branch {pruned.branch} again" if done.restored else ""
    if done.moved_to is not None:
        words += (
            f"{' and ' if words else ''}made the commit {done.moved_to[:12]} of Git's index on the branch "
        )
        words += f"{pruned.branch}, in place of {pruned.tip[:12]}"
    if done.lost:
        lost = [f"{one.kind} {one.id[:12]}" + (f" ({one.path})" if one.path else "") for one in done.lost]
        words += f"; could not bring back: {format_some(lost)}"
    return words.removeprefix("; ")


def _lost(workspace: Workspace, broken: tuple[str, ...]) -> Iterator[Finding]:
    """Yield the served branch names a commit of which the commit itself, or a folder, is not here."""
    from workspace.git.trees import walk_tree

    git = workspace.git
    try:
        branch, tip = workspace.branch, workspace.tip()
    except DamagedRepository:  # it is torn, which is told
        return
    try:
        if tip is not None:
            for _ in walk_tree(git, git.commit(tip).tree):
                pass
    except DamagedRepository as error:
        id = str(error.details.get("id"))
        back = _back(git, branch, broken) if branch is not None else ""
        yield Finding(
            Severity.ERROR,
            AREA,
            f"the commit that is served is not whole: the object {id[:12]} is missing or broken",
            f"{FROM_A_CLONE}{back}",
            subject=id,
        )


def _back(git: GitReader, branch: str, broken: tuple[str, ...] = ()) -> str:
    """Return how a person moves a branch back to the last commit of its reflog that is whole."""
    from workspace.publishing.repair import find_last_whole_commit

    whole = find_last_whole_commit(git, branch, broken).commit
    if whole is None:
        return ""
    return f"; or git update-ref refs/heads/{branch} {whole[:12]}, the last commit that is whole"


def _kept(common_dir: Path) -> Iterator[Finding]:
    from workspace.publishing.repair import BROKEN_REFS

    for name, one, many in (
        (BROKEN_OBJECTS, "broken object was", "broken objects were"),
        (BROKEN_REFS, "torn file of a branch was", "torn files of branches were"),
    ):
        folder = common_dir / name
        kept = os.listdir(folder) if folder.is_dir() else []
        if kept:
            yield Finding(
                Severity.NOTE,
                AREA,
                f"{format_count(kept, one, many)} set aside in {name} of the Git folder; nothing "
                "uses it any more",
                f'once nothing is missed: rm -r "$(git rev-parse --git-common-dir)/{name}"',
            )


def _last_branch(git: GitReader) -> str:
    """Return the branch that HEAD stood on, as far as can be told; else a word to be replaced."""
    branches = git.branches()
    try:
        log = (git.git_dir / "logs" / "HEAD").read_text("utf-8", "replace")
    except OSError:
        log = ""
    moves = [line.rpartition(" to ")[2] for line in log.splitlines() if "\tcheckout: moving from " in line]
    if moves and moves[-1] in branches:
        return moves[-1]
    return branches[0] if len(branches) == 1 else "BRANCH"


def _shown(git_dir: Path) -> str:
    return ".git" if git_dir.name == ".git" else "GIT-FOLDER"


def _set_aside(common_dir: Path, ids: tuple[str, ...]) -> str | None:
    from workspace.publishing.repair import set_aside_objects

    moved = set_aside_objects(common_dir, ids)
    if not moved:
        return None
    return (
        f"set {format_count(moved, 'broken object', 'broken objects')} aside in "
        f"{BROKEN_OBJECTS} of the Git folder"
    )


def _restore(git: GitReader, torn: TornRef) -> str | None:
    from workspace.publishing.repair import BROKEN_REFS, restore_torn_ref

    if not restore_torn_ref(git, torn):
        return None
    assert torn.commit is not None
    return f"restored the branch {torn.branch} to {torn.commit[:12]}; its torn file is in {BROKEN_REFS}"
