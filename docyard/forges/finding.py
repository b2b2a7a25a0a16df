"""Which pull requests the proposals of a round have, asked for with few calls.

Few are asked for one by one. Of many, the open ones are listed by one call, and what is not among them has
ended, or never was: that is asked for once, and again after ten minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from docyard.forges.port import Forge, PullRequest
    from workspace.proposals import Proposal

LISTED_FROM = 5
"""Open proposals from which on the forge's open pull requests are listed."""

_KEPT_SECONDS = 600.0
_KEPT = 1_000


class _Ended(NamedTuple):
    """What was found of a branch that has no open pull request."""

    request: PullRequest | None
    until: float


class Finding:
    """Finds the pull requests of proposals to one branch, for one thread at a time."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ended: dict[str, _Ended] = {}

    def listed(self, forge: Forge, proposals: Sequence[Proposal]) -> Mapping[str, PullRequest] | None:
        """The open pull requests by their branches; None where too few proposals are open to list them."""
        if sum(one.is_open for one in proposals) < LISTED_FROM:
            return None
        target = proposals[0].words.target
        return {one.head_branch: one for one in reversed(forge.listed(target))}

    def find(
        self, forge: Forge, proposal: Proposal, listed: Mapping[str, PullRequest] | None
    ) -> PullRequest | None:
        """The pull request of a proposal, as `Forge.find` has it; from a list, if one was made."""
        branch, target = proposal.words.branch, proposal.words.target
        if listed is None:
            return forge.find(branch, target)
        if branch in listed:
            self._ended.pop(branch, None)
            return listed[branch]
        ended = self._ended.get(branch)
        if ended is not None and self._clock() < ended.until:
            return ended.request
        request = forge.find(branch, target)
        if request is None or request.state != "open":
            if len(self._ended) >= _KEPT:
                self._ended.clear()
            self._ended[branch] = _Ended(request, self._clock() + _KEPT_SECONDS)
        return request
