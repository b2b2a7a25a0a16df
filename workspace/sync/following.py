"""A branch is brought to a commit that was fetched, and the person's checkout with it."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError
from workspace.git import DamagedRepository, Signature
from workspace.git.objects import SUBMODULE_MODE
from workspace.git.trees import TreeChange, Whole, changes
from workspace.publishing import Batch, publish
from workspace.sync.joining import check_attributes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.git import GitReader, GitStore

CHECKED = 1_000
"""Commits that came with a fetch and are looked at; of those before them only what the last one holds."""


class RemoteDamaged(WorkspaceError):
    """What a remote sent is not whole: an object that it names did not come, or is of another kind."""

    code: ClassVar[str] = "REMOTE_DAMAGED"

    def __init__(self, remote: str) -> None:
        super().__init__(
            f"what the remote `{remote}` sent is not whole, so it was left aside",
            fix="Run git fsck in the remote's repository.",
            remote=remote,
        )


def check_whole(git: GitReader, remote: str, commit: str, ours: str | None, seen: set[str]) -> None:
    """Raises RemoteDamaged unless all is there that a fetched commit has and ours has not.

    Commits of `seen` are not looked at, and those that were are added.
    """
    try:
        base = git.commit(ours).tree if ours is not None else None
        _check_changes(git, changes(git, base, git.commit(commit).tree))
        for parent, tree in islice(_steps(git, commit, seen), CHECKED):
            _check_changes(git, changes(git, parent, tree))
    except DamagedRepository as error:
        raise RemoteDamaged(remote) from error


def _steps(git: GitReader, commit: str, seen: set[str]) -> Iterator[tuple[str | None, str]]:
    """The trees of a commit's first parent and its own, for it and its ancestors down to those seen."""
    waiting = [commit]
    while waiting:
        id = waiting.pop()
        if id in seen:
            continue
        seen.add(id)
        found = git.commit(id)
        parents = [parent for parent in found.parents if git.has(parent) or not git.is_shallow]
        yield (git.commit(parents[0]).tree if parents else None), found.tree
        waiting += parents


def _check_changes(git: GitReader, differences: Iterator[TreeChange]) -> None:
    for change in differences:
        new = change.new
        if new is not None and new.mode != SUBMODULE_MODE and not git.has(new.id):
            raise DamagedRepository("an object of the repository is missing or broken", id=new.id)


def follow(
    store: GitStore, branch: str, base: str | None, commit: str, who: tuple[str, str], *, durable: bool
) -> None:
    """Move a branch from one commit to a later one, and its checkout with it, by a publication.

    `who` is the name and the address that the reflogs hold. Raises what `Publication` and its `publish`
    raise: WorktreeConflict for a file with changes that are not committed, BranchMoved if another was first.
    """
    tree = store.commit(base).tree if base is not None else None
    taken = {change.path: Whole(change.new) for change in changes(store, tree, store.commit(commit).tree)}
    check_attributes(store, branch, taken, "merge --ff-only @{upstream}")
    author = Signature(*who, int(time.time()))
    batch = Batch(branch, base, taken, "docyard sync: fast-forward", author, commit=commit)
    publish(store, batch, durable=durable)
