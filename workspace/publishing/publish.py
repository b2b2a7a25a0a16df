"""The publication of a batch as one commit.

The order of the steps ensures that no write is lost and that the checkout is never behind the branch:

1. Acquire Docyard's lock, and recover after a crash.
2. Write the objects, the finished files and the journal.
3. Acquire the locks of Git's index, HEAD and the branch, as links to a file in the journal's folder.
4. Compare the work tree with the base, and replace the files and Git's index.
5. Rename the ref, which is the commit point. If nodes share a repository, the move of its ref is the commit
   point instead, right before step 4 changes a file; the steps after it then bring this clone up to date.
6. Write the reflogs, and remove the backups.

The objects are checked right before and right after the commit point, because Git's housekeeping may remove
objects that no ref reaches yet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from workspace.errors import WorkspaceError
from workspace.git.housekeeping import release_packs
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore, hold_upstream, sync_written_objects
from workspace.git.trees import WholeEntry
from workspace.paths import InvalidPath, check_path
from workspace.publishing import refs
from workspace.publishing.after_commit import note_commit, run_with_caveat
from workspace.publishing.batch import Batch, FileChange, list_file_changes
from workspace.publishing.batch_objects import BatchObjects, restore_pruned_tip
from workspace.publishing.checkout import Checkout, WorktreeBusy, WorktreeConflict
from workspace.publishing.journal import Journal
from workspace.publishing.locks import (
    LOCKED_WORKTREE_FILES,
    Busy,
    CannotWrite,
    LinkedLock,
    docyard_lock,
    wait_for_release,
)
from workspace.publishing.recovery import (
    RecoveryResult,
    has_worktrees,
    list_index_locks,
    recover_locked,
    roll_back,
)
from workspace.publishing.refs import (
    BranchMoved,
    BranchRef,
    InvalidBranch,
    UpstreamMoved,
    check_ref_path,
    check_tip,
)
from workspace.publishing.staging_folder import StagingFolder

T = TypeVar("T")

_MAX_ATTEMPTS = 5
_MAX_REBUILDS = 4
_MAX_UPDATES = 8
_LATE_CLONE = "the clone of this node does not have the commit until its next exchange with the remote"
_SWITCH_DELAY_S = 0.01  # by then, a `git switch` in progress has usually written HEAD


class Publication:
    """A write transaction, as a context manager: no other Docyard writes to the repository meanwhile.

    An unfinished publication is recovered on entry; `recovery_result` is the result. With `durable`, a commit
    survives a loss of power once `publish` has returned it. With `is_local`, the repository that nodes share
    is not changed, because it has the commit already, which is not one of this call.

    The constructor raises InvalidBranch for a name that Git does not accept.

    Raises on entry:
        Locked: another writer did not release its lock in time, or another program has a lock that recovery
        needs. CannotWrite: the system refused a write. UnknownJournal: another version of Docyard must
        recover first. DamagedRepository: an object or ref is broken.
    """

    def __init__(self, store: GitStore, branch: str, *, durable: bool, is_local: bool = False) -> None:
        if not store.is_branch_name(branch):
            raise InvalidBranch(branch)
        self.recovery_result = RecoveryResult()
        self._store = store
        self._branch = branch
        self._durable = durable
        self._is_local = is_local
        self._upstream = None if is_local else store.upstream
        self._stack = ExitStack()
        self._staging_folder: StagingFolder | None = None
        self._ref: BranchRef | None = None
        self._locked_git_dir: Path | None = None  # the Git directory whose locks are acquired
        self._locks: list[LinkedLock] = []
        self._file_numbers = count()
        # A cleanup is safe if recovery needs no file of the staging folder. A swap is in progress while the
        # work tree has changes that the branch does not have.
        self._is_cleanup_safe = True
        self._is_swap_in_progress = False

    def __enter__(self) -> Self:
        with _translate_system_errors():
            for _ in range(_MAX_ATTEMPTS - 1):
                # Git's housekeeping may remove a file or folder of the repository at any moment.
                with suppress(FileNotFoundError):
                    self._enter()
                    return self
            self._enter()
        return self

    def _enter(self) -> None:
        with ExitStack() as stack:
            stack.enter_context(docyard_lock(self._store.common_dir))
            stack.enter_context(sync_written_objects(self._durable))
            self.recovery_result = recover_locked(self._store)
            release_packs(self._store.common_dir)
            restore_pruned_tip(self._store, self._branch)
            self._stack = stack.pop_all()

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._stack:
            # An unfinished publication stays as after a crash, with its locks, so that no program commits its
            # changes. The next writer recovers it first. If the folder was removed, the locks are released,
            # because no proof of their owner exists any more.
            if self._staging_folder is None or (
                self._is_swap_in_progress and self._staging_folder.folder.is_dir()
            ):
                return
            is_released = self._release()
            if is_released and self._is_cleanup_safe:
                self._staging_folder.clear()

    def publish(self, batch: Batch) -> str:
        """Commit a batch and return the commit's id, or its base if there is nothing to commit.

        Branch, Git's index and files are unchanged if this raises an error; the caller may then try another
        batch. If the rollback itself failed, the next writer repeats it.

        Raises:
            BranchMoved: the branch is not at `batch.base`. UpstreamMoved: the branch of the repository that
            nodes share is not at `batch.base`. RefConflict: another ref prevents a branch of this name.
            InvalidPath, PathBlocked: a path cannot be written. WorktreeConflict, WorktreeBusy: uncommitted
            changes or a Git operation of a user prevent the commit. Locked: another program did not release a
            lock of Git in time. CannotWrite: the system refused a write. Errors of `Upstream.push`.
        """
        for path, change in batch.changes.items():
            # A tree written by another program may contain names that some systems cannot store.
            if not isinstance(change, WholeEntry) and check_path(path) != path:
                raise InvalidPath(path, "it begins with `./`")
        with _translate_system_errors():
            for _ in range(_MAX_ATTEMPTS - 1):
                try:
                    return self._publish(batch)
                except FileNotFoundError:
                    # Git's housekeeping may have removed a file or folder.
                    if self._is_swap_in_progress or not self._can_repeat(batch):
                        raise
            return self._publish(batch)

    def _can_repeat(self, batch: Batch) -> bool:
        """Return True if nothing was published, and the staging folder was not removed."""
        has_staging_folder = self._staging_folder is None or self._staging_folder.folder.is_dir()
        return has_staging_folder and self._store.tip(self._branch) == batch.base

    def acquire_git_locks(self) -> None:
        """Acquire Git's locks of the branch until the exit, so that no other program moves the branch.

        Raises:
            Locked: another program did not release a lock in time.
        """
        with _translate_system_errors():
            self._lock(_find_worktree_git_dir(self._store, self._branch))

    def remove_branch(self, commit: str, is_unused: Callable[[], bool]) -> bool:
        """Remove the branch if it is at a commit and `is_unused()`; return False if it was not removed.

        A checked-out or packed branch is not removed: without its file, a packed branch would move to the
        packed commit. No journal is needed: the reflog is removed first, and the removal of the ref's file is
        the last step. After an earlier crash, the branch still exists.

        Raises:
            Locked: another program did not release a lock of Git in time.
            CannotWrite: the system refused a write.
        """
        store = self._store
        with _translate_system_errors():
            if store.tip(self._branch) != commit:
                return False
            self._lock(None)
            wait_for_release(list_index_locks(store), store.common_dir)
            if store.tip(self._branch) != commit or store.worktrees_of(self._branch) or not is_unused():
                return False
            ref = self._ensure_branch_ref()
            if ref.is_packed():
                return False
            if self._upstream is not None and not self._upstream.push(self._branch, commit, None):
                return False
            refs.remove_reflog(store, self._branch)
            return ref.remove() and store.tip(self._branch) is None

    def _publish(self, batch: Batch) -> str:
        store = self._store
        check_tip(store, self._branch, batch.base)
        check_ref_path(store, self._branch)
        base_tree = store.commit(batch.base).tree if batch.base else None
        changes = list_file_changes(store, base_tree, batch)
        if not changes and batch.base and not batch.other_parents and not batch.existing_commit:
            return batch.base
        objects: BatchObjects | None = None
        for round_number in range(_MAX_ATTEMPTS):
            number = next(self._file_numbers)
            index_name, ref_name = f"index-{number}", f"ref-{number}"
            checkout = _find_checkout(store, self._branch, changes)
            if checkout is not None:
                try:
                    checkout.prepare(self._ensure_staging_folder(), index_name)
                except WorktreeConflict:
                    if self._locked_git_dir == checkout.worktree.git_dir:
                        raise
                    # The cause may be a commit that a user makes at the same time.
                    self._lock(checkout.worktree.git_dir)
                    check_tip(store, self._branch, batch.base)
                    continue
            if objects is None:
                objects = BatchObjects.write(store, batch, base_tree, durable=self._durable)
            self._ensure_branch_ref().prepare(objects.commit, ref_name)
            journal = Journal(self._branch, batch.base, objects.commit)
            if checkout is not None:
                journal = checkout.add_to_journal(journal, index_name)
            self._ensure_staging_folder().write_journal(journal)
            self._lock(checkout.worktree.git_dir if checkout is not None else None)
            if checkout is None:
                # A switch to this branch writes its files first, and HEAD last.
                wait_for_release(list_index_locks(store), store.common_dir)
            check_tip(store, self._branch, batch.base)
            if not _has_moved_checkout(store, self._branch, checkout) and (
                checkout is None or checkout.recheck()
            ):
                if not self._push(batch, objects):
                    raise UpstreamMoved(batch.base)
                may_repeat = round_number < _MAX_ATTEMPTS - 1
                swap = partial(self._try_swap, batch, journal, checkout, ref_name, objects, may_repeat)
                if not (swap() if self._upstream is None else run_with_caveat(swap, True, _LATE_CLONE)):
                    continue
                if checkout is None and has_worktrees(store):
                    caveat = "a work tree that was switched to the branch meanwhile is not up to date"
                    run_with_caveat(partial(self._update_late_checkout, journal, changes), None, caveat)
                return objects.commit
        raise WorktreeBusy("another program rewrites Git's index repeatedly", fix="Try again in a moment.")

    def _push(self, batch: Batch, objects: BatchObjects) -> bool:
        """Move the branch of the repository that nodes share, if there is one; return False if it moved."""
        if self._upstream is None:
            return True
        if not self._upstream.push(self._branch, batch.base, objects.commit):
            return False
        note_commit(objects.commit)
        return True

    def _try_swap(
        self,
        batch: Batch,
        journal: Journal,
        checkout: Checkout | None,
        ref_name: str,
        objects: BatchObjects,
        may_repeat: bool,
    ) -> bool:
        """Move the branch; return False if this must be repeated, because objects were missing."""
        try:
            self._swap(batch, journal, checkout, ref_name, objects)
        except DamagedRepository:
            # An object was pruned before it was read, and everything was rolled back.
            if not objects.write_missing() or not may_repeat:
                raise
            return False
        return True

    def _swap(
        self, batch: Batch, journal: Journal, checkout: Checkout | None, ref_name: str, objects: BatchObjects
    ) -> None:
        store, staging_folder = self._store, self._ensure_staging_folder()
        objects.protect()
        objects.write_copy(staging_folder)
        logs = refs.find_reflogs(store, self._branch, is_bare=store.is_bare and checkout is None)
        self._is_cleanup_safe, self._is_swap_in_progress = False, True
        try:
            if checkout is not None:
                checkout.apply(journal, staging_folder)
            objects.protect()
            self._ensure_branch_ref().move(ref_name)
        except BaseException as error:
            # The branch may have moved despite an error.
            if store.tip(self._branch) != journal.commit:
                roll_back(store, staging_folder, journal)
                self._is_cleanup_safe, self._is_swap_in_progress = True, False
                raise
            if not isinstance(error, OSError):
                raise
        self._is_swap_in_progress = False
        if not self._is_local:
            note_commit(journal.commit)
        # The commit exists now. Recovery repeats failed steps before the next publication.
        author, caveat = batch.author, "its objects are not protected from a git gc that runs"
        are_objects_protected = run_with_caveat(partial(_protect_objects, objects), False, caveat)
        run_with_caveat(
            partial(objects.preserve_copy, staging_folder), None, "no copy of its objects was saved"
        )
        append_move = partial(refs.append_to_reflogs, logs, batch.base, journal.commit, author, batch.message)
        is_reflog_complete = run_with_caveat(append_move, False, "the reflog is not complete")
        is_checkout_finished = run_with_caveat(
            partial(_finish_checkout, checkout, journal), False, "temporary files were left"
        )
        self._is_cleanup_safe = is_checkout_finished and is_reflog_complete and are_objects_protected

    def _update_late_checkout(self, journal: Journal, changes: tuple[FileChange, ...]) -> None:
        """Update a work tree that was switched to the branch during the publication.

        A switch reads the branch first and writes HEAD last, and a commit can be made in between. The next
        `git commit -a` in the work tree would revert that commit.
        """
        if not has_worktrees(self._store):
            return
        for pause in (0, _SWITCH_DELAY_S):
            time.sleep(pause)
            with suppress(WorkspaceError, OSError):
                checkout = _find_checkout(self._store, self._branch, changes)
                if checkout is not None:
                    self._lock(checkout.worktree.git_dir)
                    index_name = f"index-{next(self._file_numbers)}"
                    checkout.prepare(self._ensure_staging_folder(), index_name)
                    late_journal = checkout.add_to_journal(journal, index_name)
                    self._is_cleanup_safe = False
                    self._ensure_staging_folder().write_journal(late_journal)
                    checkout.apply(late_journal, self._ensure_staging_folder())
                    self._is_cleanup_safe = _finish_checkout(checkout, late_journal)
                    return

    def _lock(self, git_dir: Path | None) -> None:
        """Acquire the locks of a work tree, if there is one, and of the branch, unless already acquired."""
        if self._locked_git_dir != git_dir:
            self._unlock_worktree()
        if git_dir is not None:
            if not self._locks:
                lock_token, common_dir = self._ensure_staging_folder().lock_token, self._store.common_dir
                self._locks = [
                    LinkedLock(lock_token, git_dir / name, common_dir) for name in LOCKED_WORKTREE_FILES
                ]
            self._locked_git_dir = git_dir
            for lock in self._locks:
                lock.acquire()
        self._ensure_branch_ref().acquire()

    def _unlock_worktree(self) -> bool:
        results = [lock.release() for lock in reversed(self._locks)]
        self._locked_git_dir, self._locks = None, []
        return all(results)

    def _release(self) -> bool:
        is_ref_released = self._ref is None or self._ref.release()
        return self._unlock_worktree() and is_ref_released

    def _ensure_staging_folder(self) -> StagingFolder:
        if self._staging_folder is None:
            self._staging_folder = StagingFolder.make(self._store.common_dir, durable=self._durable)
        return self._staging_folder

    def _ensure_branch_ref(self) -> BranchRef:
        if self._ref is None:
            self._ref = BranchRef(self._store, self._branch, self._ensure_staging_folder())
        return self._ref


def publish(store: GitStore, batch: Batch, *, durable: bool, is_local: bool = False) -> str:
    """Commit a batch and return the commit's id, or its base if there is nothing to commit."""
    with Publication(store, batch.branch, durable=durable, is_local=is_local) as publication:
        return publication.publish(batch)


