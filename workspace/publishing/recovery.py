"""Recovery after a crash: an unfinished publication is rolled back or forward.

Before the commit point, everything is rolled back; after it, the remaining steps are done. A publication is
rolled forward if the branch contains its commit. A file, Git's index or a lock is changed only with proof
that the publication wrote it. The proof is the inode, or a name in the journal together with exactly the new
bytes. Later changes by a user are preserved.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workspace.errors import WorkspaceError
from workspace.git.index_file import IndexEntry, IndexFile, PathOccupied
from workspace.git.objects import TreeEntry
from workspace.git.private_folder import is_inaccessible
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore
from workspace.git.trees import find_in_tree
from workspace.git.worktrees import Worktree, is_same_path, list_git_dirs
from workspace.publishing import refs
from workspace.publishing.batch_objects import restore_from_copy, restore_pruned
from workspace.publishing.checkout import OLD_INDEX_NAME, WorkFiles
from workspace.publishing.journal import Journal, UnknownJournal, WorkFile
from workspace.publishing.locks import LOCK_PATH, LOCKED_WORKTREE_FILES, CannotWrite, LinkedLock, docyard_lock
from workspace.publishing.refs import BranchRef
from workspace.publishing.staging_folder import STAGING_FOLDERS, StagingFolder, is_below_link


@dataclass(frozen=True, slots=True)
class RecoveryResult:
    """The numbers of unfinished publications that were rolled back, and rolled forward."""

    rolled_back_count: int = 0
    rolled_forward_count: int = 0


def recover(store: GitStore) -> RecoveryResult:
    """Recover after a crash, and restore pruned branches, under Docyard's lock.

    Raises:
        Locked: another Docyard is writing, or another program has a lock of Git.
        CannotWrite: the system refused a write.
    """
    try:
        with docyard_lock(store.common_dir):
            result = recover_locked(store)
            restore_pruned(store, store.branches())
            return result
    except OSError as error:
        raise CannotWrite(error) from error


def recover_if_needed(store: GitStore) -> None:
    """Recover if there is an unfinished publication and no other writer has the lock; ignore errors.

    A writer recovers before it begins, so nothing needs recovery while another writer has the lock.
    """
    with suppress(WorkspaceError, OSError):
        if list_staging_folders(store.common_dir):
            with docyard_lock(store.common_dir, timeout_s=0):
                recover_locked(store)


def restore_all_pruned(store: GitStore) -> bool:
    """Write the pruned objects of the branches again; return True if the failed read should be repeated.

    The read should also be repeated if nothing is missing now: another thread may have restored the objects.
    Return False after an error. Call this only after a read of a missing object, because it reads every saved
    copy of the objects of the branches.
    """
    with suppress(WorkspaceError, OSError), docyard_lock(store.common_dir):
        restore_pruned(store, store.branches())
        return True
    return False


def recover_locked(store: GitStore) -> RecoveryResult:
    """Recover under Docyard's lock, which the caller has: each staging folder belongs to a dead process."""
    rolled_back_count = rolled_forward_count = 0
    for folder in list_staging_folders(store.common_dir):
        staging_folder = StagingFolder(folder, durable=False)
        journal = staging_folder.read_journal()
        if journal is None:
            _release_git_locks(store.common_dir, staging_folder)
            staging_folder.clear()
        elif _recover_publication(store, staging_folder, journal):
            rolled_forward_count += 1
        else:
            rolled_back_count += 1
    return RecoveryResult(rolled_back_count, rolled_forward_count)


def list_staging_folders(common_dir: Path) -> list[Path]:
    """Return the staging folders of all publications, in order of names."""
    pending = common_dir / STAGING_FOLDERS
    if pending.is_symlink() or is_below_link(pending, common_dir):
        return []
    try:
        with os.scandir(pending) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []


