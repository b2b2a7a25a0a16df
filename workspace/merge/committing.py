"""A merge as a commit: made of a branch's tip, and made again where another writer was first."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.branch import BranchNotFound
from workspace.errors import WorkspaceError
from workspace.git import writable
from workspace.merge.trees_package import merge_commits
from workspace.publishing import Batch, publish_with_retry
from workspace.writing.write import author_now, check_signing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.merge.trees_package import FileConflict, Merge, Resolutions
    from workspace.policy.person import Person
    from workspace.workspace import Workspace

_NAMED = 5


class MergeConflict(WorkspaceError):
    """What both sides changed differently: `conflicts`, and the tip that they are in conflict with.

    `theirs` is the commit that was to be merged into it.
    """

    code: ClassVar[str] = "MERGE_CONFLICT"

    def __init__(self, tip: str | None, conflicts: Sequence[FileConflict], theirs: str | None = None) -> None:
        paths = list(dict.fromkeys(found.path for found in conflicts))
        named = ", ".join(f"'{path}'" for path in paths[:_NAMED])
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        super().__init__(
            f"both sides changed the same parts of {named}{more} differently, so nothing was merged",
            fix="Decide each conflict for 'ours', 'theirs' or new content, and merge again.",
            tip=tip,
            paths=paths,
        )
        self.conflicts = tuple(conflicts)
        self.tip, self.theirs = tip, theirs


class Merged(NamedTuple):
    """The commit that holds both sides, and how it was made; `is_new` is whether it was made just now."""

    commit: str
    merge: Merge
    is_new: bool


def commit_merge(
    workspace: Workspace,
    branch: str,
    theirs: str,
    *,
    message: Callable[[Merge], str],
    resolutions: Resolutions | None = None,
    adjust: Callable[[Merge], Merge] | None = None,
    check: Callable[[Merge], None] | None = None,
    confirm: Callable[[], None] | None = None,
    person: Person | None = None,
) -> Merged:
    """Merges a commit into a branch, as one commit with both as parents; nothing is rewritten.

    The first parent is the branch's tip. If another writer moves the branch meanwhile, the merge is made
    again with the new tip, and `check`, which may raise what refuses it, is asked again. `confirm` is asked
    in the writer's turn, right before the commit: it must be quick. `adjust` may replace what a merge without
    conflicts makes, before it is checked. The author is the `person` that a token
    has proved, else Git's configured identity.

    Raises MergeConflict, what `merge_commits` raises, ReadOnly, SigningRequired, Busy, and what `Publication`
    raises.
    """
    store = writable(workspace.git)

    def merged(tip: str) -> Merge:
        merge = merge_commits(workspace.snapshot(tip), workspace.snapshot(theirs), resolutions)
        if merge.is_done:
            return merge
        if merge.conflicts:
            raise MergeConflict(tip, merge.conflicts, theirs)
        if adjust is not None:
            merge = adjust(merge)
        if check is not None:
            check(merge)
        check_signing(merge.ours)
        return merge

    tip = _tip(workspace, branch)
    merge = merged(tip)

    def build(now: str | None) -> Batch | None:
        nonlocal tip, merge
        if now != tip:
            tip = now or _tip(workspace, branch)
            merge = merged(tip)
            if merge.is_done:
                return None
        if confirm is not None:
            confirm()
        author = author_now(workspace, person)
        return Batch(branch, tip, merge.changes, message(merge), author, parents=(theirs,))

    durable = workspace.durable and workspace.snapshot(tip).config.fsync
    commit = None if merge.is_done else publish_with_retry(store, branch, build, durable=durable)
    return Merged(commit or tip, merge, commit is not None)


def _tip(workspace: Workspace, branch: str) -> str:
    tip = workspace.tip(branch)
    if tip is None:
        raise BranchNotFound(f"no branch '{branch}' to merge into", fix="Name one that has a commit.")
    return tip