def publish_with_retry(
    store: GitStore, branch: str, build: Callable[[str | None], Batch | T], *, durable: bool
) -> str | T:
    """Publish the batch that `build` makes on the branch's tip, and return its commit.

    `build` gets the tip (None before the first commit), and is called under Docyard's lock. It is called
    again, under Git's locks too, if another program moved the branch meanwhile. The caller should do slow
    work before the call, on the tip at that time. If `build` returns no batch, nothing is published, and its
    result is returned.

    If nodes share a repository and another node was first, the branch is updated outside of the locks, and
    `build` is called again.

    Raises Busy, and the errors of `build`, of `Publication` and of its `publish`, and of `Upstream.hold`.
    """
    for _ in range(1 if store.upstream is None else _MAX_UPDATES):
        with (
            suppress(UpstreamMoved),
            hold_upstream(store),
            Publication(store, branch, durable=durable) as publication,
        ):
            for _ in range(_MAX_REBUILDS):
                result = build(store.tip(branch))
                if not isinstance(result, Batch):
                    return result
                try:
                    return publication.publish(result)
                except UpstreamMoved:
                    raise
                except BranchMoved:
                    publication.acquire_git_locks()
            raise Busy(
                f"other programs moved the branch {_MAX_REBUILDS} times during this write; "
                "nothing was changed"
            )
    raise Busy(f"other nodes moved the branch {_MAX_UPDATES} times during this write; nothing was changed")