def roll_back(store: GitStore, staging_folder: StagingFolder, journal: Journal) -> bool:
    """Restore Git's index and the files. The caller must have the locks.

    The call may be repeated after a failure; the journal stays until a call succeeds. Return False if the
    work tree is not available but still registered, for example on an unmounted disk.
    """
    worktree = _find_worktree(store, journal)
    if worktree is None:
        return journal.git_dir is None or not (store.common_dir / journal.git_dir).is_dir()
    git = store.for_worktree(worktree)
    index_path = worktree.git_dir / "index"
    if journal.index is not None and is_same_path(index_path, staging_folder.folder / journal.index):
        old_index = staging_folder.folder / OLD_INDEX_NAME
        if old_index.exists():
            os.rename(old_index, index_path)
        elif not journal.had_index:
            index_path.unlink()
    head = git.head().commit
    tree = git.commit(head).tree if head else None
    index = _restore_old_entries(git, tree, index_path, staging_folder, journal)
    files = WorkFiles(git, worktree.path)
    for file in reversed(journal.files):
        files.roll_back(file, restore=_has_old_file(git, tree, index, file))
    files.remove_folders(journal.folders)
    return True


def is_committed(store: GitStore, journal: Journal) -> bool:
    """Return True if the branch contains the journal's commit, at its tip or below it."""
    tip = store.tip(journal.branch)
    return tip is not None and store.is_descendant(tip, journal.commit, until=journal.base)


def _recover_publication(store: GitStore, staging_folder: StagingFolder, journal: Journal) -> bool:
    """Recover one publication; return True if it was rolled forward.

    Git's locks of the publication are acquired again if they were removed meanwhile. The locks stay after a
    failure, because the work tree has changes that the branch does not have. No program may commit these
    changes.
    """
    if not store.is_branch_name(journal.branch):
        raise UnknownJournal
    staging_folder.lock_token.touch()
    if not is_committed(store, journal):
        for target in _prepare_lock_targets(store, journal):
            LinkedLock(staging_folder.lock_token, target, store.common_dir).acquire()
    has_commit = is_committed(store, journal)
    is_complete = (_roll_forward if has_commit else roll_back)(store, staging_folder, journal)
    _release_git_locks(store.common_dir, staging_folder)
    if is_complete:
        staging_folder.clear()
    return has_commit


def _roll_forward(store: GitStore, staging_folder: StagingFolder, journal: Journal) -> bool:
    """Run the steps after the commit point: make the ref durable, write the reflogs, remove private files.

    Missing objects are restored first: Git's housekeeping may have run right after the branch moved.

    Return False if a step failed. The step is repeated later, and does not block writers.
    """
    is_complete = True
    restore_from_copy(store, staging_folder)
    BranchRef(store, journal.branch, staging_folder).sync()
    if store.tip(journal.branch) == journal.commit:
        commit = store.commit(journal.commit)
        logs = refs.find_reflogs(store, journal.branch, is_bare=store.is_bare and journal.git_dir is None)
        is_complete = refs.complete_reflogs(
            logs, journal.base, journal.commit, commit.committer, commit.message
        )
    worktree = _find_worktree(store, journal)
    if worktree is not None:
        files = WorkFiles(store.for_worktree(worktree), worktree.path)
        for file in journal.files:
            try:
                files.finish(file)
            except OSError:
                is_complete = False
    return is_complete


def _prepare_lock_targets(store: GitStore, journal: Journal) -> Iterator[Path]:
    """Yield the files to lock: Git's index, HEAD, and the ref, whose folder is created."""
    if journal.git_dir is not None and _find_worktree(store, journal) is not None:
        for name in LOCKED_WORKTREE_FILES:
            yield Path(os.path.normpath(store.common_dir / journal.git_dir / name))
    root = store.common_dir / "refs" / "heads"
    path = root / journal.branch
    if not any(folder.is_file() for folder in path.parents if folder.is_relative_to(root)):
        # If another branch occupies the path, no program can commit to this one.
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path


def _find_worktree(store: GitStore, journal: Journal) -> Worktree | None:
    if journal.git_dir is None:
        return None
    worktree = store.worktree_at(Path(os.path.normpath(store.common_dir / journal.git_dir)))
    return worktree if worktree is not None and worktree.path.is_dir() else None


def _has_old_file(git: GitStore, tree: str | None, index: IndexFile | None, file: WorkFile) -> bool:
    """Return True if the checked-out commit and Git's index still have the old file."""
    entry = find_in_tree(git, tree, file.path) if tree else None
    index_entry = index.entry(file.path) if index is not None else None
    return index is not None and _get_id_and_mode(entry) == _get_id_and_mode(index_entry) == file.old


