"""The state of a review: conflicts, checks, verdicts, and missing merge requirements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.errors import escape_invisible
from tools.proposals.comments import select_fitting
from tools.proposals.conflicts import conflicts_data
from tools.proposals.descriptions import author_data, format_time, shorten_text
from tools.tool import call
from tools.write_target import list_names
from workspace.proposals.approvals import find_void_reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import Context, Data
    from workspace.proposals.actions.merge_gate import Demand, MergeBlocker
    from workspace.proposals.approvals import Void
    from workspace.proposals.proposal import BoundReview, Proposal
    from workspace.proposals.review.changes import CommitChanges
    from workspace.proposals.review.checks import CheckResult

_MOST_REVIEWS = 20
_MOST_PROBLEMS = 20
_CONFLICTS_ROOM = 15_000
_REVIEWS_ROOM = 6_000  # bytes
_UNREVIEWED_LENGTH = 6_000  # characters


def review_state(context: Context, proposal: Proposal) -> Data:
    """Return what a merge would do now and what blocks it; only the verdicts if the proposal has ended."""
    data: Data = {}
    void: Mapping[str, Void] = {}
    if proposal.is_open:
        # Imported here because most answers say nothing of a policy.
        from workspace.proposals.actions.merge_gate import find_merge_obstacle

        workspace = context.workspace
        preview = workspace.reviewing().preview(proposal)
        data |= {"behind": preview.behind, "checks": [_check(check) for check in preview.checks]}
        target = preview.merge.ours.commit if preview.merge is not None else None
        data["target_commit"] = target
        found = workspace.reviewing().conflicts(proposal, target) if preview.conflicts else ()
        data |= conflicts_data(found, _CONFLICTS_ROOM)
        lacking = workspace.proposing().lacking(proposal, preview)
        blocks = [*lacking.blocks]
        void = lacking.void
        if lacking.judgement is not None:
            data["demands"] = [_demand(demand) for demand in lacking.demands]
            last = find_merge_obstacle(lacking.judgement, context.person)
            if last is not None and last not in blocks:
                blocks.append(last)
        data["missing"] = [block_data(block) for block in blocks]
        if lacking.unreviewed is not None:
            data["unreviewed"] = _changes_data(lacking.unreviewed)
    last_first = (
        review_data(bound, void, proposal.id) for bound in proposal.reviews[: -_MOST_REVIEWS - 1 : -1]
    )
    data["reviews"] = select_fitting(last_first, _REVIEWS_ROOM)[::-1]
    if len(proposal.reviews) > len(data["reviews"]):
        data["reviews_total"] = len(proposal.reviews)
        data["reviews_rest"] = str(call("view_proposal", proposal=proposal.id, reviews=True))
    return data


def block_data(block: MergeBlocker) -> Data:
    """Return why a proposal cannot be merged: a code, words, and `only_clients` where it stops only these."""
    only = {"only_clients": True} if block.only_clients else {}
    return {"code": block.code, "message": escape_invisible(block.message), **only}


def _changes_data(changes: CommitChanges) -> Data:
    from workspace.diff.formats import format_data

    return {**format_data(changes.documents, _UNREVIEWED_LENGTH), "files": list_names(changes.files)}


def _demand(demand: Demand) -> Data:
    return {
        "rule": demand.number,
        "paths": list_names(demand.paths),
        "approvals_needed": demand.approvals_needed,
        "approved_by": list_names(demand.approved_by),
        "approvers": list_names(demand.approvers),
        "may_merge": list_names(demand.may_merge),
        "checks_failed": list(demand.checks_failed),
        "met": demand.is_met,
    }


def _check(check: CheckResult) -> Data:
    shown = check.problems[:_MOST_PROBLEMS]
    data: Data = {
        "name": check.name,
        "passed": check.passed,
        "problems": [
            {
                "rule": problem.rule,
                "address": escape_invisible(problem.address),
                "line": problem.line,
                "message": escape_invisible(problem.message),
            }
            for problem in shown
        ],
    }
    more = check.more + len(check.problems) - len(shown)
    return data | ({"more": more} if more else {})


def review_data(bound: BoundReview, void_by: Mapping[str, Void], proposal: str) -> Data:
    """Return a verdict: whether it holds, and why not."""
    review, void = bound.review, find_void_reason(bound, void_by)
    return {
        "review": review.id,
        "verdict": review.verdict.value,
        "author": author_data(review.author),
        "time": format_time(review.time),
        "commit": review.commit,
        **shorten_text(review.text, proposal, review.id),
        "holds": void is None,
        **({"void": void.value} if void is not None else {}),
    }


def void_of(context: Context, proposal: Proposal) -> Mapping[str, Void]:
    """Return why approvals do not count, by the ids of their events; nothing where the proposal has ended."""
    if not proposal.is_open:
        return {}
    workspace = context.workspace
    return workspace.proposing().lacking(proposal, workspace.reviewing().preview(proposal)).void