def _protect_objects(objects: BatchObjects) -> bool:
    try:
        objects.protect()
    except (OSError, DamagedRepository):
        return False
    return True


def _finish_checkout(checkout: Checkout | None, journal: Journal) -> bool:
    try:
        if checkout is not None:
            checkout.finish(journal)
    except OSError:
        return False
    return True


def _find_checkout(store: GitStore, branch: str, changes: tuple[FileChange, ...]) -> Checkout | None:
    worktrees = store.worktrees_of(branch)
    if len(worktrees) > 1:
        raise WorktreeBusy(
            "several work trees have the branch checked out",
            fix="Switch all but one of them to another branch.",
        )
    return Checkout(store, worktrees[0], changes) if worktrees else None


def _find_worktree_git_dir(store: GitStore, branch: str) -> Path | None:
    worktrees = store.worktrees_of(branch)
    return worktrees[0].git_dir if len(worktrees) == 1 else None


def _has_moved_checkout(store: GitStore, branch: str, checkout: Checkout | None) -> bool:
    """Return True if a work tree was switched to or from the branch since the checkout was prepared."""
    worktrees = store.worktrees_of(branch)
    return worktrees != ((checkout.worktree,) if checkout is not None else ())


@contextmanager
def _translate_system_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CannotWrite(error) from error
