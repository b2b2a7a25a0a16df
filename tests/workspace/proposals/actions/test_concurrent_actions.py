"""If another process acts between two reads of one call, the result does not mix old and new state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, ProposalSetup
from workspace.proposals.actions import merge
from workspace.proposals.actions.actions import ProposalActions
from workspace.proposals.actions.repository import ProposalRepository
from workspace.proposals.event_log import EventLog
from workspace.proposals.events import Refreshed
from workspace.proposals.proposal import Proposal, ProposalState
from workspace.revisions import list_open_proposals
from workspace.workspace import Workspace


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo")


def run_after_first_call(
    patch: pytest.MonkeyPatch, owner: Any, name: str, action: Callable[[], object]
) -> None:
    """Run an action once, right after the first call of a function."""
    function, pending_actions = getattr(owner, name), [action]

    def call_and_act(*arguments: Any, **options: Any) -> object:
        result = function(*arguments, **options)
        while pending_actions:
            pending_actions.pop()()
        return result

    patch.setattr(owner, name, call_and_act)


def open_elsewhere(setup: ProposalSetup) -> ProposalActions:
    """Open the repository as another process would, and return its actions on proposals."""
    return Workspace.open(setup.repo.path, durable=False).proposal_actions()


def find_state(setup: ProposalSetup, proposal: Proposal) -> ProposalState:
    return setup.proposal_actions.find(proposal.id).state


def list_state(setup: ProposalSetup, proposal: Proposal) -> ProposalState:
    return setup.proposal_actions.list_all()[0].state


def edit_and_read_state(setup: ProposalSetup, proposal: Proposal) -> ProposalState:
    return setup.proposal_actions.edit(proposal.id, AGENT_ACTOR, title="Other").proposal.state


@pytest.mark.parametrize("read_state", [find_state, list_state, edit_and_read_state])
def test_proposal_fast_forwarded_during_read_is_not_merged(
    setup: ProposalSetup,
    monkeypatch: pytest.MonkeyPatch,
    read_state: Callable[[ProposalSetup, Proposal], ProposalState],
) -> None:
    """The events are read before the fast-forward, and the branch is read after the fast-forward."""
    proposal, other_actions = setup.open(), open_elsewhere(setup)
    setup.write("One.")
    run_after_first_call(
        monkeypatch, EventLog, "_open_discussion", lambda: other_actions.refresh(proposal.id, AGENT_ACTOR)
    )
    assert read_state(setup, proposal) is ProposalState.DRAFT
    assert other_actions.find(proposal.id).tip == setup.repo.head()


def test_proposal_fast_forwarded_during_read_is_listed_as_open(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal, other_actions = setup.open(), open_elsewhere(setup)
    setup.write("One.")
    run_after_first_call(
        monkeypatch, EventLog, "_open_discussion", lambda: other_actions.refresh(proposal.id, AGENT_ACTOR)
    )
    assert list_open_proposals(setup.workspace.git) == (proposal.id,)


@pytest.mark.parametrize(
    ("owner", "name"),
    [(ProposalRepository, "find"), (merge, "resolve_target_tip")],
    ids=["after the lookup", "after the target is resolved"],
)
def test_merge_by_another_process_is_returned_as_earlier_merge(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    proposal, other_actions = setup.submit_proposal(), open_elsewhere(setup)
    merges: list[str | None] = []

    def merge_elsewhere() -> None:
        merges.append(other_actions.merge(proposal.id, AGENT_ACTOR).commit)
        setup.repo.commit({"notes.md": "# Notes\n\nLater.\n"})

    run_after_first_call(monkeypatch, owner, name, merge_elsewhere)
    action_result = setup.proposal_actions.merge(proposal.id, AGENT_ACTOR)
    assert (action_result.proposal.state, action_result.commit, action_result.is_new) == (
        ProposalState.MERGED,
        merges[0],
        False,
    )


@pytest.mark.parametrize("has_commit", [True, False], ids=["merge", "fast-forward"])
def test_parallel_refreshes_append_one_event(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch, has_commit: bool
) -> None:
    proposal, other_actions = setup.submit_proposal() if has_commit else setup.open(), open_elsewhere(setup)
    setup.write("One.")
    run_after_first_call(
        monkeypatch, ProposalRepository, "find", lambda: other_actions.refresh(proposal.id, AGENT_ACTOR)
    )
    action_result = setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
    assert (action_result.proposal, action_result.commit, action_result.is_new) == (
        other_actions.find(proposal.id),
        None,
        False,
    )
    assert sum(isinstance(event.body, Refreshed) for event in other_actions.list_events(proposal)) == 1


def test_parallel_refreshes_with_one_key_use_first_commit(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two calls with one key run at once, and the target moves in between."""
    proposal = setup.open()
    commit = setup.write("One.").commit
    assert commit is not None
    other_repository = ProposalRepository(Workspace.open(setup.repo.path, durable=False))

    def refresh_elsewhere() -> None:
        other_repository.append(proposal.id, [Refreshed(commit, commit)], AGENT_ACTOR, "K")
        setup.write("Two.")

    run_after_first_call(monkeypatch, ProposalRepository, "find_earlier_events", refresh_elsewhere)
    action_result = setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR, key="K")
    assert (action_result.proposal.state, action_result.proposal.tip, action_result.commit) == (
        ProposalState.DRAFT,
        commit,
        commit,
    )


def test_proposal_fast_forwarded_twice_at_once_is_not_merged(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One call appends the last event, and the other moves the branch first."""
    proposal = setup.open()
    first_commit = setup.write("One.").commit
    assert first_commit is not None
    setup.write("Two.")
    other_repository = ProposalRepository(Workspace.open(setup.repo.path, durable=False))
    run_after_first_call(
        monkeypatch,
        ProposalRepository,
        "append",
        lambda: other_repository.append(proposal.id, [Refreshed(first_commit, first_commit)], AGENT_ACTOR),
    )
    action_result = setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
    assert (action_result.proposal.state, action_result.proposal.tip) == (
        ProposalState.DRAFT,
        setup.repo.head(),
    )
    setup.append(proposal.id, "More.")
    assert setup.proposal_actions.merge(proposal.id, AGENT_ACTOR).proposal.state is ProposalState.MERGED


def test_parallel_fast_forwards_to_one_commit_both_succeed(
    setup: ProposalSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal, other_actions = setup.open(), open_elsewhere(setup)
    setup.write("One.")
    run_after_first_call(
        monkeypatch, ProposalRepository, "append", lambda: other_actions.refresh(proposal.id, AGENT_ACTOR)
    )
    action_result = setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
    assert (action_result.proposal.tip, action_result.commit) == (setup.repo.head(), setup.repo.head())
