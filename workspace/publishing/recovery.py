"""After a crash: a publication that its process did not live to end is rolled back, or forward.

Before the commit point everything is taken back; after it, what is missing is done. What decides is whether
the branch holds the commit. A file, an index or a lock is touched only on proof that it is ours: the inode,
or a name that the journal holds and exactly the bytes that were to be written. What a person made of it
meanwhile stays.

What a Docyard that died in the middle of a publication left behind.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workspace.errors import WorkspaceError
from workspace.git.index_file import IndexEntry, IndexFile, PathTaken
from workspace.git.objects import Entry
from workspace.git.private_folder import is_closed_to_us
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore
from workspace.git.trees import find
from workspace.git.worktrees import Worktree, git_dirs, is_same
from workspace.publishing import refs
from workspace.publishing.batch_objects import restore_copy, restore_pruned
from workspace.publishing.checkout import INDEX_BEFORE, WorkFiles
from workspace.publishing.journal import Journal, UnknownJournal, WorkFile
from workspace.publishing.locks import LOCK, WORKTREE_LOCKED, CannotWrite, LinkedLock, docyard_lock
from workspace.publishing.prepared import PENDING, Prepared, is_below_a_link
from workspace.publishing.refs import BranchRef


@dataclass(frozen=True, slots=True)
class Recovered:
    """How many publications that a crash had cut short were rolled back, and how many forward."""

    rolled_back: int = 0
    rolled_forward: int = 0


def recover(store: GitStore) -> Recovered:
    """Mend what a crash left, and restore branches that were pruned, holding Docyard's lock.

    Raises:
        Locked: another Docyard is writing, or another program holds a lock of Git's.
        CannotWrite: the system refused a write.
    """
    try:
        with docyard_lock(store.common_dir):
            recovered = recover_locked(store)
            restore_pruned(store, store.branches())
            return recovered
    except OSError as error:
        raise CannotWrite(error) from error


def mend(store: GitStore) -> None:
    """Recover if there is anything to recover, and nothing stands in the way of it.

    While another writer is at work there is nothing: it has recovered all before it began.
    """
    with suppress(WorkspaceError, OSError):
        if private_folders(store.common_dir):
            with docyard_lock(store.common_dir, patience=0):
                recover_locked(store)


def mend_pruned(store: GitStore) -> bool:
    """Write the objects of the branches again that were pruned; return True if some came back.

    It is called only after an object was found to be missing: it reads each copy that a branch leads to.
    """
    with suppress(WorkspaceError, OSError), docyard_lock(store.common_dir):
        return restore_pruned(store, store.branches()) > 0
    return False


def recover_locked(store: GitStore) -> Recovered:
    """The same, by one who holds Docyard's lock: whatever private folder is there is of a dead process."""
    rolled_back = rolled_forward = 0
    for folder in private_folders(store.common_dir):
        prepared = Prepared(folder, durable=False)
        journal = prepared.journal()
        if journal is None:
            _release_all(store.common_dir, prepared)
            prepared.clear()
        elif _mend(store, prepared, journal):
            rolled_forward += 1
        else:
            rolled_back += 1
    return Recovered(rolled_back, rolled_forward)


def private_folders(common_dir: Path) -> list[Path]:
    """Return the private folders of publications."""
    pending = common_dir / PENDING
    if pending.is_symlink() or is_below_a_link(pending, common_dir):
        return []
    try:
        with os.scandir(pending) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []


def roll_back(store: GitStore, prepared: Prepared, journal: Journal) -> bool:
    """Bring index and files back to what they were. Whoever calls holds the locks, ours by then.

    It may be called again after it failed; the journal stays until it succeeded. False if the work tree is
    not there now, such as one on a disk that was taken out.
    """
    worktree = _worktree(store, journal)
    if worktree is None:
        return journal.git_dir is None or not (store.common_dir / journal.git_dir).is_dir()
    git = store.at(worktree)
    path = worktree.git_dir / "index"
    if journal.index is not None and is_same(path, prepared.folder / journal.index):
        before = prepared.folder / INDEX_BEFORE
        if before.exists():
            os.rename(before, path)
        elif not journal.had_index:
            path.unlink()
    head = git.head().commit
    tree = git.commit(head).tree if head else None
    index = _without_ours(git, tree, path, prepared, journal)
    files = WorkFiles(git, worktree.path)
    for file in reversed(journal.files):
        files.roll_back(file, restore=_is_old(git, tree, index, file))
    files.remove_folders(journal.folders)
    return True


def is_committed(store: GitStore, journal: Journal) -> bool:
    """Return True if the branch holds the journal's commit, at its tip or below it."""
    tip = store.tip(journal.branch)
    return tip is not None and store.descends(tip, journal.commit, until=journal.base)


def _mend(store: GitStore, prepared: Prepared, journal: Journal) -> bool:
    """Mend one publication; whether it was completed. Its locks are taken again if someone removed them.

    They stay if this fails: what is in the work tree is not what the branch holds, and nobody is to commit
    it.
    """
    if not store.is_branch_name(journal.branch):
        raise UnknownJournal
    prepared.claim.touch()
    if not is_committed(store, journal):
        for target in _lock_targets(store, journal):
            LinkedLock(prepared.claim, target, store.common_dir).take()
    committed = is_committed(store, journal)
    is_done = (_roll_forward if committed else roll_back)(store, prepared, journal)
    _release_all(store.common_dir, prepared)
    if is_done:
        prepared.clear()
    return committed


