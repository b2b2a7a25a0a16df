"""Actions of another process between two reads of one call: results never mix old and new state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.workspace.proposals.actions.scene import AGENT, Scene
from workspace.proposals.actions import merge
from workspace.proposals.actions.actions import ProposalActions
from workspace.proposals.actions.repository import ProposalRepository
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Refreshed
from workspace.proposals.proposal import Proposal, ProposalState
from workspace.revisions import list_open_proposals
from workspace.workspace import Workspace


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "repo")


def after(patch: pytest.MonkeyPatch, owner: Any, name: str, act: Callable[[], object]) -> None:
    """Run an action once, right after the first call of a function."""
    real, waiting = getattr(owner, name), [act]

    def called(*given: Any, **named: Any) -> object:
        found = real(*given, **named)
        while waiting:
            waiting.pop()()
        return found

    patch.setattr(owner, name, called)


def elsewhere(scene: Scene) -> ProposalActions:
    """Return the proposals as another process reads them."""
    return Workspace.open(scene.repo.path, durable=False).proposal_actions()


def one(scene: Scene, proposal: Proposal) -> ProposalState:
    return scene.proposal_actions.find(proposal.id).state


def listed(scene: Scene, proposal: Proposal) -> ProposalState:
    return scene.proposal_actions.list_all()[0].state


def submitted(scene: Scene, proposal: Proposal) -> ProposalState:
    return scene.proposal_actions.submit(proposal.id, AGENT).proposal.state


@pytest.mark.parametrize("look", [one, listed, submitted])
def test_proposal_fast_forwarded_during_read_is_not_merged(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, look: Callable[[Scene, Proposal], ProposalState]
) -> None:
    """The events are read before the fast-forward is recorded, and the branch after it was moved."""
    proposal, others = scene.open(), elsewhere(scene)
    scene.write("One.")
    after(monkeypatch, EventLog, "_open_discussion", lambda: others.refresh(proposal.id, AGENT))
    assert look(scene, proposal) is (ProposalState.OPEN if look is submitted else ProposalState.DRAFT)
    assert others.find(proposal.id).tip == scene.repo.head()


def test_proposal_fast_forwarded_during_read_is_listed_as_open(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal, others = scene.open(), elsewhere(scene)
    scene.write("One.")
    after(monkeypatch, EventLog, "_open_discussion", lambda: others.refresh(proposal.id, AGENT))
    assert list_open_proposals(scene.workspace.git) == (proposal.id,)


@pytest.mark.parametrize(
    ("owner", "name"),
    [(ProposalRepository, "find"), (merge, "resolve_target_tip")],
    ids=["found", "compared"],
)
def test_merge_by_another_process_is_returned_as_earlier_merge(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    proposal, others = scene.proposed(), elsewhere(scene)
    merges: list[str | None] = []

    def act() -> None:
        merges.append(others.merge(proposal.id, AGENT).commit)
        scene.repo.commit({"notes.md": "# Notes\n\nLater.\n"})

    after(monkeypatch, owner, name, act)
    acted = scene.proposal_actions.merge(proposal.id, AGENT)
    assert (acted.proposal.state, acted.commit, acted.is_new) == (ProposalState.MERGED, merges[0], False)


@pytest.mark.parametrize("written", [True, False], ids=["merged", "forward"])
def test_parallel_refreshes_append_one_event(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    proposal, others = scene.proposed() if written else scene.open(), elsewhere(scene)
    scene.write("One.")
    after(monkeypatch, ProposalRepository, "find", lambda: others.refresh(proposal.id, AGENT))
    acted = scene.proposal_actions.refresh(proposal.id, AGENT)
    assert (acted.proposal, acted.commit, acted.is_new) == (others.find(proposal.id), None, False)
    assert sum(isinstance(event.body, Refreshed) for event in others.list_events(proposal)) == 1


def test_parallel_refreshes_with_one_key_use_first_commit(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two calls with one key run at once, and the target moves in between."""
    proposal = scene.open()
    commit = scene.write("One.").commit
    assert commit is not None
    others = ProposalRepository(Workspace.open(scene.repo.path, durable=False))

    def act() -> None:
        others.append(proposal.id, [Refreshed(commit, commit)], AGENT, "K")
        scene.write("Two.")

    after(monkeypatch, ProposalRepository, "find_earlier_events", act)
    acted = scene.proposal_actions.refresh(proposal.id, AGENT, key="K")
    assert (acted.proposal.state, acted.proposal.tip, acted.commit) == (ProposalState.DRAFT, commit, commit)


def test_proposal_fast_forwarded_twice_at_once_is_not_merged(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call appends the last event, and the other moves the branch first."""
    proposal = scene.open()
    before = scene.write("One.").commit
    assert before is not None
    scene.write("Two.")
    others = ProposalRepository(Workspace.open(scene.repo.path, durable=False))
    after(
        monkeypatch,
        ProposalRepository,
        "append",
        lambda: others.append(proposal.id, [Refreshed(before, before)], AGENT),
    )
    acted = scene.proposal_actions.refresh(proposal.id, AGENT)
    assert (acted.proposal.state, acted.proposal.tip) == (ProposalState.DRAFT, scene.repo.head())
    scene.append(proposal.id, "More.")
    assert scene.proposal_actions.merge(proposal.id, AGENT).proposal.state is ProposalState.MERGED


def test_parallel_fast_forwards_to_one_commit_both_succeed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal, others = scene.open(), elsewhere(scene)
    scene.write("One.")
    after(monkeypatch, ProposalRepository, "append", lambda: others.refresh(proposal.id, AGENT))
    acted = scene.proposal_actions.refresh(proposal.id, AGENT)
    assert (acted.proposal.tip, acted.commit) == (scene.repo.head(), scene.repo.head())
