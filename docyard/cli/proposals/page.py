"""A proposal as a page: its state, merge requirements, discussion, changes and next step.

The same content is available as data for programs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docyard.cli.proposals.actions import (
    format_approve_command,
    format_switch_command,
    resolve_place,
    suggest_next_step,
)
from docyard.cli.proposals.changes import Paper, StyledText, changes_to_data, print_changes, select_changes
from docyard.cli.proposals.comments import print_comments, print_reviews, review_to_data, thread_to_data
from docyard.cli.proposals.conflicts import format_conflict_name
from docyard.cli.proposals.list import STYLES, proposal_to_data
from docyard.proposals.view import ProposalView, describe_needed_token
from docyard.wording import format_author, format_count, format_moment, format_state, join_words, shorten_id
from tools.proposals.descriptions import format_time
from tools.proposals.review_state import blocker_data
from workspace.proposals.proposal import ProposalState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from workspace.proposals.actions.merge_gate import RuleRequirement
    from workspace.proposals.comments import AnchoredThread, LocationFilter
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.checks import CheckResult
    from workspace.workspace import Workspace


def suggest_next_command(view: ProposalView) -> str:
    """Return the next command for a reviewer of a proposal."""
    one = view.proposal
    if one.is_open and view.preview.is_empty:
        return f"{format_switch_command(one)}, commit there, then docyard proposals submit {one.id}"
    if one.state not in (ProposalState.OPEN, ProposalState.APPROVED):
        return suggest_next_step(one)
    if view.preview.conflicts:
        return f"docyard proposals conflicts {one.id}"
    if view.merge_requirements.unreviewed is not None:
        return f"docyard proposals refresh {one.id}"
    return (
        format_approve_command(one)
        if view.merge_requirements.blockers
        else f"docyard proposals merge {one.id}"
    )


_MOST = 20_000  # characters of changes; `diff` shows all
_ADDRESSES = 5
_PROBLEMS = 5
_FEW = 10


def print_page(view: ProposalView, *, diff: bool, comments: bool) -> None:
    """Print a proposal for its reviewer."""
    paper = Paper()
    _show_head(paper, view)
    if view.proposal.content.description:
        paper.blank()
        paper.markdown(view.proposal.content.description)
    _show_commits(paper, view)
    _show_overlaps(paper, view)
    _show_merge(paper, view)
    if comments:
        print_reviews(paper, view.proposal.reviews, view.merge_requirements.void_reasons)
        print_comments(paper, view.threads)
    if diff:
        paper.head("Changes")
        print_changes(paper, view.changes, most=_MOST)
    paper.blank()
    paper.command(f"next: {suggest_next_command(view)}")


def _show_head(paper: Paper, view: ProposalView) -> None:
    one = view.proposal
    words = one.content
    paper.line(StyledText(one.id, "yellow"), "  ", StyledText(words.title, "bold"), hang=10)
    state = format_state(one.state.value)
    paper.line(StyledText(state, STYLES[one.state.value]), f" · into {words.target}", indent=10)
    paper.line(
        f"by {format_author(words.author)}, {format_moment(words.opened_at)}; "
        f"updated {format_moment(words.updated_at)}",
        indent=10,
    )
    for line in _list_notices(view):
        paper.line(line, indent=10)
    if one.tip is not None and one.state is not ProposalState.MERGED:
        paper.command(format_switch_command(one), indent=10)


def _list_notices(view: ProposalView) -> Iterator[str]:
    """Yield notices about unusual states of a proposal."""
    one = view.proposal
    record = one.merge_record
    if record is not None:
        yield (
            f"merged as {shorten_id(record.commit)}" if record.commit else "its target holds its last commit"
        )
        if one.is_ahead:
            yield "its branch has commits after the merge, which are not in its target"
    if one.is_rewritten:
        yield "its branch was rewritten: it no longer has a commit that was submitted or reviewed"
    if one.unreadable:
        yield f"{format_count(one.unreadable, 'file')} of its discussion cannot be read, and left out"
    if one.content.unknown_events:
        yield f"{format_count(one.content.unknown_events, 'event')} of a later version of Docyard left out"


def _show_commits(paper: Paper, view: ProposalView) -> None:
    if not view.commits:
        return
    behind = view.preview.behind
    more = f", {format_count(behind, 'commit')} behind {view.proposal.content.target}" if behind else ""
    paper.head(f"Commits: {len(view.commits):,}{more}")
    for info, _ in view.commits[:_FEW]:
        client = f" via {info.client}" if info.client else ""
        paper.line(
            StyledText(shorten_id(info.commit), "yellow"),
            f"  {info.subject} ",
            StyledText(f"({info.author_name}{client}, {format_moment(info.time)})", "dim"),
            indent=2,
            hang=10,
        )
    if len(view.commits) > _FEW:
        paper.line(f"… and {format_count(len(view.commits) - _FEW, 'older commit')}", indent=2)


def _show_overlaps(paper: Paper, view: ProposalView) -> None:
    if not view.overlaps:
        return
    paper.head(f"Overlaps with {format_count(len(view.overlaps), 'other proposal')}")
    for overlap in view.overlaps[:_FEW]:
        paper.line(StyledText(overlap.id, "yellow"), f"  {overlap.title}", indent=2, hang=10)
        for address in overlap.addresses[:_ADDRESSES]:
            paper.line(StyledText(address, "cyan"), indent=12, hang=2)
        if len(overlap.addresses) > _ADDRESSES:
            paper.line(f"… and {len(overlap.addresses) - _ADDRESSES:,} more", indent=12)
    if len(view.overlaps) > _FEW:
        paper.line(f"… and {format_count(len(view.overlaps) - _FEW, 'other proposal')}", indent=2)


def _show_merge(paper: Paper, view: ProposalView) -> None:
    """Print whether the proposal can be merged, and the missing requirements."""
    one = view.proposal
    if one.state is ProposalState.MERGED:
        return
    if view.merge_requirements.unreviewed is not None:
        paper.head(f"Changes from {one.content.target} that a merge would add without a review")
        print_changes(paper, view.merge_requirements.unreviewed, most=_MOST)
    blocks = view.merge_requirements.blockers
    token = describe_needed_token(view)
    paper.head("Missing to merge" if blocks else "Nothing is missing to merge")
    for block in blocks:
        only = " (stops clients only)" if block.only_clients else ""
        paper.line(StyledText("✗ ", "red"), f"{block.message}{only}", indent=2, hang=2)
    if token is not None:
        paper.line(f"The merge itself needs {token}.", indent=2, hang=2)
    if view.preview.checks:
        paper.head("Checks of the merge")
        passed = [check.name for check in view.preview.checks if check.passed]
        if passed:
            paper.line(StyledText("✓ ", "green"), ", ".join(passed), indent=2, hang=2)
        for check in view.preview.checks:
            if not check.passed:
                _show_failed(paper, check)
    if view.preview.conflicts:
        paths = list(dict.fromkeys(found.path for found in view.preview.conflicts))
        named = join_words([*paths[:_FEW], *([f"{len(paths) - _FEW:,} more"] if len(paths) > _FEW else [])])
        paper.head(f"Conflicts with {one.content.target}: {len(view.preview.conflicts):,}, in {named}")
        paper.command(f"docyard proposals conflicts {one.id}", indent=2)


def _show_failed(paper: Paper, check: CheckResult) -> None:
    count = len(check.problems) + check.more
    paper.line(StyledText("✗ ", "red"), f"{check.name}: {format_count(count, 'problem')}", indent=2, hang=2)
    for problem in check.problems[:_PROBLEMS]:
        place = f"{problem.address}, line {problem.line:,}: " if problem.address else ""
        paper.line(
            StyledText(place, "cyan"),
            f"{problem.message} ",
            StyledText(problem.rule, "dim"),
            indent=4,
            hang=2,
        )
    if count > _PROBLEMS:
        paper.line(f"… and {format_count(count - _PROBLEMS, 'more problem')}", indent=4)


def page_to_data(view: ProposalView, *, diff: bool, comments: bool) -> dict[str, Any]:
    """Return a proposal as data; `missing` are the reasons why it cannot be merged, empty if it can."""
    one = view.proposal
    record = one.merge_record
    data: dict[str, Any] = {
        **proposal_to_data(one),
        "description": one.content.description,
        "merged": {"commit": record.commit, "tip": record.tip} if record is not None else None,
        "ahead": one.is_ahead,
        "rewritten": one.is_rewritten,
        "unreadable": one.unreadable + one.content.unknown_events,
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
        "missing": [blocker_data(block) for block in view.merge_requirements.blockers],
        "unreviewed": None
        if view.merge_requirements.unreviewed is None
        else changes_to_data(view.merge_requirements.unreviewed),
        "demands": _demands(view.merge_requirements.requirements),
        "checks": [_check(check) for check in view.preview.checks],
        "conflicts": [format_conflict_name(path, conflict.unit) for path, conflict in view.preview.conflicts],
        "overlaps": [
            {"proposal": found.id, "title": found.title, "addresses": list(found.addresses)}
            for found in view.overlaps
        ],
        "reviews": [review_to_data(bound, view.merge_requirements.void_reasons) for bound in one.reviews],
    }
    if comments:
        data["threads"] = [thread_to_data(placed) for placed in view.threads]
    if diff:
        data["changes"] = changes_to_data(view.changes)
    return {**data, "commit": one.tip, "next_step": suggest_next_command(view)}


def _demands(demands: Sequence[RuleRequirement]) -> list[dict[str, Any]]:
    return [
        {
            "rule": demand.number,
            "paths": list(demand.paths),
            "approvals_needed": demand.approvals_needed,
            "approved_by": list(demand.approved_by),
            "approvers": list(demand.approvers),
            "may_merge": list(demand.may_merge),
            "checks_failed": list(demand.checks_failed),
            "met": demand.is_met,
        }
        for demand in demands
    ]


def _check(check: CheckResult) -> dict[str, Any]:
    return {
        "name": check.name,
        "passed": check.passed,
        "problems": [problem._asdict() for problem in check.problems],
        "more": check.more,
    }


def load_proposal_view(workspace: Workspace, name: str, place: str | None, folder: Path) -> ProposalView:
    """Load a proposal for its reviewer.

    Raises ProposalNotFound, and CannotError for an unchanged place.
    """
    proposal_actions, proposal_reviews = workspace.proposal_actions(), workspace.proposal_reviews()
    one = proposal_actions.find(name)
    path, slug = resolve_place(workspace, one, place, folder)
    changes = select_changes(proposal_reviews.changes(one), path, slug)
    preview = proposal_reviews.preview(one)
    return ProposalView(
        one,
        changes,
        preview,
        proposal_actions.find_merge_blockers(one, preview),
        proposal_reviews.overlaps(one, proposal_actions.list_all()),
        proposal_reviews.commits(one),
        _threads(workspace, one, (path, slug)),
    )


def _threads(workspace: Workspace, one: Proposal, at: LocationFilter) -> list[AnchoredThread]:
    proposal_reviews = workspace.proposal_reviews()
    found: list[AnchoredThread] = []
    after: int | None = 0
    while after is not None:
        page = proposal_reviews.comments(one, after=after, at=at)
        found += page.threads
        after = page.next
    return found