def _roll_forward(store: GitStore, prepared: Prepared, journal: Journal) -> bool:
    """Do what comes after the commit point: make the ref durable, write the reflogs, remove private files.

    Objects that Git's housekeeping has removed come first: it may have run when the branch had just moved.

    False if something could not be done. It is tried again, and keeps nobody from writing.
    """
    is_done = True
    restore_copy(store, prepared)
    BranchRef(store, journal.branch, prepared).sync()
    if store.tip(journal.branch) == journal.commit:
        commit = store.commit(journal.commit)
        logs = refs.logs_of(store, journal.branch, bare=store.bare and journal.git_dir is None)
        is_done = refs.complete(logs, journal.base, journal.commit, commit.committer, commit.message)
    worktree = _worktree(store, journal)
    if worktree is not None:
        files = WorkFiles(store.at(worktree), worktree.path)
        for file in journal.files:
            try:
                files.settle(file)
            except OSError:
                is_done = False
    return is_done


def _lock_targets(store: GitStore, journal: Journal) -> Iterator[Path]:
    if journal.git_dir is not None and _worktree(store, journal) is not None:
        for name in WORKTREE_LOCKED:
            yield Path(os.path.normpath(store.common_dir / journal.git_dir / name))
    root = store.common_dir / "refs" / "heads"
    path = root / journal.branch
    if not any(folder.is_file() for folder in path.parents if folder.is_relative_to(root)):
        # Where another branch has taken its place, nobody can commit to this one.
        path.parent.mkdir(parents=True, exist_ok=True)
        yield path


def _worktree(store: GitStore, journal: Journal) -> Worktree | None:
    if journal.git_dir is None:
        return None
    found = store.worktree_at(Path(os.path.normpath(store.common_dir / journal.git_dir)))
    return found if found is not None and found.path.is_dir() else None


def _is_old(git: GitStore, tree: str | None, index: IndexFile | None, file: WorkFile) -> bool:
    """Return True if the commit that is checked out, and the index, still have the file as it was."""
    entry = find(git, tree, file.path) if tree else None
    staged = index.entry(file.path) if index is not None else None
    return index is not None and _blob(entry) == _blob(staged) == file.old


def _without_ours(
    git: GitStore, tree: str | None, path: Path, prepared: Prepared, journal: Journal
) -> IndexFile | None:
    """Return the index without what was staged for the batch; None if it cannot be read.

    A person who removed Git's lock and looked at the status has let Git write it anew, with our entries.
    """
    index = _index(path)
    ours = {
        file.path: file.old
        for file in journal.files
        if index is not None
        and _blob(index.entry(file.path)) == file.new != file.old
        and _blob(find(git, tree, file.path) if tree else None) == file.old
    }
    if index is None or not ours:
        return index
    try:
        changed = index.changed(ours)
    except PathTaken:  # by what a person has staged since
        return index
    mtime = path.stat().st_mtime_ns
    back = prepared.write("index.back", changed.data, like=path)
    os.utime(back, ns=(mtime, mtime))
    prepared.install("index.back", path)
    return _index(path)


def _blob(entry: Entry | IndexEntry | None) -> tuple[str, int] | None:
    if entry is None:
        return None
    return entry.id, entry.mode


def _index(path: Path) -> IndexFile | None:
    try:
        return IndexFile.read(path)
    except DamagedRepository:
        return None


def _release_all(common_dir: Path, prepared: Prepared) -> None:
    for lock in git_locks(common_dir):
        if prepared.owns(lock):
            lock.unlink()


def git_locks(common_dir: Path) -> Iterator[Path]:
    """Yield the locks that a publication takes, in this and every other work tree."""
    for git_dir in git_dirs(common_dir):
        yield from (git_dir / f"{name}.lock" for name in WORKTREE_LOCKED)
    yield from sorted((common_dir / "refs" / "heads").rglob("*.lock"))


def index_locks(store: GitStore) -> list[Path]:
    """Return the locks of indexes that a switch may hold now, in this and every other work tree.

    Not one of a work tree that is gone, nor one of a commit whose message is being written: that may take
    hours, and the message is younger than the lock.
    """
    found = []
    for git_dir in git_dirs(store.common_dir):
        lock, message = git_dir / "index.lock", git_dir / "COMMIT_EDITMSG"
        with suppress(FileNotFoundError):
            held = lock.lstat()
            worktree = store.worktree_at(git_dir)
            with suppress(FileNotFoundError):
                if message.lstat().st_mtime_ns >= held.st_mtime_ns:
                    continue
            if worktree is not None and worktree.path.is_dir():
                found.append(lock)
    return found


def has_worktrees(store: GitStore) -> bool:
    """Return True if a branch may be checked out in this repository."""
    return not store.bare or len(git_dirs(store.common_dir)) > 1


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Private folders, and locks of Git's that are ours, by their names within the common Git directory.

    Until the next write recovers, a lock keeps other programs from writing, and the work tree may hold what
    was not committed.
    """

    folders: tuple[str, ...]
    locks: tuple[str, ...]


def leftovers(common_dir: Path) -> Leftovers:
    """Find what was left; nothing while a Docyard is writing, whose files these then are. Changes nothing."""
    if is_closed_to_us(common_dir) or _is_writing(common_dir):
        return Leftovers((), ())
    folders = [Prepared(folder, durable=False) for folder in private_folders(common_dir)]
    locks = git_locks(common_dir) if folders else ()
    return Leftovers(
        tuple(prepared.folder.relative_to(common_dir).as_posix() for prepared in folders),
        tuple(
            lock.relative_to(common_dir).as_posix()
            for lock in locks
            if any(prepared.owns(lock) for prepared in folders)
        ),
    )


def _is_writing(common_dir: Path) -> bool:
    try:
        handle = os.open(common_dir / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
