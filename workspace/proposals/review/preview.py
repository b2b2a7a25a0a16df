"""What a merge would make of a proposal now: what it cannot decide, and what it would make worse."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from workspace.merge.trees_package import FileConflict, Merge
    from workspace.proposals.review.checks_package import CheckResult


class Preview(NamedTuple):
    """A merge that nobody has made yet, as of the target's tip and the proposal's.

    `merge` is None where there is none to make, and `reason` says why: the proposal is merged already, a
    branch is gone, or the two cannot be merged. `conflicts` must be decided first; `checks` are of the merge,
    in which what is in conflict stands as the target has it. `behind` counts the target's commits since, by
    first parents; 10,000 stands for more. `is_empty` says that the proposal has no commit of its own.
    """

    merge: Merge | None
    conflicts: tuple[FileConflict, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    behind: int = 0
    reason: str | None = None
    is_empty: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether it can be merged as it is, and makes nothing worse."""
        return self.merge is not None and not self.conflicts and all(one.passed for one in self.checks)
