"""A merge is evaluated again if anything changes between its evaluation and its commit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, RULE, ProposalSetup
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.merge_gate import evaluate_merge
from workspace.proposals.approvals import NeedsPerson
from workspace.proposals.events import ReviewDecision
from workspace.proposals.proposal import Proposal
from workspace.workspace import Workspace

API_PATH = "specs/api.md"


def run_after_first_evaluation(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Run an action once, right after the first evaluation."""
    pending_actions = [action]

    def evaluate_then_act(*arguments: object) -> object:
        evaluation = evaluate_merge(*arguments)  # type: ignore[arg-type]
        while pending_actions:
            pending_actions.pop()()
        return evaluation

    monkeypatch.setattr("workspace.proposals.actions.merge.evaluate_merge", evaluate_then_act)


def edit_proposal(setup: ProposalSetup, proposal: Proposal) -> None:
    setup.append(proposal.id, "Unseen.", API_PATH, "calls")


def request_changes(setup: ProposalSetup, proposal: Proposal) -> None:
    setup.proposal_actions.review(
        proposal.id, setup.person(), ReviewDecision.REQUEST_CHANGES, "No, after all."
    )


def revoke_approver(setup: ProposalSetup, proposal: Proposal) -> None:
    Tokens(setup.workspace.git.common_dir).revoke("bea")


def revoke_merger(setup: ProposalSetup, proposal: Proposal) -> None:
    Tokens(setup.workspace.git.common_dir).revoke("cyd")


def require_more_approvals(setup: ProposalSetup, proposal: Proposal) -> None:
    setup.repo.commit({"docyard.toml": RULE.replace("approvals = 1", "approvals = 2")}, "By a person")


@pytest.mark.parametrize(
    "action", [edit_proposal, request_changes, revoke_approver, revoke_merger, require_more_approvals]
)
def test_change_after_evaluation_blocks_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: Callable[[ProposalSetup, Proposal], None]
) -> None:
    """Bea approved the proposal, and Cyd merges it."""
    setup = ProposalSetup(tmp_path / "repo", RULE)
    proposal, cyd = setup.approve(setup.submit_proposal("More.", API_PATH, "calls")), setup.person("cyd")
    proposal_actions = setup.proposal_actions
    setup.workspace = Workspace.open(setup.repo.path, durable=False)  # as another process opens it
    run_after_first_evaluation(monkeypatch, lambda: action(setup, proposal))
    with pytest.raises(NeedsPerson if action is revoke_merger else MergeBlocked):
        proposal_actions.merge(proposal.id, cyd)
    assert "More." not in setup.show(API_PATH)


def test_rule_added_during_merge_blocks_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    setup = ProposalSetup(tmp_path / "repo")
    proposal = setup.submit_proposal("More.", API_PATH, "calls")
    run_after_first_evaluation(monkeypatch, lambda: setup.repo.commit({"docyard.toml": RULE}, "By a person"))
    with pytest.raises(MergeBlocked):
        setup.proposal_actions.merge(proposal.id, AGENT_ACTOR)
    assert "More." not in setup.show(API_PATH)
