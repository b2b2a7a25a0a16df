"""Repair of damage by a loss of power, as far as that is safe. `docyard doctor --fix` runs it.

Broken loose objects are moved out of Git's object folder, and torn branches are restored from their reflogs.
Nothing is deleted: the replaced files are preserved in `docyard/` within the Git directory.

A broken loose object is empty, truncated or otherwise not the object of its name (gitformat-loose). The file
of a torn branch contains neither an id nor the name of another ref; its reflog has the last commit.
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
from workspace.publishing.recovery import list_staging_folders
from workspace.publishing.staging_folder import StagingFolder, sync_to_disk

_FOLDER_NAME, _FILE_NAME = re.compile(r"[0-9a-f]{2}"), re.compile(r"[0-9a-f]{38}")


def list_loose_ids(common_dir: Path) -> Iterator[str]:
    """Yield the ids of the loose objects, unordered."""
    with os.scandir(common_dir / "objects") as folders:
        names = [folder.name for folder in folders if _FOLDER_NAME.fullmatch(folder.name) and folder.is_dir()]
    for name in names:
        with os.scandir(common_dir / "objects" / name) as files:
            yield from [name + file.name for file in files if _FILE_NAME.fullmatch(file.name)]


def find_broken_objects(common_dir: Path) -> tuple[str, ...]:
    """Return the ids of the loose objects whose bytes do not match their names, sorted.

    Files that this user may not read are skipped. Raises OSError if the folder of objects cannot be read.
    """
    return tuple(sorted(id for id in list_loose_ids(common_dir) if _is_broken(common_dir, id)))


def move_broken_objects(common_dir: Path, ids: Iterable[str]) -> tuple[str, ...]:
    """Move loose objects out of Git's object folder if they are still broken; return the moved ids.

    An object that is also in a pack is then readable again. Git neither fetches nor writes an object again
    while its broken file exists.

    Raises:
        Locked: another Docyard is writing.
        OSError: the system refused a write.
    """
    with docyard_lock(common_dir):
        return tuple(id for id in ids if loose.move_broken_object(common_dir, id))


def _is_broken(common_dir: Path, id: str) -> bool:
    try:
        with build_loose_path(common_dir, id).open("rb") as stream:
            stream.read()
        read_loose(common_dir, id)
    except BrokenObject:
        return True
    except OSError:  # removed meanwhile or not readable, so not known to be broken
        return False
    return False


BROKEN_REFS = "docyard/broken-refs"
"""The folder for torn branch files, within the common Git directory."""

_VALID_REF = re.compile(rb"(ref:[ \t]*\S[^\n]*|[0-9a-f]{40})\s*")
_REFLOG_ENTRY = re.compile(r"[0-9a-f]{40} ([0-9a-f]{40}) ")
_NULL_ID = "0" * 40


@dataclass(frozen=True, slots=True)
class TornRef:
    """A branch whose file is torn. `commit` is the last complete commit in its reflog, or None.

    `later_move_count` is the number of later moves, whose commits are missing or broken.
    """

    branch: str
    commit: str | None
    later_move_count: int = 0


def find_torn_refs(git: GitReader, broken_ids: Collection[str] = ()) -> Iterator[TornRef]:
    """Yield the torn branches of a repository; `broken_ids` are its broken loose objects."""
    root = git.common_dir / "refs" / "heads"
    for path in sorted(root.rglob("*")):
        if path.suffix != ".lock" and is_torn(path):
            yield find_last_complete_commit(git, path.relative_to(root).as_posix(), broken_ids)


def restore_torn_ref(git: GitReader, torn_ref: TornRef) -> bool:
    """Move a torn branch to the commit of its reflog, and preserve its file.

    Return False, without a change, if the reflog has no complete commit, or if the branch is no longer torn.

    Raises:
        Locked: another program has the branch's lock, or another Docyard is writing.
        OSError: the system refused a write.
    """
    if torn_ref.commit is None:
        return False
    path = git.common_dir / "refs" / "heads" / torn_ref.branch
    with docyard_lock(git.common_dir):
        # A lock of a dead docyard also excludes other programs.
        dead_folders = [
            StagingFolder(folder, durable=False) for folder in list_staging_folders(git.common_dir)
        ]
        staging_folder = StagingFolder.make(git.common_dir, durable=True)
        lock = LinkedLock(staging_folder.lock_token, path, git.common_dir)
        try:
            staging_folder.write("ref", f"{torn_ref.commit}\n".encode(), old_file=path)
            if not any(folder.owns(lock.path) for folder in dead_folders):
                lock.acquire()
            is_torn_now = is_torn(path)
            if is_torn_now:
                _preserve_torn_file(git, torn_ref.branch, path)
                staging_folder.install("ref", path)
                sync_to_disk(path.parent)
        finally:
            if lock.release():
                staging_folder.clear()
    return is_torn_now


def _preserve_torn_file(git: GitReader, branch: str, path: Path) -> None:
    folder = make_subfolder(git.common_dir, Path(BROKEN_REFS).name)
    os.link(path, find_free_name(folder / branch.replace("/", "%2F")))


def is_complete_commit(git: GitReader, commit: str, broken_ids: Collection[str] = ()) -> bool:
    """Return True if a commit, its parents, its folders and its files are in the repository.

    Files whose objects are in `broken_ids` count as missing.
    """
    try:
        commit_object = git.commit(commit)
        for parent in commit_object.parents:
            git.commit(parent)
        for _, entry in walk_tree(git, commit_object.tree):
            if entry.is_blob or entry.mode == LINK_MODE:
                git.blob_size(entry.id)
                if entry.id in broken_ids:
                    return False
    except DamagedRepository:
        return False
    return True


def find_last_complete_commit(git: GitReader, branch: str, broken_ids: Collection[str]) -> TornRef:
    """Return a branch with the last complete commit in its reflog, as a `TornRef` even if it is not torn."""
    try:
        log = (git.common_dir / "logs" / "refs" / "heads" / branch).read_text("utf-8", "replace")
    except OSError:
        return TornRef(branch, None)
    ids = [
        match[1] for line in log.splitlines() if (match := _REFLOG_ENTRY.match(line)) and match[1] != _NULL_ID
    ]
    for later_count, id in enumerate(reversed(ids)):
        if is_complete_commit(git, id, broken_ids):
            return TornRef(branch, id, later_count)
    return TornRef(branch, None)


def is_torn(path: Path) -> bool:
    """Return True if the file of a branch, or HEAD, contains neither an id nor the name of another ref."""
    try:
        return path.is_file() and not path.is_symlink() and not _VALID_REF.fullmatch(path.read_bytes())
    except OSError:
        return False
