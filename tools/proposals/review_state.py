"""The state of a review: conflicts, checks, verdicts, and missing merge requirements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.proposals.comments import select_fitting_entries
from tools.proposals.conflicts import describe_conflicts
from tools.proposals.descriptions import (
    build_comment_call,
    describe_author,
    format_time,
    shorten_comment_text,
)
from tools.tool import call
from tools.write_target import list_names
from workspace.escapes import escape_invisible
from workspace.proposals.approvals import find_void_reason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import Context, Data
    from workspace.proposals.actions.merge_gate import MergeBlocker, RuleRequirement
    from workspace.proposals.actions.repository import ActionResult
    from workspace.proposals.approvals import VoidReason
    from workspace.proposals.proposal import Proposal, ReviewStatus
    from workspace.proposals.review.changes import CommitChanges
    from workspace.proposals.review.checks import CheckResult
    from workspace.workspace import Workspace

_MAX_REVIEWS = 20
_MAX_PROBLEMS = 20
_MAX_CONFLICT_CHARACTERS = 15_000
_MAX_REVIEWS_BYTES = 6_000
_MAX_UNREVIEWED_CHARACTERS = 6_000


def describe_review_state(context: Context, proposal: Proposal) -> Data:
    """Return the preview of a merge, its blockers, and the reviews; only the reviews of an ended proposal."""
    data: Data = {}
    void_reasons: Mapping[str, VoidReason] = {}
    if proposal.is_open:
        # Imported here because most answers do not need the policy.
        from workspace.proposals.actions.merge_gate import find_blocker_for_actor

        workspace = context.workspace
        preview = workspace.proposal_reviews().preview(proposal)
        data |= {"behind": preview.behind, "checks": [_describe_check(check) for check in preview.checks]}
        target = preview.merge.ours.commit if preview.merge is not None else None
        data["target_commit"] = target
        conflicts = workspace.proposal_reviews().conflicts(proposal, target) if preview.conflicts else ()
        data |= describe_conflicts(conflicts, _MAX_CONFLICT_CHARACTERS)
        requirements = workspace.proposal_actions().find_merge_requirements(proposal, preview)
        all_blockers = [*requirements.blockers]
        void_reasons = requirements.void_reasons
        if requirements.evaluation is not None:
            data["demands"] = [
                _describe_requirement(requirement) for requirement in requirements.requirements
            ]
            actor_blocker = find_blocker_for_actor(
                requirements.evaluation, context.person, may_review=context.may_review
            )
            if actor_blocker is not None and actor_blocker not in all_blockers:
                all_blockers.append(actor_blocker)
        data["missing"] = [describe_blocker(blocker) for blocker in all_blockers]
        if requirements.unreviewed_changes is not None:
            data["unreviewed"] = _describe_changes(requirements.unreviewed_changes)
    newest_reviews = (
        describe_review(review_status, void_reasons, proposal.id)
        for review_status in proposal.reviews[: -_MAX_REVIEWS - 1 : -1]
    )
    data["reviews"] = select_fitting_entries(newest_reviews, _MAX_REVIEWS_BYTES)[::-1]
    if len(proposal.reviews) > len(data["reviews"]):
        data["reviews_total"] = len(proposal.reviews)
        data["reviews_rest"] = str(call("view_proposal", proposal=proposal.id, reviews=True))
    return data


def describe_next_actor(proposal: Proposal, data: Data) -> Data:
    """Return who acts next on a proposal, and the names of those who have reviewed it.

    `next_actor` is "author", "reviewer", "merger" (a person who may merge), or "nobody" if it has ended.
    `data` has the review state.
    """
    names = (status.review.author.name or status.review.author.email for status in proposal.reviews)
    reviewers = dict.fromkeys(map(escape_invisible, names))
    return {"next_actor": _find_next_actor(proposal, data), "reviewed_by": list(reviewers)}


def _find_next_actor(proposal: Proposal, data: Data) -> str:
    if not proposal.is_open:
        return "nobody"
    codes = {blocker["code"] for blocker in data["missing"]}
    has_author_work = bool(codes & {"NOTHING_PROPOSED", "NEEDS_REFRESH"} or data.get("conflicts"))
    if has_author_work or proposal.state.value in ("draft", "changes_requested"):
        return "author"
    demands = data.get("demands", ())
    if demands:
        return "merger" if all(requirement["met"] for requirement in demands) else "reviewer"
    has_approval = any(review["holds"] and review["verdict"] == "approve" for review in data["reviews"])
    return "merger" if has_approval else "reviewer"


def describe_blocker(blocker: MergeBlocker) -> Data:
    """Return a blocker of a merge: a code, a message, and `only_clients` if it does not block persons."""
    clients_field = {"only_clients": True} if blocker.only_clients else {}
    return {"code": blocker.code, "message": escape_invisible(blocker.message), **clients_field}


def _describe_changes(changes: CommitChanges) -> Data:
    from workspace.diff.formats import format_data

    return {**format_data(changes.documents, _MAX_UNREVIEWED_CHARACTERS), "files": list_names(changes.files)}


def _describe_requirement(requirement: RuleRequirement) -> Data:
    return {
        "rule": requirement.number,
        "paths": list_names(requirement.paths),
        "approvals_needed": requirement.approvals_needed,
        "approved_by": list_names(requirement.approved_by),
        "approvers": list_names(requirement.approvers),
        "may_merge": list_names(requirement.may_merge),
        "checks_failed": list(requirement.checks_failed),
        "met": requirement.is_met,
    }


def _describe_check(check: CheckResult) -> Data:
    problems = check.problems[:_MAX_PROBLEMS]
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
            for problem in problems
        ],
    }
    omitted_count = check.omitted_count + len(check.problems) - len(problems)
    return data | ({"more": omitted_count} if omitted_count else {})


def describe_review(
    review_status: ReviewStatus, void_reasons: Mapping[str, VoidReason], proposal: str
) -> Data:
    """Return a review: its verdict, and the reason if it is void."""
    review, void_reason = review_status.review, find_void_reason(review_status, void_reasons)
    return {
        "review": review.id,
        "verdict": review.verdict.value,
        "author": describe_author(review.author),
        "time": format_time(review.time),
        "commit": review.commit,
        **shorten_comment_text(review.text, build_comment_call(proposal, review.id)),
        "holds": void_reason is None,
        **({"void": void_reason.value} if void_reason is not None else {}),
    }


def explain_missing_approvals(workspace: Workspace, result: ActionResult) -> list[str]:
    """Return why an open proposal is not approved by the approval of `result`; empty if it is approved.

    The text states whether the approval counts.
    """
    # Imported here because most answers do not need the policy.
    from workspace.proposals.actions.merge_gate import NEEDS_APPROVAL
    from workspace.proposals.proposal import ProposalState

    proposal = result.proposal
    if proposal.state is not ProposalState.OPEN:
        return []
    requirements = workspace.proposal_actions().find_merge_requirements(
        proposal, workspace.proposal_reviews().preview(proposal)
    )
    messages = [blocker.message for blocker in requirements.blockers if blocker.code == NEEDS_APPROVAL]
    counts = not any(event_id in requirements.void_reasons for event_id in result.event_ids)
    beginning = "more approvals are needed" if counts else "the approval is recorded, but it does not count"
    return [escape_invisible(f"{beginning}: {'; '.join(messages)}")] if messages else []


def find_void_approvals(context: Context, proposal: Proposal) -> Mapping[str, VoidReason]:
    """Return the reasons of void approvals by event id; empty for an ended proposal."""
    if not proposal.is_open:
        return {}
    workspace = context.workspace
    return (
        workspace.proposal_actions()
        .find_merge_requirements(proposal, workspace.proposal_reviews().preview(proposal))
        .void_reasons
    )
