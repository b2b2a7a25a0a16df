"""The page of proposals: filters, and for each proposal its state, reviews, conflicts and comments."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from docyard.proposals.inbox import REASON_LABELS
from docyard.proposals.list import (
    InvalidFilter,
    ProposalEntry,
    ProposalFilter,
    build_entries,
    list_authors,
    normalize_path,
    select_proposals,
    suggest_authors,
)
from docyard.proposals.state_filters import OPEN_STATES, STATE_FILTERS, count_states
from docyard.web.live import format_unfinished_version
from docyard.web.proposals.read_marks import MAX_MARKS, is_unread, mark_all_as_read, read_marks
from docyard.web.proposals.view import STATE_TAGS
from docyard.wording import join_words, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Set

    from starlette.responses import Response

    from docyard.proposals.inbox import NeededProposals
    from docyard.web.page_request import PageRequest
    from docyard.web.proposals.attention_checks import AttentionChecks
    from workspace.proposals.attention import AttentionReason

PROPOSALS_PER_PAGE = 25
"""The number of proposals on one page."""

STATE_LABELS = {
    "open": "All open",
    "draft": "Drafts",
    "waiting": "Waiting for review",
    "changes_requested": "Changes requested",
    "approved": "Approved",
    "merged": "Merged",
    "closed": "Closed",
    "gone": "Branch gone",
    "all": "All",
}
"""The labels of the filters of states."""

_MAX_MERGE_S = 0.02  # for conflicts of the proposals on the page; further ones are searched in the background
_MAX_FILTER_CHARACTERS = 200
_MAX_TITLE_CHARACTERS = 200
_MAX_AUTHORS = 30


class ListedProposal(NamedTuple):
    """An entry on the page. `reasons` are those why the proposal needs the caller.

    `is_pending` is True if its conflicts are being searched.
    """

    entry: ProposalEntry
    title: str
    reasons: tuple[AttentionReason, ...]
    is_unread: bool
    is_pending: bool


class FilterFields(NamedTuple):
    """The fields of the form of filters, as the query names them."""

    needs: str
    unread: str
    search: str
    author: str
    path: str
    state: str

    @property
    def is_default(self) -> bool:
        """Return True if the fields select all open proposals."""
        return self == (*[""] * 5, OPEN_STATES)

    @property
    def is_needs_only(self) -> bool:
        """Return True if the fields select all proposals that need the caller."""
        return bool(self.needs) and self._replace(needs="").is_default

    @property
    def is_unread_only(self) -> bool:
        """Return True if the fields select all unread proposals."""
        return bool(self.unread) and self._replace(unread="").is_default

    def build_query(self, **values: str | int | None) -> dict[str, str | int | None]:
        """Return the fields of a URL, with other values."""
        fields = self._asdict() | {"state": "" if self.state == OPEN_STATES else self.state}
        return {name: value or None for name, value in (fields | values).items()}


def render_proposals_page(request: PageRequest, checks: AttentionChecks) -> Response:
    """Return a page of the proposals that match the filters of the query.

    An invalid filter is reported on the page, with its text, and does not apply. Merges are computed only for
    proposals on the page.
    """
    proposals = request.proposals
    needed = checks.find_needed(request)
    fields = _read_fields(request.query)
    marks = read_marks(request.cookies)
    unread_ids = {proposal.id for proposal in proposals if is_unread(proposal, marks)}
    proposal_filter, problems = _read_filter(fields, needed, unread_ids, lacks_person=request.lacks_person)
    matches = select_proposals(request.workspace, proposals, proposal_filter)
    page = request.select_page(matches, PROPOSALS_PER_PAGE)
    entries = build_entries(request.workspace, page.items, proposals, max_merge_s=_MAX_MERGE_S)
    unknown = [entry.proposal for entry in entries if entry.attention.has_conflicts is None]
    pending_ids = {proposal.id for proposal in checks.start(request, unknown)}
    is_finished = not pending_ids and not (needed is not None and needed.unchecked)
    return request.page(
        "proposals.html",
        fields=fields,
        problems=problems,
        state_labels=STATE_LABELS,
        state_counts=count_states(proposals),
        unread_count=len(unread_ids),
        max_marks=MAX_MARKS,
        needed_count=len(needed.reasons) if needed is not None else None,
        is_finished=is_finished,
        authors=list_authors(request.workspace, proposals, _MAX_AUTHORS),
        suggested_authors=() if matches else suggest_authors(request.workspace, proposals, proposal_filter),
        has_proposals=bool(proposals),
        total=len(matches),
        listed=[
            ListedProposal(
                entry,
                shorten(entry.proposal.content.title, _MAX_TITLE_CHARACTERS),
                needed.reasons.get(entry.proposal.id, ()) if needed is not None else (),
                entry.proposal.id in unread_ids,
                entry.proposal.id in pending_ids,
            )
            for entry in entries
        ],
        page=page,
        now=datetime.now(UTC),
        state_tags=STATE_TAGS,
        reason_labels=REASON_LABELS,
        version=request.version if is_finished else format_unfinished_version(request.version),
    )


def handle_read_form(request: PageRequest) -> Response:
    """Mark the open proposals as read, and redirect the browser to the list with the filters of the form."""
    url = request.urls.proposals(**_read_fields(request.fields).build_query())
    return mark_all_as_read(request, request.redirect(url))


def _read_fields(query: Mapping[str, str]) -> FilterFields:
    texts = {
        name: query.get(name, "").strip()[:_MAX_FILTER_CHARACTERS] for name in ("search", "author", "path")
    }
    state = query.get("state", "").strip()[:_MAX_FILTER_CHARACTERS] or OPEN_STATES
    needs, unread = "me" if query.get("needs") else "", "yes" if query.get("unread") else ""
    return FilterFields(needs, unread, **texts, state=state)


def _read_filter(
    fields: FilterFields, needed: NeededProposals | None, unread_ids: Set[str], *, lacks_person: bool
) -> tuple[ProposalFilter, list[str]]:
    """Return the filter of the fields, and a sentence for each field that does not apply."""
    problems, path, state = [], "", fields.state
    selected_ids = unread_ids if fields.unread else None
    if fields.needs and needed is None:
        reason = (
            "your session is not signed in as a person"
            if lacks_person
            else "you cannot act on proposals here"
        )
        problems.append(f"The filter “Needs me” does not apply, because {reason}.")
    elif fields.needs and needed is not None:
        selected_ids = needed.reasons.keys() if selected_ids is None else selected_ids & needed.reasons.keys()
    if state not in STATE_FILTERS:
        names = join_words(STATE_FILTERS, "or")
        problems.append(f"There is no state “{state}”, so open proposals are listed. Use {names}.")
        state = OPEN_STATES
    try:
        path = normalize_path(fields.path)
    except InvalidFilter as error:
        problems.append(f"The filter of paths does not apply: {error.message}. {error.fix}")
    return ProposalFilter(state, fields.author, path, fields.search, selected_ids), problems
