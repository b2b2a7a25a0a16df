"""The list of proposals: a few lines for each; outside a terminal, one line of tab-separated cells."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from docyard.cli.proposals.changes import PagePrinter, StyledText
from docyard.environment import is_terminal
from docyard.proposals.inbox import REASON_LABELS
from docyard.proposals.list import ProposalEntry, ProposalFilter
from docyard.proposals.state_filters import ALL_STATES, count_states
from docyard.proposals.view import count_comments
from docyard.terminal import console, styles
from docyard.terminal.suggested_commands import complete_commands
from docyard.wording import format_age, format_author, format_count, format_state, join_words
from workspace.escapes import escape_invisible
from workspace.proposal_ids import shorten_ids
from workspace.proposals.attention import ReviewerSource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.proposals.attention import AttentionReason
    from workspace.proposals.participants import Participant
    from workspace.proposals.proposal import Proposal

STATE_STYLES = {
    "draft": styles.MUTED,
    "open": styles.NOTE,
    "changes_requested": styles.WARNING,
    "approved": styles.PASSED,
    "merged": styles.MERGED,
    "closed": styles.FAILED,
    "gone": styles.FAILED,
}
"""The style of each state."""

_INDENT = 10  # an id and two spaces


def proposal_to_data(proposal: Proposal) -> dict[str, Any]:
    """Return the fields of a proposal that the JSON output of all commands contains."""
    from tools.proposals.descriptions import summarize_proposal

    return {
        **summarize_proposal(proposal),
        "tip": proposal.tip,
        "comments": count_comments(proposal),
        "approvals": len(proposal.approvals),
    }


def entry_to_data(entry: ProposalEntry, reasons: Sequence[AttentionReason] | None) -> dict[str, Any]:
    """Return the fields of an entry. `reasons` are those why it needs the caller; None if unknown."""
    attention = entry.attention
    return {
        **proposal_to_data(entry.proposal),
        "documents": entry.path_count,
        "open_comments": entry.open_comment_count,
        "conflicts": attention.has_conflicts,
        "required_approvals": {"given": attention.approvals.given, "needed": attention.approvals.needed},
        "approved_by": [_name_person(person) for person in attention.approved_by],
        "changes_requested_by": [_name_person(person) for person in attention.changes_requested_by],
        "reviewers": [
            {
                "name": escape_invisible(reviewer.name),
                "person": _name_person(reviewer.person) if reviewer.person is not None else None,
                "sources": [source.value for source in reviewer.sources],
                "decision": reviewer.decision.value if reviewer.decision is not None else None,
                "awaited": reviewer.is_awaited,
            }
            for reviewer in attention.reviewers
        ],
        "mentioned": [_name_person(person) for person in entry.mentioned],
        **({"needs_me": [reason.value for reason in reasons]} if reasons is not None else {}),
    }


def _name_person(person: Participant) -> str:
    return escape_invisible(person.shown_name)


class ListedProposals(NamedTuple):
    """The entries to print, the number of all matches, and the proposals of the repository.

    `reasons` are those why each proposal needs the caller, by the ids; None if they were not read.
    `suggested_authors` are known authors if no proposal has the author of the filter.
    """

    entries: Sequence[ProposalEntry]
    total: int
    proposals: Sequence[Proposal]
    proposal_filter: ProposalFilter
    reasons: Mapping[str, tuple[AttentionReason, ...]] | None = None
    suggested_authors: Sequence[str] = ()

    def find_reasons(self, entry: ProposalEntry) -> tuple[AttentionReason, ...] | None:
        """Return the reasons why a proposal needs the caller; None if they were not read."""
        return self.reasons.get(entry.proposal.id, ()) if self.reasons is not None else None

    def to_data(self, commit: str | None) -> dict[str, Any]:
        """Return the list as data for JSON."""
        return {
            "proposals": [entry_to_data(entry, self.find_reasons(entry)) for entry in self.entries],
            "total": self.total,
            "complete": len(self.entries) == self.total,
            "commit": commit,
        }


def print_list(listed: ListedProposals) -> None:
    """Print the entries, and on standard error the number of omitted proposals or the next step."""
    now = datetime.now(UTC)
    if not is_terminal(sys.stdout):
        console.print_table((), [_format_cells(entry) for entry in listed.entries])
    elif listed.entries:
        printer = PagePrinter()
        short_ids = shorten_ids(proposal.id for proposal in listed.proposals)
        for entry in listed.entries:
            _print_entry(printer, entry, short_ids[entry.proposal.id], listed.find_reasons(entry), now)
    if names := _list_unknown_approvers(listed.entries):
        click.echo(
            f"No trusted token of {escape_invisible(join_words(names))} is known here, so these approvals do "
            + complete_commands(f"not count here: docyard tokens trust {names[0]}"),
            err=True,
        )
    if len(listed.entries) < listed.total:
        click.echo(
            f"Listed {len(listed.entries):,} of {listed.total:,} proposals; --limit 0 lists all.", err=True
        )
    elif not listed.entries:
        click.echo(complete_commands(_explain_empty_list(listed)), err=True)


def _list_unknown_approvers(entries: Sequence[ProposalEntry]) -> list[str]:
    """Return the token names of awaited approvers whose tokens this copy lacks: no clone transfers tokens."""
    names = (
        reviewer.name.removeprefix("@")
        for entry in entries
        for reviewer in entry.attention.reviewers
        if reviewer.is_awaited and reviewer.person is None and ReviewerSource.RULE in reviewer.sources
    )
    return list(dict.fromkeys(names))


def _format_cells(entry: ProposalEntry) -> tuple[str, ...]:
    from tools.proposals.descriptions import format_time

    proposal, content = entry.proposal, entry.proposal.content
    return (
        proposal.id,
        proposal.state.value,
        format_time(content.updated_at),
        format_author(content.author),
        content.title,
        content.branch,
        entry.approval_cell,
        _CONFLICT_CELLS[entry.attention.has_conflicts],
        str(entry.open_comment_count),
        "; ".join(group.text for group in entry.people),
    )


_CONFLICT_CELLS = {True: "conflicts", False: "clean", None: "unknown"}


def _print_entry(
    printer: PagePrinter,
    entry: ProposalEntry,
    short_id: str,
    reasons: Sequence[AttentionReason] | None,
    now: datetime,
) -> None:
    proposal, content = entry.proposal, entry.proposal.content
    printer.print_line(
        StyledText(f"{short_id:<{_INDENT - 2}}", styles.ID),
        "  ",
        StyledText(content.title, styles.TITLE),
        hang=_INDENT,
    )
    printer.print_line(
        StyledText(format_state(proposal.state.value), STATE_STYLES[proposal.state.value]),
        f" · {entry.author}, {_format_ages(entry, now)}",
        indent=_INDENT,
    )
    comments = entry.open_comment_count
    facts = [
        StyledText(f"conflicts with {content.target}", styles.FAILED)
        if entry.attention.has_conflicts
        else "",
        entry.approval_text,
        format_count(entry.path_count, "document") if entry.path_count else "",
        format_count(comments, "open comment") if comments else "",
    ]
    _print_joined(printer, [fact for fact in facts if fact])
    _print_joined(printer, [StyledText(group.text, _GROUP_STYLES[group.kind]) for group in entry.people])
    _print_joined(printer, [StyledText(REASON_LABELS[reason], styles.MATCH) for reason in reasons or ()])


_GROUP_STYLES = {"good": styles.PASSED, "warn": styles.WARNING, "": ""}


def _print_joined(printer: PagePrinter, parts: Sequence[StyledText | str]) -> None:
    """Print parts on a line, with dots between them; nothing without parts."""
    if parts:
        separated = [text for part in parts for text in (" · ", part)][1:]
        printer.print_line(*separated, indent=_INDENT)


def _format_ages(entry: ProposalEntry, now: datetime) -> str:
    content = entry.proposal.content
    ages = [f"opened {format_age(content.opened_at, now)}"]
    if entry.is_updated_later(now):
        ages.append(f"updated {format_age(content.updated_at, now)}")
    return ", ".join(ages)


def _explain_empty_list(listed: ListedProposals) -> str:
    """Return the reason why no proposal is listed, and the next command."""
    proposals, proposal_filter = listed.proposals, listed.proposal_filter
    if not proposals:
        return (
            'There is no proposal yet: `docyard proposals create "TITLE"` creates a proposal. In a clone, '
            "`docyard sync` fetches those of the remote."
        )
    state = proposal_filter.state
    if proposal_filter.has_only_state:
        states = [proposal.state.value for proposal in proposals]
        counts = join_words(
            f"{states.count(name):,} {format_state(name)}" for name in STATE_STYLES if name in states
        )
        return f"No proposal is {format_state(state)}; in other states: {counts}. --state all lists these."
    if proposal_filter == ProposalFilter(state, needed=proposal_filter.needed):
        return "No proposal needs you."
    if listed.suggested_authors:
        return (
            f"No proposal is by '{escape_invisible(proposal_filter.author[:50])}'; "
            f"authors: {escape_invisible(', '.join(listed.suggested_authors))}."
        )
    options = join_words(
        option
        for option, value in {
            "--needs-me": proposal_filter.needed is not None,
            "--author": proposal_filter.author,
            "--path": proposal_filter.path,
            "--search": proposal_filter.search,
        }.items()
        if value
    )
    count = count_states(proposals)[state]
    if state == ALL_STATES:
        return f"No proposal matches {options}; without a filter: {count:,}."
    return (
        f"No proposal in the state {format_state(state)} matches {options}; without a filter: {count:,}. "
        "--state all searches in all states."
    )
