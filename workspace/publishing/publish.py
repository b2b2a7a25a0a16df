"""One commit from a batch, in an order in which no write is lost and a checkout never lags behind."""

from __future__ import annotations

from typing import ClassVar

from workspace.errors import WorkspaceError
from workspace.git import GitStore, durable_objects
from workspace.paths import InvalidPath, check_path
from workspace.publishing import reflog
from workspace.publishing.batch import Batch, FileChange, file_changes
from workspace.publishing.checkout import Checkout, WorktreeBusy
from workspace.publishing.locks import CannotWrite, docyard_lock
from workspace.publishing.prepared import Prepared, prepared
from workspace.publishing.refs import InvalidBranch, RefSwap, check_place
from workspace.trees import rewrite

_ATTEMPTS = 5


class BranchMoved(WorkspaceError):
    """The branch is no longer at the commit that the batch was built on; `tip` is where it is now."""

    code: ClassVar[str] = "BRANCH_MOVED"

    def __init__(self, tip: str | None) -> None:
        super().__init__("another writer was first", fix="Read the branch again and repeat.", tip=tip)
        self.tip = tip


class _IndexMoved(Exception):
    """Git's index was written between the preparation and the lock."""


def publish(store: GitStore, batch: Batch, *, durable: bool) -> str:
    """Commit a batch to its branch and return the commit's id; a batch that changes nothing gives its base.

    A branch that is checked out has its files and Git's index follow. The order: our own lock, objects, the
    finished files, Git's index lock and ref lock, comparison with the base, files, index, and last the ref,
    whose rename is the commit point. A failure before it leaves branch, index and files as they were.
    With `durable`, the commit survives a loss of power once this returns.

    Raises:
        BranchMoved: the branch is not at `batch.base`.
        InvalidBranch, RefConflict: there can be no such branch.
        InvalidPath, PathBlocked: there can be no such file.
        WorktreeConflict, WorktreeBusy: a person's work stands in the way.
        Locked: another program holds a lock of Git's, and went on holding it.
        CannotWrite: the system refused a write.
    """
    if not store.is_branch_name(batch.branch):
        raise InvalidBranch(batch.branch)
    for path in batch.changes:
        if check_path(path) != path:
            raise InvalidPath(path, "it begins with `./`")
    try:
        with docyard_lock(store.common_dir), durable_objects(durable):
            return _publish(store, batch, durable=durable)
    except OSError as error:
        raise CannotWrite(error) from error


def _publish(store: GitStore, batch: Batch, *, durable: bool) -> str:
    _check_tip(store, batch)
    check_place(store, batch.branch)
    base_tree = store.commit(batch.base).tree if batch.base else None
    changes = file_changes(store, base_tree, batch)
    if not changes and batch.base:
        return batch.base
    for _ in range(_ATTEMPTS):
        with prepared(store.common_dir, durable=durable) as files:
            checkout = _checkout(store, batch.branch, changes)
            if checkout is not None:
                checkout.prepare(files)
            commit = _write_objects(store, batch, base_tree)
            try:
                _swap(store, batch, commit, checkout, files)
            except _IndexMoved:
                continue
            return commit
    raise WorktreeBusy("another program keeps writing its index", fix="Try again in a moment.")


def _write_objects(store: GitStore, batch: Batch, base_tree: str | None) -> str:
    # Blobs come before the trees that name them, so that a crash leaves nothing that `git fsck` reports.
    blobs = {path: None if data is None else store.put_blob(data) for path, data in batch.changes.items()}
    tree = rewrite(store, base_tree, blobs)
    parents = (batch.base,) if batch.base else ()
    return store.put_commit(tree, parents, batch.author, batch.author, batch.message)


def _swap(store: GitStore, batch: Batch, commit: str, checkout: Checkout | None, files: Prepared) -> None:
    ref = RefSwap(store, batch.branch, commit, files)
    try:
        if checkout is not None and checkout.lock is not None:
            checkout.lock.take()
        ref.take()
        _check_tip(store, batch)
        if _is_elsewhere(store, batch.branch, checkout) or (checkout is not None and not checkout.check()):
            raise _IndexMoved
        logs = reflog.logs_of(store, batch.branch, bare=store.bare and checkout is None)
        try:
            if checkout is not None:
                checkout.apply()
                checkout.install(files)
            ref.commit()
        except BaseException as error:
            committed = ref.committed()
            if not committed and checkout is not None:
                checkout.undo(files)
            if not committed or not isinstance(error, OSError):
                raise
        reflog.record(logs, batch.base, commit, batch.author, batch.message)
    finally:
        ref.release()
        if checkout is not None and checkout.lock is not None:
            checkout.lock.release()


def _checkout(store: GitStore, branch: str, changes: tuple[FileChange, ...]) -> Checkout | None:
    worktrees = store.worktrees_of(branch)
    if len(worktrees) > 1:
        raise WorktreeBusy("several work trees stand on the branch", fix="Switch all but one to another.")
    return Checkout(store, worktrees[0], changes) if worktrees else None


def _is_elsewhere(store: GitStore, branch: str, checkout: Checkout | None) -> bool:
    """Whether the branch was checked out, or left, since the checkout was prepared."""
    worktrees = store.worktrees_of(branch)
    return worktrees != ((checkout.worktree,) if checkout is not None else ())


def _check_tip(store: GitStore, batch: Batch) -> None:
    tip = store.tip(batch.branch)
    if tip != batch.base:
        raise BranchMoved(tip)
