"""A proposal as data, for programs: all that its page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docyard.cli.proposals.changes import changes_data
from docyard.cli.proposals.comments import review_data, thread_data
from docyard.cli.proposals.conflicts import conflict_name
from docyard.cli.proposals.list import listed
from docyard.cli.proposals.next_steps import next_of
from tools.proposals.descriptions import date
from tools.proposals.review_state import block_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docyard.cli.proposals.view import View
    from workspace.proposals.actions.merge_gate import Demand
    from workspace.proposals.review import CheckResult


def page_data(view: View, *, diff: bool, comments: bool) -> dict[str, Any]:
    """What is known of a proposal; `missing` are the reasons why it cannot be merged, none if it can."""
    one = view.proposal
    landing = one.landing
    data: dict[str, Any] = {
        **listed(one),
        "description": one.words.description,
        "merged": {"commit": landing.commit, "tip": landing.tip} if landing is not None else None,
        "ahead": one.is_ahead,
        "rewritten": one.is_rewritten,
        "unreadable": one.unreadable + one.words.unknown,
        "behind": view.preview.behind,
        "commits": [
            {
                "commit": told.commit,
                "subject": told.subject,
                "author": told.author_name,
                "time": date(told.time),
                "client": told.client,
            }
            for told, _ in view.commits
        ],
        "missing": [block_data(block) for block in view.lacking.blocks],
        "unreviewed": None if view.lacking.unreviewed is None else changes_data(view.lacking.unreviewed),
        "demands": _demands(view.lacking.demands),
        "checks": [_check(check) for check in view.preview.checks],
        "conflicts": [conflict_name(path, conflict.unit) for path, conflict in view.preview.conflicts],
        "overlaps": [
            {"proposal": found.id, "title": found.title, "addresses": list(found.addresses)}
            for found in view.overlaps
        ],
        "reviews": [review_data(bound, view.lacking.void) for bound in one.reviews],
    }
    if comments:
        data["threads"] = [thread_data(placed) for placed in view.threads]
    if diff:
        data["changes"] = changes_data(view.changes)
    return {**data, "commit": one.tip, "next_step": next_of(view)}


def _demands(demands: Sequence[Demand]) -> list[dict[str, Any]]:
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
