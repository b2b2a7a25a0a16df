"""Repair of damage by a loss of power, as far as that is safe. `docyard doctor --fix` runs it.

Broken loose objects are moved aside, and torn branches are restored from their reflogs. Nothing is deleted:
replaced files are preserved in `docyard/` within the Git directory.

The objects are loose ones that are empty or truncated (gitformat-loose). The branches are those whose files
are empty or contain no commit id; their reflogs have the last commit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workspace.git import loose
from workspace.git.loose import BrokenObject, build_loose_path, find_free_name, read_loose
from workspace.git.objects import LINK_MODE
from workspace.git.private_folder import make_subfolder
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.git.trees import walk_tree
from workspace.publishing.locks import LinkedLock, docyard_lock
from workspace.publishing.prepared import StagingFolder, sync_to_disk
from workspace.publishing.recovery import list_staging_folders

_FOLDER, _NAME = re.compile(r"[0-9a-f]{2}"), re.compile(r"[0-9a-f]{38}")


def list_loose_objects(common_dir: Path) -> Iterator[str]:
    """Yield the ids of the loose objects, unordered."""
    with os.scandir(common_dir / "objects") as folders:
        names = [folder.name for folder in folders if _FOLDER.fullmatch(folder.name) and folder.is_dir()]
    for name in names:
        with os.scandir(common_dir / "objects" / name) as files:
            yield from [name + file.name for file in files if _NAME.fullmatch(file.name)]


def find_broken_objects(common_dir: Path) -> tuple[str, ...]:
    """Return the ids of the loose objects whose bytes do not match their names, sorted.

    Files that this user may not read are skipped. Errors: OSError if the folder of objects cannot be read.
    """
    return tuple(sorted(id for id in list_loose_objects(common_dir) if _is_broken(common_dir, id)))


def set_aside_objects(common_dir: Path, ids: Iterable[str]) -> tuple[str, ...]:
    """Move loose objects out of Git's object folder if they are still broken; return the moved ones.

    An object that is also in a pack is then readable again. Git does not fetch or add any other object again
    while the broken file exists.

    Raises:
        Locked: another Docyard is writing.
        OSError: the system refused a write.
    """
    with docyard_lock(common_dir):
        return tuple(id for id in ids if loose.set_aside(common_dir, id))


def _is_broken(common_dir: Path, id: str) -> bool:
    try:
        with build_loose_path(common_dir, id).open("rb") as stream:
            stream.read()
        read_loose(common_dir, id)
    except BrokenObject:
        return True
    except OSError:  # removed meanwhile or not readable, which does not mean broken
        return False
    return False


BROKEN_REFS = "docyard/broken-refs"
"""The folder of torn branch files, within the common Git directory."""

_WHOLE = re.compile(rb"(ref:[ \t]*\S[^\n]*|[0-9a-f]{40})\s*")
_LOGGED = re.compile(r"[0-9a-f]{40} ([0-9a-f]{40}) ")
_NOTHING = "0" * 40


@dataclass(frozen=True, slots=True)
class TornRef:
    """A branch whose file is torn. `commit` is the last whole commit of its reflog, or None.

    `later` counts the moves after that one, whose commits are missing or broken.
    """

    branch: str
    commit: str | None
    later: int = 0


def find_torn_refs(git: GitReader, broken: Collection[str] = ()) -> Iterator[TornRef]:
    """Yield the torn branches of a repository; `broken` lists its broken loose objects."""
    root = git.common_dir / "refs" / "heads"
    for path in sorted(root.rglob("*")):
        if path.suffix != ".lock" and is_torn(path):
            yield find_last_whole_commit(git, path.relative_to(root).as_posix(), broken)


def restore_torn_ref(git: GitReader, torn: TornRef) -> bool:
    """Move a torn branch to the commit of its reflog, and preserve its file; return False if it is valid now.

    Raises:
        Locked: another program holds the branch's lock, or another Docyard is writing.
        OSError: the system refused a write.
    """
    if torn.commit is None:
        return False
    path = git.common_dir / "refs" / "heads" / torn.branch
    with docyard_lock(git.common_dir):
        # A lock of a dead docyard also excludes other programs.
        dead_folders = [
            StagingFolder(folder, durable=False) for folder in list_staging_folders(git.common_dir)
        ]
        prepared = StagingFolder.make(git.common_dir, durable=True)
        lock = LinkedLock(prepared.claim, path, git.common_dir)
        try:
            prepared.write("ref", f"{torn.commit}\n".encode(), like=path)
            if not any(folder.owns(lock.path) for folder in dead_folders):
                lock.take()
            restored = is_torn(path)
            if restored:
                _preserve_torn_file(git, torn.branch, path)
                prepared.install("ref", path)
                sync_to_disk(path.parent)
        finally:
            if lock.release():
                prepared.clear()
    return restored


def _preserve_torn_file(git: GitReader, branch: str, path: Path) -> None:
    folder = make_subfolder(git.common_dir, Path(BROKEN_REFS).name)
    os.link(path, find_free_name(folder / branch.replace("/", "%2F")))


def is_whole(git: GitReader, commit: str, broken: Collection[str] = ()) -> bool:
    """Return True if a commit, its contents, and the commits before it are in the repository."""
    try:
        commit_object = git.commit(commit)
        for parent in commit_object.parents:
            git.commit(parent)
        for _, entry in walk_tree(git, commit_object.tree):
            if entry.is_blob or entry.mode == LINK_MODE:
                git.blob_size(entry.id)
                if entry.id in broken:
                    return False
    except DamagedRepository:
        return False
    return True


def find_last_whole_commit(git: GitReader, branch: str, broken: Collection[str]) -> TornRef:
    """Return the last whole commit of a branch, by its reflog."""
    try:
        log = (git.common_dir / "logs" / "refs" / "heads" / branch).read_text("utf-8", "replace")
    except OSError:
        return TornRef(branch, None)
    ids = [match[1] for line in log.splitlines() if (match := _LOGGED.match(line)) and match[1] != _NOTHING]
    for later, id in enumerate(reversed(ids)):
        if is_whole(git, id, broken):
            return TornRef(branch, id, later)
    return TornRef(branch, None)


def is_torn(path: Path) -> bool:
    """Return True if the file of a branch, or HEAD, holds neither an id nor the name of another ref."""
    try:
        return path.is_file() and not path.is_symlink() and not _WHOLE.fullmatch(path.read_bytes())
    except OSError:
        return False