def _restore_old_entries(
    git: GitStore, tree: str | None, index_path: Path, staging_folder: StagingFolder, journal: Journal
) -> IndexFile | None:
    """Restore the old entries of the batch's files in Git's index, and return the index.

    If a user removed Git's lock and ran `git status`, Git rewrote its index with the new entries. Return None
    if the index cannot be read.
    """
    index = _read_index(index_path)
    own_entries = {
        file.path: file.old
        for file in journal.files
        if index is not None
        and _get_id_and_mode(index.entry(file.path)) == file.new != file.old
        and _get_id_and_mode(find_in_tree(git, tree, file.path) if tree else None) == file.old
    }
    if index is None or not own_entries:
        return index
    try:
        new_index = index.with_changes(own_entries)
    except PathOccupied:  # a user has staged a file at the path meanwhile
        return index
    mtime = index_path.stat().st_mtime_ns
    new_file = staging_folder.write("index.back", new_index.data, old_file=index_path)
    os.utime(new_file, ns=(mtime, mtime))
    staging_folder.install("index.back", index_path)
    return _read_index(index_path)


def _get_id_and_mode(entry: TreeEntry | IndexEntry | None) -> tuple[str, int] | None:
    if entry is None:
        return None
    return entry.id, entry.mode


def _read_index(path: Path) -> IndexFile | None:
    try:
        return IndexFile.read(path)
    except DamagedRepository:
        return None


def _release_git_locks(common_dir: Path, staging_folder: StagingFolder) -> None:
    for lock in list_git_locks(common_dir):
        if staging_folder.owns(lock):
            lock.unlink()


def list_git_locks(common_dir: Path) -> Iterator[Path]:
    """Yield the paths of the locks that a publication may have acquired, in all work trees."""
    for git_dir in list_git_dirs(common_dir):
        yield from (git_dir / f"{name}.lock" for name in LOCKED_WORKTREE_FILES)
    yield from sorted((common_dir / "refs" / "heads").rglob("*.lock"))


def list_index_locks(store: GitStore) -> list[Path]:
    """Return the locks of Git's index that a running `git switch` may have, in all work trees.

    Locks of missing work trees are skipped. The lock of a commit whose message a user edits is also
    skipped: editing may take hours. The message file is then newer than the lock.
    """
    locks = []
    for git_dir in list_git_dirs(store.common_dir):
        lock, message = git_dir / "index.lock", git_dir / "COMMIT_EDITMSG"
        with suppress(FileNotFoundError):
            lock_status = lock.lstat()
            worktree = store.worktree_at(git_dir)
            with suppress(FileNotFoundError):
                if message.lstat().st_mtime_ns >= lock_status.st_mtime_ns:
                    continue
            if worktree is not None and worktree.path.is_dir():
                locks.append(lock)
    return locks


def has_worktrees(store: GitStore) -> bool:
    """Return True if a branch may be checked out in this repository."""
    return not store.is_bare or len(list_git_dirs(store.common_dir)) > 1


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Staging folders and Docyard's locks of Git files, as paths within the common Git directory.

    Until the next write recovers them, a lock blocks other programs, and the work tree may have uncommitted
    changes of the publication.
    """

    folders: tuple[str, ...]
    locks: tuple[str, ...]


def find_leftovers(common_dir: Path) -> Leftovers:
    """Return the leftovers of dead processes; no leftovers while a Docyard is writing. Change nothing."""
    if is_inaccessible(common_dir) or _is_writing(common_dir):
        return Leftovers((), ())
    folders = [StagingFolder(folder, durable=False) for folder in list_staging_folders(common_dir)]
    locks = list_git_locks(common_dir) if folders else ()
    return Leftovers(
        tuple(staging_folder.folder.relative_to(common_dir).as_posix() for staging_folder in folders),
        tuple(
            lock.relative_to(common_dir).as_posix()
            for lock in locks
            if any(staging_folder.owns(lock) for staging_folder in folders)
        ),
    )


def _is_writing(common_dir: Path) -> bool:
    try:
        descriptor = os.open(common_dir / LOCK_PATH, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
