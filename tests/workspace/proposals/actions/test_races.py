"""What happens between the judgement on a merge and its commit: it is judged again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workspace.proposals.actions.scene import AGENT, RULE, Scene
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.discuss import NeedsPerson
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.merge_gate import evaluate_merge as judge
from workspace.proposals.events import ReviewDecision
from workspace.proposals.proposal import Proposal
from workspace.workspace import Workspace

API = "specs/api.md"


def meanwhile(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Has something done once, right after the first judgement."""
    waiting = [act]

    def judged(*given: object) -> object:
        found = judge(*given)  # type: ignore[arg-type]
        while waiting:
            waiting.pop()()
        return found

    monkeypatch.setattr("workspace.proposals.actions.merge.evaluate_merge", judged)


def edited(scene: Scene, proposal: Proposal) -> None:
    scene.append(proposal.id, "Unseen.", API, "calls")


def asked_for_changes(scene: Scene, proposal: Proposal) -> None:
    scene.proposing.review(proposal.id, scene.person(), ReviewDecision.REQUEST_CHANGES, "No, after all.")


def revoked(scene: Scene, proposal: Proposal) -> None:
    Tokens(scene.workspace.git.common_dir).revoke("bea")


def merger_revoked(scene: Scene, proposal: Proposal) -> None:
    Tokens(scene.workspace.git.common_dir).revoke("cyd")


def more_is_asked_for(scene: Scene, proposal: Proposal) -> None:
    scene.repo.commit({"docyard.toml": RULE.replace("approvals = 1", "approvals = 2")}, "By a person")


@pytest.mark.parametrize("act", [edited, asked_for_changes, revoked, merger_revoked, more_is_asked_for])
def test_what_was_judged_holds_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[Scene, Proposal], None]
) -> None:
    """Bea has approved, and Cyd merges."""
    scene = Scene(tmp_path / "repo", RULE)
    proposal, cyd = scene.approve(scene.proposed("More.", API, "calls")), scene.person("cyd")
    proposing = scene.proposing
    scene.workspace = Workspace.open(scene.repo.path, durable=False)  # another process's
    meanwhile(monkeypatch, lambda: act(scene, proposal))
    with pytest.raises(NeedsPerson if act is merger_revoked else MergeBlocked):
        proposing.merge(proposal.id, cyd)
    assert "More." not in scene.show(API)


def test_a_rule_that_comes_while_an_agent_merges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = Scene(tmp_path / "repo")
    proposal = scene.proposed("More.", API, "calls")
    meanwhile(monkeypatch, lambda: scene.repo.commit({"docyard.toml": RULE}, "By a person"))
    with pytest.raises(MergeBlocked):
        scene.proposing.merge(proposal.id, AGENT)
    assert "More." not in scene.show(API)
