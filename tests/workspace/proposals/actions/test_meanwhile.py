"""What another process does between two looks of one call: no answer mixes what was with what is."""

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
    """Has something done once, right after a function has answered for the first time."""
    real, waiting = getattr(owner, name), [act]

    def called(*given: Any, **named: Any) -> object:
        found = real(*given, **named)
        while waiting:
            waiting.pop()()
        return found

    patch.setattr(owner, name, called)


def elsewhere(scene: Scene) -> ProposalActions:
    """The proposals as another process has them."""
    return Workspace.open(scene.repo.path, durable=False).proposing()


def one(scene: Scene, proposal: Proposal) -> ProposalState:
    return scene.proposing.find(proposal.id).state


def listed(scene: Scene, proposal: Proposal) -> ProposalState:
    return scene.proposing.list_all()[0].state


def submitted(scene: Scene, proposal: Proposal) -> ProposalState:
    return scene.proposing.submit(proposal.id, AGENT).proposal.state


@pytest.mark.parametrize("look", [one, listed, submitted])
def test_a_proposal_that_goes_forward_is_not_taken_for_a_merged_one(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, look: Callable[[Scene, Proposal], ProposalState]
) -> None:
    """Its words were read before it is said that it goes forward, and its branch after it went."""
    proposal, others = scene.open(), elsewhere(scene)
    scene.write("One.")
    after(monkeypatch, EventLog, "_said_at", lambda: others.refresh(proposal.id, AGENT))
    assert look(scene, proposal) is (ProposalState.OPEN if look is submitted else ProposalState.DRAFT)
    assert others.find(proposal.id).tip == scene.repo.head()


def test_it_is_not_left_out_of_the_open_ones_either(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal, others = scene.open(), elsewhere(scene)
    scene.write("One.")
    after(monkeypatch, EventLog, "_said_at", lambda: others.refresh(proposal.id, AGENT))
    assert list_open_proposals(scene.workspace.git) == (proposal.id,)


@pytest.mark.parametrize(
    ("owner", "name"),
    [(ProposalRepository, "find"), (merge, "resolve_target_tip")],
    ids=["looked", "compared"],
)
def test_what_another_has_merged_meanwhile_is_merged_already(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    proposal, others = scene.proposed(), elsewhere(scene)
    merges: list[str | None] = []

    def act() -> None:
        merges.append(others.merge(proposal.id, AGENT).commit)
        scene.repo.commit({"notes.md": "# Notes\n\nLater.\n"})

    after(monkeypatch, owner, name, act)
    acted = scene.proposing.merge(proposal.id, AGENT)
    assert (acted.proposal.state, acted.commit, acted.is_new) == (ProposalState.MERGED, merges[0], False)


@pytest.mark.parametrize("written", [True, False], ids=["merged", "forward"])
def test_a_refresh_that_another_has_made_meanwhile_is_seen_and_said_once(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    proposal, others = scene.proposed() if written else scene.open(), elsewhere(scene)
    scene.write("One.")
    after(monkeypatch, ProposalRepository, "find", lambda: others.refresh(proposal.id, AGENT))
    acted = scene.proposing.refresh(proposal.id, AGENT)
    assert (acted.proposal, acted.commit, acted.is_new) == (others.find(proposal.id), None, False)
    assert sum(isinstance(event.body, Refreshed) for event in others.list_events(proposal)) == 1


def test_a_proposal_goes_forward_to_what_was_said_with_the_same_key(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same call is on its way twice, and the target moves in between."""
    proposal = scene.open()
    said = scene.write("One.").commit
    assert said is not None
    others = ProposalRepository(Workspace.open(scene.repo.path, durable=False))

    def act() -> None:
        others.append(proposal.id, [Refreshed(said, said)], AGENT, "K")
        scene.write("Two.")

    after(monkeypatch, ProposalRepository, "find_earlier", act)
    acted = scene.proposing.refresh(proposal.id, AGENT, request="K")
    assert (acted.proposal.state, acted.proposal.tip, acted.commit) == (ProposalState.DRAFT, said, said)


def test_a_proposal_that_two_bring_forward_at_once_is_not_taken_for_a_merged_one(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One says last where it goes, and the other is the first to bring it there."""
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
    acted = scene.proposing.refresh(proposal.id, AGENT)
    assert (acted.proposal.state, acted.proposal.tip) == (ProposalState.DRAFT, scene.repo.head())
    scene.append(proposal.id, "More.")
    assert scene.proposing.merge(proposal.id, AGENT).proposal.state is ProposalState.MERGED


def test_two_that_bring_a_proposal_to_the_same_commit_have_both_done_so(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal, others = scene.open(), elsewhere(scene)
    scene.write("One.")
    after(monkeypatch, ProposalRepository, "append", lambda: others.refresh(proposal.id, AGENT))
    acted = scene.proposing.refresh(proposal.id, AGENT)
    assert (acted.proposal.tip, acted.commit) == (scene.repo.head(), scene.repo.head())
