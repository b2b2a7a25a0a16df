"""A proposal as a page: its state, merge requirements, discussion, changes and next step.

The same content is available as data for JSON.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from docyard.cli.proposals.actions import (
    format_approve_command,
    format_switch_command,
    resolve_address_in_proposal,
    suggest_next_step,
)
from docyard.cli.proposals.changes import (
    PagePrinter,
    StyledText,
    changes_to_data,
    print_changes,
    select_changes,
)
from docyard.cli.proposals.comments import print_comments, print_reviews, review_to_data, thread_to_data
from docyard.cli.proposals.conflicts import AUTHORSHIP_WARNING, format_conflict_name
from docyard.cli.proposals.list import STATE_STYLES, proposal_to_data
from docyard.proposals.view import ProposalView, describe_needed_token, list_unknown_tokens
from docyard.terminal import styles
from docyard.terminal.exits import CommandError
from docyard.terminal.suggested_commands import complete_commands
from docyard.wording import (
    format_author,
    format_commit_author,
    format_count,
    format_moment,
    format_state,
    join_words,
    shorten_id,
)
from tools.proposals.descriptions import format_time
from tools.proposals.review_state import describe_blocker
from workspace.proposals.proposal import ProposalState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from workspace.proposals.actions.merge_gate import RuleRequirement
    from workspace.proposals.comments import LocatedThread, LocationFilter
    from workspace.proposals.events import Author
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import CommitChanges
    from workspace.proposals.review.checks import CheckResult
    from workspace.workspace import Workspace


def suggest_next_command(view: ProposalView) -> str:
    """Return the next command for a reviewer of a proposal, with the options of the current invocation."""
    return complete_commands(_select_next_command(view))


def _select_next_command(view: ProposalView) -> str:
    proposal = view.proposal
    if proposal.is_open and view.preview.is_empty:
        return f"{format_switch_command(proposal)}, commit there, then docyard proposals submit {proposal.id}"
    if proposal.state not in (ProposalState.OPEN, ProposalState.APPROVED):
        return suggest_next_step(proposal)
    if view.preview.conflicts:
        return f"docyard proposals conflicts {proposal.id}"
    if view.merge_requirements.unreviewed_changes is not None:
        return f"docyard proposals refresh {proposal.id}"
    for requirement in view.merge_requirements.requirements:
        if requirement.lacks_approver:
            names = join_words(list(requirement.authors or requirement.approvers))
            return (
                f"add an approver to rule {requirement.number} of docyard.toml: "
                f"no other person than {names} may approve, and no author can"
            )
    return (
        format_approve_command(proposal)
        if view.merge_requirements.blockers
        else f"docyard proposals merge {proposal.id}"
    )


_INDENT = 10  # an id and two spaces
_MAX_SHOWN_DIFF_CHARS = 20_000  # the command `diff` prints all changes
_MAX_ADDRESSES = 5
_MAX_PROBLEMS = 5
_MAX_LIST_ITEMS = 10


def print_page(
    view: ProposalView, *, include_diff: bool, include_comments: bool, is_since_review: bool = False
) -> None:
    """Print a proposal for its reviewer.

    `is_since_review` is True if the changes are those since the caller's review.
    """
    printer = PagePrinter()
    _print_header(printer, view)
    if view.proposal.content.description:
        printer.print_blank_line()
        printer.print_markdown(view.proposal.content.description)
    _print_commits(printer, view)
    _print_overlaps(printer, view)
    _print_merge_requirements(printer, view)
    if include_comments:
        print_reviews(printer, view.proposal.reviews, view.merge_requirements.void_reasons)
        print_comments(printer, view.threads)
    if include_diff:
        printer.print_heading("Changes since your review" if is_since_review else "Changes")
        print_changes(printer, view.changes, max_chars=_MAX_SHOWN_DIFF_CHARS, is_since_review=is_since_review)
    printer.print_blank_line()
    printer.print_command(f"next: {suggest_next_command(view)}")


def _print_header(printer: PagePrinter, view: ProposalView) -> None:
    proposal = view.proposal
    content = proposal.content
    printer.print_line(
        StyledText(proposal.id, styles.ID), "  ", StyledText(content.title, styles.TITLE), hang=_INDENT
    )
    state = format_state(proposal.state.value)
    printer.print_line(
        StyledText(state, STATE_STYLES[proposal.state.value]), f" · into {content.target}", indent=_INDENT
    )
    printer.print_line(
        f"by {format_author(content.author)}, {format_moment(content.opened_at)}; "
        f"updated {format_moment(content.updated_at)}",
        indent=_INDENT,
    )
    for line in _list_notices(view):
        printer.print_line(line, indent=_INDENT)
    if proposal.tip is not None and proposal.state is not ProposalState.MERGED:
        printer.print_command(format_switch_command(proposal), indent=_INDENT)


def _list_notices(view: ProposalView) -> Iterator[str]:
    """Yield notices about unusual states of a proposal."""
    proposal = view.proposal
    merge_record = proposal.merge_record
    if merge_record is not None:
        yield (
            f"merged as {shorten_id(merge_record.commit)}"
            if merge_record.commit
            else "the target contains the proposal's last commit"
        )
        if proposal.is_ahead:
            yield "the branch has commits after the merge that the target lacks"
    if proposal.is_rewritten:
        yield "the branch was rewritten: it no longer contains a commit that was submitted or reviewed"
    if proposal.unreadable_count:
        yield f"{format_count(proposal.unreadable_count, 'file')} of the discussion cannot be read"
    if proposal.content.unknown_event_count:
        count = format_count(proposal.content.unknown_event_count, "event")
        yield f"{count} from a later version of Docyard cannot be shown"


def _print_commits(printer: PagePrinter, view: ProposalView) -> None:
    if not view.commits:
        return
    behind = view.preview.behind
    behind_text = (
        f", {format_count(behind, 'commit')} behind {view.proposal.content.target}" if behind else ""
    )
    printer.print_heading(f"Commits: {len(view.commits):,}{behind_text}")
    for info, _ in view.commits[:_MAX_LIST_ITEMS]:
        printer.print_line(
            StyledText(shorten_id(info.commit), styles.ID),
            f"  {info.subject} ",
            StyledText(f"({format_commit_author(info)}, {format_moment(info.time)})", styles.MUTED),
            indent=2,
            hang=_INDENT,
        )
    if len(view.commits) > _MAX_LIST_ITEMS:
        printer.print_line(
            f"… and {format_count(len(view.commits) - _MAX_LIST_ITEMS, 'older commit')}", indent=2
        )


def _print_overlaps(printer: PagePrinter, view: ProposalView) -> None:
    if not view.overlaps:
        return
    printer.print_heading(f"Overlaps with {format_count(len(view.overlaps), 'other proposal')}")
    for overlap in view.overlaps[:_MAX_LIST_ITEMS]:
        printer.print_line(StyledText(overlap.id, styles.ID), f"  {overlap.title}", indent=2, hang=_INDENT)
        for address in overlap.addresses[:_MAX_ADDRESSES]:
            printer.print_line(StyledText(address, styles.ADDRESS), indent=_INDENT + 2, hang=2)
        if len(overlap.addresses) > _MAX_ADDRESSES:
            printer.print_line(f"… and {len(overlap.addresses) - _MAX_ADDRESSES:,} more", indent=_INDENT + 2)
    if len(view.overlaps) > _MAX_LIST_ITEMS:
        printer.print_line(
            f"… and {format_count(len(view.overlaps) - _MAX_LIST_ITEMS, 'other proposal')}", indent=2
        )


def _print_merge_requirements(printer: PagePrinter, view: ProposalView) -> None:
    """Print the unmet requirements of a merge, the checks and the conflicts."""
    proposal = view.proposal
    if proposal.state is ProposalState.MERGED:
        return
    if view.merge_requirements.unreviewed_changes is not None:
        printer.print_heading(
            f"Changes from {proposal.content.target} that a merge would add without a review"
        )
        print_changes(printer, view.merge_requirements.unreviewed_changes, max_chars=_MAX_SHOWN_DIFF_CHARS)
    blockers = view.merge_requirements.blockers
    token = describe_needed_token(view)
    printer.print_heading("Unmet merge requirements" if blockers else "All merge requirements are met")
    for blocker in blockers:
        suffix = " (blocks only clients; a person may still merge)" if blocker.only_clients else ""
        printer.print_line(StyledText("✗ ", styles.FAILED), f"{blocker.message}{suffix}", indent=2, hang=2)
    unknown_tokens = list_unknown_tokens(view) if blockers else []
    if unknown_tokens:
        printer.print_line(
            "Approvals with a token that was created in another copy count here after:", indent=2, hang=2
        )
    for name in unknown_tokens[:_MAX_LIST_ITEMS]:
        trust_command = (
            f"docyard tokens trust {shlex.quote(name)} --name NAME --email ADDRESS --token-file FILE"
        )
        printer.print_command(complete_commands(trust_command), indent=4)
    if token is not None:
        printer.print_line(f"The merge itself needs {token}.", indent=2, hang=2)
    if view.preview.checks:
        printer.print_heading("Checks of the merge")
        passed_checks = [check.name for check in view.preview.checks if check.passed]
        if passed_checks:
            printer.print_line(StyledText("✓ ", styles.PASSED), ", ".join(passed_checks), indent=2, hang=2)
        for check in view.preview.checks:
            if not check.passed:
                _print_failed_check(printer, check)
    if view.preview.conflicts:
        paths = list(dict.fromkeys(conflict.path for conflict in view.preview.conflicts))
        path_list = join_words(
            [
                *paths[:_MAX_LIST_ITEMS],
                *([f"{len(paths) - _MAX_LIST_ITEMS:,} more"] if len(paths) > _MAX_LIST_ITEMS else []),
            ]
        )
        printer.print_heading(
            f"Conflicts with {proposal.content.target}: {len(view.preview.conflicts):,}, in {path_list}"
        )
        printer.print_command(complete_commands(f"docyard proposals conflicts {proposal.id}"), indent=2)
        printer.print_line(AUTHORSHIP_WARNING, indent=2, hang=2)


def _print_failed_check(printer: PagePrinter, check: CheckResult) -> None:
    count = len(check.problems) + check.omitted_count
    printer.print_line(
        StyledText("✗ ", styles.FAILED), f"{check.name}: {format_count(count, 'problem')}", indent=2, hang=2
    )
    for problem in check.problems[:_MAX_PROBLEMS]:
        address = f"{problem.address}, line {problem.line:,}: " if problem.address else ""
        printer.print_line(
            StyledText(address, styles.ADDRESS),
            f"{problem.message} ",
            StyledText(problem.rule, styles.MUTED),
            indent=4,
            hang=2,
        )
    if count > _MAX_PROBLEMS:
        printer.print_line(f"… and {format_count(count - _MAX_PROBLEMS, 'more problem')}", indent=4)


def page_to_data(view: ProposalView, *, include_diff: bool, include_comments: bool) -> dict[str, Any]:
    """Return a proposal as data. `missing` lists the merge blockers; it is empty if a merge is possible."""
    proposal = view.proposal
    merge_record = proposal.merge_record
    data: dict[str, Any] = {
        **proposal_to_data(proposal),
        "description": proposal.content.description,
        "merged": {"commit": merge_record.commit, "tip": merge_record.tip}
        if merge_record is not None
        else None,
        "ahead": proposal.is_ahead,
        "rewritten": proposal.is_rewritten,
        "unreadable": proposal.unreadable_count + proposal.content.unknown_event_count,
        "behind": view.preview.behind,
        "commits": [
            {
                "commit": info.commit,
                "subject": info.subject,
                "author": info.author_name,
                "time": format_time(info.time),
                "client": info.client,
            }
            for info, _ in view.commits
        ],
        "missing": [describe_blocker(blocker) for blocker in view.merge_requirements.blockers],
        "unreviewed": None
        if view.merge_requirements.unreviewed_changes is None
        else changes_to_data(view.merge_requirements.unreviewed_changes),
        "demands": _requirements_to_data(view.merge_requirements.requirements),
        "checks": [_check_to_data(check) for check in view.preview.checks],
        "conflicts": [format_conflict_name(path, conflict.unit) for path, conflict in view.preview.conflicts],
        "overlaps": [
            {"proposal": overlap.id, "title": overlap.title, "addresses": list(overlap.addresses)}
            for overlap in view.overlaps
        ],
        "reviews": [
            review_to_data(review_status, view.merge_requirements.void_reasons)
            for review_status in proposal.reviews
        ],
    }
    if include_comments:
        data["threads"] = [thread_to_data(thread) for thread in view.threads]
    if include_diff:
        data["changes"] = changes_to_data(view.changes)
    return {**data, "commit": proposal.tip, "next_step": suggest_next_command(view)}


def _requirements_to_data(requirements: Sequence[RuleRequirement]) -> list[dict[str, Any]]:
    return [
        {
            "rule": requirement.number,
            "paths": list(requirement.paths),
            "approvals_needed": requirement.approvals_needed,
            "approved_by": list(requirement.approved_by),
            "approvers": list(requirement.approvers),
            "may_merge": list(requirement.may_merge),
            "checks_failed": list(requirement.checks_failed),
            "met": requirement.is_met,
        }
        for requirement in requirements
    ]


def _check_to_data(check: CheckResult) -> dict[str, Any]:
    return {
        "name": check.name,
        "passed": check.passed,
        "problems": [problem._asdict() for problem in check.problems],
        "more": check.omitted_count,
    }


def load_changes(
    workspace: Workspace,
    proposal: Proposal,
    location: tuple[str | None, str | None],
    reviewer: Author | None = None,
) -> CommitChanges:
    """Return the changes of a proposal at a path and section address.

    With `reviewer`, only changes since the last review of this person are returned. Raises CommandError for
    an address without changes, and for a review that is missing or whose commit is missing.
    """
    proposal_reviews = workspace.proposal_reviews()
    if reviewer is None:
        return select_changes(proposal_reviews.changes(proposal), *location)
    from workspace.proposals.review.since_review import find_last_review

    if proposal.merge_record is not None:
        raise CommandError(
            f"proposal {proposal.id} is merged, so nothing can change after a review",
            fix="Omit --since-review to see its changes.",
        )
    review = find_last_review(proposal, reviewer)
    if review is None:
        raise CommandError(
            f"{format_author(reviewer)} has not reviewed proposal {proposal.id}",
            fix="Omit --since-review, or pass the token with which you reviewed it by --token-file.",
        )
    changes = proposal_reviews.changes_since(proposal, review.commit)
    if changes is None:
        raise CommandError(
            f"the reviewed commit {shorten_id(review.commit)} of proposal {proposal.id} "
            "is not in this repository",
            fix="Omit --since-review to see all changes.",
        )
    if changes.is_empty:
        return changes.changes
    return select_changes(changes.changes, *location, subject="the proposal, since your review,")


def load_proposal_view(
    workspace: Workspace, name: str, address: str | None, folder: Path, reviewer: Author | None = None
) -> ProposalView:
    """Load a proposal for its reviewer; with `reviewer`, the changes are those since the person's review.

    Raises ProposalNotFound, and the errors of `load_changes`.
    """
    proposal_actions, proposal_reviews = workspace.proposal_actions(), workspace.proposal_reviews()
    proposal = proposal_actions.find(name)
    location = resolve_address_in_proposal(workspace, proposal, address, folder)
    changes = load_changes(workspace, proposal, location, reviewer)
    preview = proposal_reviews.preview(proposal)
    return ProposalView(
        proposal,
        changes,
        preview,
        proposal_actions.find_merge_requirements(proposal, preview),
        proposal_reviews.overlaps(proposal, proposal_actions.list_all()),
        proposal_reviews.commits(proposal),
        _load_threads(workspace, proposal, location),
    )


def _load_threads(workspace: Workspace, proposal: Proposal, location: LocationFilter) -> list[LocatedThread]:
    proposal_reviews = workspace.proposal_reviews()
    threads: list[LocatedThread] = []
    cursor: int | None = 0
    while cursor is not None:
        page = proposal_reviews.comments(proposal, after=cursor, location=location)
        threads += page.threads
        cursor = page.next
    return threads
