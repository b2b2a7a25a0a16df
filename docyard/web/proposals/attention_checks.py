"""The proposals that need the caller, and the conflicts of proposals, without a long wait of a page.

A page reads them for a short time. The others are read in the background, and the page is then updated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docyard.proposals.inbox import get_inbox
from workspace.errors import WorkspaceError
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docyard.proposals.inbox import NeededProposals
    from docyard.web.page_request import PageRequest
    from workspace.proposals.participants import Participant
    from workspace.proposals.proposal import Proposal

_MAX_READ_S = 0.03
_MAX_CACHED_CHECKS = 20_000


class AttentionChecks:
    """The proposals that were read in the background, by the version of the served state. Thread-safe."""

    def __init__(self) -> None:
        self._checked: LRUCache[tuple[str, str, str | None], bool] = LRUCache(_MAX_CACHED_CHECKS)

    def find_needed(self, request: PageRequest) -> NeededProposals | None:
        """Return the proposals that need the caller; None if the caller cannot act on proposals as a person.

        `unchecked` are the proposals that are being read in the background.
        """
        if not request.may_write or request.caller.person is None or request.workspace.branch is None:
            return None
        inbox, proposals = get_inbox(request.workspace), request.proposals
        try:
            person = inbox.identify(request.caller.person)
            needed = inbox.find_needed(proposals, person, max_merge_s=0, max_read_s=_MAX_READ_S)
            if not needed.unchecked:
                return needed
            unchecked = self.start(request, needed.unchecked, person)
            if not unchecked:  # results of the background are cached, so that they need no limit
                needed = inbox.find_needed(proposals, person, max_merge_s=0)
            return needed._replace(unchecked=unchecked)
        except WorkspaceError:  # such as an unknown author of commits, which forms report
            return None

    def start(
        self, request: PageRequest, selected_proposals: Sequence[Proposal], person: Participant | None = None
    ) -> tuple[Proposal, ...]:
        """Read proposals in the background. Return those that are not read yet.

        If `person` is given, conflicts are searched only in proposals that this person owns.
        """
        version, proposals = request.version, request.proposals
        person_key = person.key if person is not None else None
        if not version:  # the state changes without a notice
            return ()
        pending = [
            proposal
            for proposal in selected_proposals
            if self._checked.find((version, proposal.id, person_key)) is None
        ]
        if not pending:
            return ()
        inbox, remaining = get_inbox(request.workspace), pending.copy()

        def read_next() -> bool:
            proposal = remaining.pop(0)
            try:
                inbox.read_all((proposal,), proposals, person=person)
            finally:  # a proposal that cannot be read is not read again
                self._checked.put((version, proposal.id, person_key), True)
            return not remaining

        request.site.background.submit(("attention", version, person_key), read_next)
        return tuple(pending)
