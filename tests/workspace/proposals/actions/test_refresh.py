"""Refreshes: the merged commits, the commits to which resolutions apply, and the results of retries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, ProposalSetup
from workspace.edits.text import UpdateContent
from workspace.merge.commits import MergeConflict
from workspace.merge.conflict import Resolution, ResolutionChoice
from workspace.merge.trees import Resolutions
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.refresh import ConflictChanged, RefreshResolutions
from workspace.proposals.events import Refreshed, ReviewDecision
from workspace.proposals.proposal import Proposal, ProposalState
from workspace.workspace import Workspace
from workspace.writing.idempotency import KeyReused
from workspace.writing.plan import BatchMode


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo")


def update_section(workspace: Workspace, text: str, slug: str = "use") -> None:
    operation = UpdateContent(file="guide.md", slug=slug, content=text)
    base = workspace.tip()
    workspace.write(
        [operation], mode=BatchMode.ALL, tool="edit_document", client="an agent", base_commit=base
    )


def propose_with_conflict(setup: ProposalSetup) -> tuple[Proposal, MergeConflict]:
    """Create a proposal in conflict with its target, and return the proposal and the conflict."""
    proposal = setup.open()
    update_section(setup.proposal_actions.open_branch(proposal.id), "Ours.\n")
    update_section(setup.workspace, "Theirs.\n")
    with pytest.raises(MergeConflict) as error_info:
        setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
    return setup.proposal_actions.find(proposal.id), error_info.value


def build_resolutions(
    conflict_error: MergeConflict, choice: ResolutionChoice = ResolutionChoice.OURS, digest: str = "a" * 64
) -> RefreshResolutions:
    content = b"Both.\n" if choice is ResolutionChoice.CONTENT else None
    resolutions: Resolutions = {
        conflict.path: {conflict.conflict.unit: Resolution(choice, content)}
        for conflict in conflict_error.conflicts
    }
    return RefreshResolutions(lambda _: resolutions, conflict_error.tip, conflict_error.theirs, digest)


@pytest.mark.parametrize("choice", list(ResolutionChoice))
def test_resolution_does_not_drop_later_target_text(setup: ProposalSetup, choice: ResolutionChoice) -> None:
    """The target commit of the resolved conflict is merged; later text is a conflict of the next refresh."""
    proposal, conflict_error = propose_with_conflict(setup)
    update_section(setup.workspace, "Never seen.\n")
    refresh_result = setup.proposal_actions.refresh(
        proposal.id, AGENT_ACTOR, build_resolutions(conflict_error, choice)
    )
    assert setup.log("-1", "--format=%P", proposal.content.branch) == [
        f"{conflict_error.tip} {conflict_error.theirs}"
    ]
    if choice in (ResolutionChoice.THEIRS, ResolutionChoice.UNION):  # it has the target's earlier text
        setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
        assert "Never seen." in setup.show("guide.md", proposal.content.branch)
    else:
        with pytest.raises(MergeConflict) as merge_error:
            setup.proposal_actions.merge(proposal.id, AGENT_ACTOR)
        assert [conflict.conflict.ours for conflict in merge_error.value.conflicts] == [b"Never seen."]
    assert refresh_result.is_new


def test_resolution_does_not_drop_later_proposal_text(setup: ProposalSetup) -> None:
    proposal, conflict_error = propose_with_conflict(setup)
    update_section(setup.proposal_actions.open_branch(proposal.id), "Ours, never seen.\n")
    old_refs = setup.repo.git("for-each-ref")
    with pytest.raises(ConflictChanged) as error_info:
        setup.proposal_actions.refresh(
            proposal.id, AGENT_ACTOR, build_resolutions(conflict_error, ResolutionChoice.THEIRS)
        )
    [conflict] = error_info.value.conflicts
    assert conflict.conflict.ours == b"Ours, never seen."
    assert setup.repo.git("for-each-ref") == old_refs
    setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR, build_resolutions(error_info.value))


def test_resolution_on_commit_outside_target_is_refused(setup: ProposalSetup) -> None:
    proposal, conflict_error = propose_with_conflict(setup)
    for commit in ("0" * 40, "main", str(conflict_error.tip)):
        with pytest.raises(ConflictChanged):
            setup.proposal_actions.refresh(
                proposal.id, AGENT_ACTOR, build_resolutions(conflict_error)._replace(target=commit)
            )
    # Another call resolved the conflict in the meantime, so these resolutions are outdated.
    setup.proposal_actions.refresh(
        proposal.id, AGENT_ACTOR, build_resolutions(conflict_error, ResolutionChoice.THEIRS)
    )
    with pytest.raises(ConflictChanged):
        setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR, build_resolutions(conflict_error))


def test_refresh_retry_returns_first_result_after_target_moved_or_merged(setup: ProposalSetup) -> None:
    proposal, conflict_error = propose_with_conflict(setup)
    refresh_result = setup.proposal_actions.refresh(
        proposal.id, AGENT_ACTOR, build_resolutions(conflict_error), key="k"
    )
    setup.write("Main goes on.")
    tip = setup.proposal_actions.find(proposal.id).tip
    for _ in range(2):
        retry_result = setup.proposal_actions.refresh(
            proposal.id, AGENT_ACTOR, build_resolutions(conflict_error), key="k"
        )
        assert (retry_result.commit, retry_result.is_new) == (refresh_result.commit, False)
        assert setup.repo.git("rev-parse", proposal.content.branch).strip() == tip
        for other_resolutions in (None, build_resolutions(conflict_error, ResolutionChoice.THEIRS, "b" * 64)):
            with pytest.raises(KeyReused):
                setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR, other_resolutions, key="k")
        setup.proposal_actions.merge(proposal.id, AGENT_ACTOR)


def test_retry_completes_fast_forward_with_event_only(setup: ProposalSetup) -> None:
    proposal = setup.open()
    setup.write("Meanwhile.")
    main_commit = setup.repo.head()
    setup.proposal_actions._repository.append(
        proposal.id, [Refreshed(main_commit, main_commit)], AGENT_ACTOR, "k"
    )
    setup.write("Later.")
    refresh_result = setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR, key="k")
    assert (refresh_result.commit, refresh_result.proposal.tip, refresh_result.proposal.state) == (
        main_commit,
        main_commit,
        ProposalState.DRAFT,
    )
    assert setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR, key="k").is_new is False
    assert setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR).proposal.tip == setup.repo.head()


@pytest.mark.parametrize("refreshes_before_request", [0, 1, 2])
def test_refresh_does_not_answer_change_request(setup: ProposalSetup, refreshes_before_request: int) -> None:
    """Changes are requested before the refreshes, between them, or after them."""
    proposal = setup.submit_proposal("More words.")
    for refresh_count in range(3):
        if refresh_count == refreshes_before_request:
            setup.proposal_actions.review(proposal.id, setup.person(), ReviewDecision.REQUEST_CHANGES, "No.")
        setup.write(f"Meanwhile {refresh_count}.")
        setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
        is_requested = (
            setup.proposal_actions.submit(proposal.id, AGENT_ACTOR).proposal.state
            is ProposalState.CHANGES_REQUESTED
        )
        assert is_requested == (refresh_count >= refreshes_before_request)
    with pytest.raises(MergeBlocked):
        setup.proposal_actions.merge(proposal.id, AGENT_ACTOR)
    setup.append(proposal.id, "Better words.")
    setup.write("Meanwhile, once more.")
    setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
    assert setup.proposal_actions.submit(proposal.id, AGENT_ACTOR).proposal.state is ProposalState.OPEN
    assert setup.proposal_actions.merge(proposal.id, AGENT_ACTOR).is_new


def test_only_refresh_with_resolutions_answers_change_request(setup: ProposalSetup) -> None:
    unanswered_proposal = setup.submit_proposal()
    setup.proposal_actions.review(
        unanswered_proposal.id, setup.person(), ReviewDecision.REQUEST_CHANGES, "Say something."
    )
    setup.repo.commit({"notes.md": "# Notes\n\nMeanwhile.\n"})
    setup.proposal_actions.refresh(unanswered_proposal.id, AGENT_ACTOR)
    assert (
        setup.proposal_actions.submit(unanswered_proposal.id, AGENT_ACTOR).proposal.state
        is ProposalState.CHANGES_REQUESTED
    )
    proposal, conflict_error = propose_with_conflict(setup)
    setup.proposal_actions.submit(proposal.id, AGENT_ACTOR)
    setup.proposal_actions.review(proposal.id, setup.person(), ReviewDecision.REQUEST_CHANGES, "Take theirs.")
    setup.proposal_actions.refresh(
        proposal.id, AGENT_ACTOR, build_resolutions(conflict_error, ResolutionChoice.CONTENT)
    )
    assert setup.proposal_actions.submit(proposal.id, AGENT_ACTOR).proposal.state is ProposalState.OPEN
