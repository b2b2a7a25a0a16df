"""A proposal from its opening to its merge, with its discussion."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.actions.proposal_setup import (
    AGENT_ACTOR,
    GIT_ACTOR,
    RULE,
    ProposalSetup,
    make_append,
)
from workspace.edits.documents import RemoveDocument
from workspace.merge.commits import MergeConflict
from workspace.merge.conflict import Resolution, ResolutionChoice
from workspace.policy.protection import Protected
from workspace.proposals.actions.discuss import ProposalMoved
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.refresh import RefreshResolutions
from workspace.proposals.actions.repository import NothingProposed, ProposalEnded
from workspace.proposals.approvals import NeedsPerson, OwnProposal
from workspace.proposals.events import InvalidEventText, ReviewDecision
from workspace.proposals.proposal import ProposalState
from workspace.snapshot.snapshot import DocumentNotFound
from workspace.writing.idempotency import InvalidKey, KeyedRequest, KeyReused, compute_call_digest
from workspace.writing.plan import BatchMode


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo", RULE)


def test_direct_write_becomes_proposal_and_is_merged(setup: ProposalSetup) -> None:
    head_before = setup.repo.head()
    with pytest.raises(Protected) as error_info:
        setup.write("One.", "specs/api.md", "calls")
    assert error_info.value.paths == ("specs/api.md",)
    proposal, write_result, _ = setup.propose()
    assert proposal is not None
    assert setup.repo.head() == head_before
    assert (write_result.is_committed, write_result.commit) == (True, proposal.tip)
    assert (proposal.state, proposal.content.base, proposal.content.target) == (
        ProposalState.DRAFT,
        head_before,
        "main",
    )
    assert "One." in setup.show("specs/api.md", proposal.content.branch)
    proposal_id = proposal.id
    assert f"Docyard-Proposal: {proposal_id}" in setup.log("-1", "--format=%B", proposal.content.branch)
    assert setup.proposal_actions.submit(proposal_id, AGENT_ACTOR).proposal.state is ProposalState.OPEN
    with pytest.raises(MergeBlocked) as merge_error:
        setup.proposal_actions.merge(proposal_id, setup.person())
    assert [blocker["code"] for blocker in merge_error.value.details["blocks"]] == ["NEEDS_APPROVAL"]
    with pytest.raises(NeedsPerson):
        setup.proposal_actions.review(proposal_id, AGENT_ACTOR, ReviewDecision.APPROVE)
    assert setup.approve(proposal).state is ProposalState.APPROVED
    for actor in (AGENT_ACTOR, GIT_ACTOR):
        with pytest.raises(NeedsPerson):
            setup.proposal_actions.merge(proposal_id, actor)
    merge_result = setup.proposal_actions.merge(proposal_id, setup.person())
    assert (merge_result.is_new, merge_result.proposal.state) == (True, ProposalState.MERGED)
    assert setup.log("-1", "--format=%H %P %an") == [
        f"{merge_result.commit} {head_before} {proposal.tip} Bea"
    ]
    assert "One." in (setup.repo.path / "specs/api.md").read_text()
    repeated_result = setup.proposal_actions.merge(proposal_id, AGENT_ACTOR)
    assert (repeated_result.is_new, repeated_result.commit) == (False, merge_result.commit)
    setup.check_repository_intact()


def test_edit_voids_approval(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
    setup.approve(proposal)
    setup.append(proposal.id, "Unseen.", "specs/api.md", "calls")
    with pytest.raises(MergeBlocked):
        setup.proposal_actions.merge(proposal.id, setup.person())
    with pytest.raises(ProposalMoved):
        setup.proposal_actions.review(
            proposal.id, setup.person(), ReviewDecision.APPROVE, commit=proposal.tip
        )
    with pytest.raises(ProposalMoved):
        setup.proposal_actions.merge(proposal.id, setup.person(), commit=proposal.tip)
    setup.approve(proposal)
    assert setup.proposal_actions.merge(proposal.id, setup.person()).is_new


def test_author_cannot_approve_own_proposal(setup: ProposalSetup) -> None:
    bea = setup.person()
    own_proposal = setup.proposal_actions.open("Mine", "", bea)
    setup.append(own_proposal.id, "One.", "specs/api.md", "calls")
    with pytest.raises(OwnProposal):
        setup.approve(own_proposal)
    agent_proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
    branch = setup.proposal_actions.open_branch(agent_proposal.id)
    branch.write(
        [make_append("By her.", "specs/api.md", "calls")],
        mode=BatchMode.EACH,
        tool="edit_document",
        client="a page",
        person=bea.person,
    )
    with pytest.raises(OwnProposal):
        setup.approve(agent_proposal)
    setup.approve(agent_proposal, "cy")
    # Authors of commits that a refresh merged from the target may approve.
    refreshed_proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
    setup.repo.git("config", "user.email", "dora@example.org")
    setup.repo.commit({"other.md": "# Other\n"}, "By Dora")
    setup.proposal_actions.refresh(refreshed_proposal.id, AGENT_ACTOR)
    setup.write("And more.")
    setup.proposal_actions.refresh(refreshed_proposal.id, setup.person("dora"))
    assert setup.approve(refreshed_proposal, "dora").state is ProposalState.APPROVED
    setup.repo.git("checkout", "-q", refreshed_proposal.content.branch)
    setup.repo.commit({"specs/api.md": "# API\n\n## Calls\n\nBy hand.\n"}, "By Dora")
    with pytest.raises(OwnProposal):
        setup.approve(refreshed_proposal, "dora")


def test_change_request_blocks_merge_until_answered(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo")
    proposal = setup.submit_proposal()
    review_result = setup.proposal_actions.review(
        proposal.id, GIT_ACTOR, ReviewDecision.REQUEST_CHANGES, "Say why."
    )
    assert review_result.proposal.state is ProposalState.CHANGES_REQUESTED
    with pytest.raises(MergeBlocked):
        setup.proposal_actions.merge(proposal.id, AGENT_ACTOR)
    setup.append(proposal.id, "Because.")
    assert setup.proposal_actions.submit(proposal.id, AGENT_ACTOR).proposal.state is ProposalState.OPEN
    assert setup.proposal_actions.merge(proposal.id, AGENT_ACTOR).is_new


def test_comments_are_stored_with_their_targets(setup: ProposalSetup) -> None:
    proposal_id = setup.submit_proposal().id
    first_result = setup.proposal_actions.comment(
        proposal_id, GIT_ACTOR, "Why?", file="guide.md", slug="use", quote="Use it."
    )
    (thread,) = first_result.proposal.content.threads
    assert thread.comment.target is not None
    assert (thread.comment.target.slug, thread.comment.commit) == ("use", first_result.proposal.tip)
    reply_result = setup.proposal_actions.comment(
        proposal_id, AGENT_ACTOR, "Because.", reply_to=thread.comment.id
    )
    assert [reply.text for reply in reply_result.proposal.content.threads[0].replies] == ["Because."]
    for fields in ({"slug": "use"}, {"reply_to": "f" * 16}, {"file": "guide.md", "quote": "Never said"}):
        with pytest.raises(InvalidEventText):
            setup.proposal_actions.comment(proposal_id, GIT_ACTOR, "Why?", **fields)
    with pytest.raises(DocumentNotFound):
        setup.proposal_actions.comment(proposal_id, GIT_ACTOR, "Why?", file="none.md")
    setup.proposal_actions.open_branch(proposal_id).write(
        [RemoveDocument(path="notes.md")],
        mode=BatchMode.ALL,
        tool="t",
        client="c",
        base_commit=setup.repo.head(),
    )
    content = setup.proposal_actions.comment(
        proposal_id, GIT_ACTOR, "Keep it.", file="notes.md"
    ).proposal.content
    assert content.threads[-1].comment.commit == content.base
    setup.proposal_actions.close(proposal_id, AGENT_ACTOR, "No.")
    assert setup.proposal_actions.comment(proposal_id, GIT_ACTOR, "A pity.").is_new


def test_invalid_title_or_key_opens_no_proposal(setup: ProposalSetup) -> None:
    for title in ("x" * 10_000, "", " \n", "\x00"):
        with pytest.raises(InvalidEventText):
            setup.open(title)
    with pytest.raises(InvalidKey):
        setup.open(key="two words")
    assert setup.proposal_actions.list_all() == ()


def test_proposals_with_equal_titles_have_different_ids(setup: ProposalSetup) -> None:
    first_proposal, second_proposal = setup.open("🦀 🦀"), setup.open("🦀 🦀")
    assert first_proposal.id != second_proposal.id
    assert (first_proposal.content.title, first_proposal.content.branch) == (
        "🦀 🦀",
        f"proposals/{first_proposal.id}",
    )


def test_title_that_names_another_branch_changes_only_the_title(setup: ProposalSetup) -> None:
    first_proposal, second_proposal = setup.open(), setup.open()
    new_title = second_proposal.content.branch
    for is_new in (True, False):
        edit_result = setup.proposal_actions.edit(first_proposal.id, AGENT_ACTOR, title=new_title)
        assert (edit_result.proposal.id, edit_result.is_new) == (first_proposal.id, is_new)


def test_edit_without_fields_is_refused(setup: ProposalSetup) -> None:
    proposal = setup.open()
    with pytest.raises(InvalidEventText):
        setup.proposal_actions.edit(proposal.id, AGENT_ACTOR)


def test_closed_proposal_can_be_reopened(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal()
    writer = setup.proposal_actions.open_branch(proposal.id)
    assert (
        setup.proposal_actions.close(proposal.id, AGENT_ACTOR, "Elsewhere.").proposal.state
        is ProposalState.CLOSED
    )
    assert setup.proposal_actions.close(proposal.id, AGENT_ACTOR).is_new is False
    for action in (
        setup.proposal_actions.merge,
        setup.proposal_actions.submit,
        setup.proposal_actions.refresh,
    ):
        with pytest.raises(ProposalEnded) as error_info:
            action(proposal.id, AGENT_ACTOR)
        assert error_info.value.details["state"] == "closed"
    with pytest.raises(ProposalEnded):
        setup.proposal_actions.open_branch(proposal.id)
    with pytest.raises(ProposalEnded):
        writer.write([make_append("Late.")], mode=BatchMode.ALL, tool="t", client="c")
    assert setup.proposal_actions.reopen(proposal.id, AGENT_ACTOR).proposal.state is ProposalState.OPEN
    assert setup.proposal_actions.merge(proposal.id, AGENT_ACTOR).is_new
    for action in (
        setup.proposal_actions.close,
        setup.proposal_actions.reopen,
        setup.proposal_actions.submit,
    ):
        with pytest.raises(ProposalEnded):
            action(proposal.id, AGENT_ACTOR)


def test_refresh_creates_merge_commit(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal()
    assert setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR).is_new is False
    setup.write("Meanwhile.")
    refresh_result = setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
    assert setup.log("-1", "--format=%P", proposal.content.branch) == [f"{proposal.tip} {setup.repo.head()}"]
    assert refresh_result.proposal.state is ProposalState.OPEN
    assert not refresh_result.proposal.is_rewritten
    text = setup.show("guide.md", proposal.content.branch)
    assert "Meanwhile." in text
    assert "More." in text
    assert setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR).is_new is False
    # After a manual fast-forward, an earlier merge in the proposal is not its merge record.
    setup.repo.git("merge", "-q", "--ff-only", proposal.content.branch)
    merged_proposal = setup.proposal_actions.find(proposal.id)
    assert merged_proposal.merge_record is not None
    assert merged_proposal.merge_record.tip == refresh_result.commit


def test_refresh_of_empty_proposal_fast_forwards(setup: ProposalSetup) -> None:
    proposal = setup.open()
    with pytest.raises(NothingProposed):
        setup.proposal_actions.merge(proposal.id, AGENT_ACTOR)
    setup.write("Meanwhile.")
    refresh_result = setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
    assert refresh_result.proposal.tip == refresh_result.proposal.content.base == setup.repo.head()
    assert refresh_result.proposal.state is ProposalState.DRAFT
    with pytest.raises(NothingProposed):
        setup.proposal_actions.merge(proposal.id, AGENT_ACTOR)


def test_refresh_resolves_conflicts(setup: ProposalSetup) -> None:
    proposal = setup.submit_proposal("Here too.", slug="install")
    setup.repo.git("rm", "-q", "guide.md")
    setup.repo.commit({}, "Remove it")
    with pytest.raises(MergeConflict) as error_info:
        setup.proposal_actions.merge(proposal.id, AGENT_ACTOR)
    assert "refresh" in error_info.value.fix.lower()
    with pytest.raises(MergeConflict) as error_info:
        setup.proposal_actions.refresh(proposal.id, AGENT_ACTOR)
    (conflict,) = error_info.value.conflicts
    assert (conflict.path, conflict.conflict.theirs) == ("guide.md", None)
    resolutions = {conflict.path: {conflict.conflict.unit: Resolution(ResolutionChoice.OURS)}}
    assert setup.proposal_actions.refresh(
        proposal.id, AGENT_ACTOR, RefreshResolutions(lambda _: resolutions)
    ).is_new
    assert setup.proposal_actions.merge(proposal.id, AGENT_ACTOR).is_new
    assert "Here too." in (setup.repo.path / "guide.md").read_text()
    setup.check_repository_intact()


def test_write_without_changes_opens_no_proposal(setup: ProposalSetup) -> None:
    dry_result = setup.proposal_actions.propose(
        [make_append("One.", "specs/api.md", "calls")], AGENT_ACTOR, mode=BatchMode.EACH, dry_run=True
    )
    assert dry_result.proposal is None
    assert "One." in (dry_result.result.changes["specs/api.md"] or b"").decode()
    failed_result = setup.propose(slug="nowhere")
    assert failed_result.proposal is None
    assert failed_result.result.steps[0].error is not None
    assert setup.proposal_actions.list_all() == ()
    assert setup.workspace.git.branches() == ("main",)
    with pytest.raises(Protected):
        setup.workspace.write(
            [make_append("One.", "specs/api.md", "calls")],
            mode=BatchMode.EACH,
            tool="t",
            client="c",
            dry_run=True,
        )


def test_retries_return_first_result(setup: ProposalSetup) -> None:
    first_proposal = setup.open(key="key")
    setup.write("The branch moves.")
    assert setup.open(key="key").id == first_proposal.id
    with pytest.raises(KeyReused):
        setup.open("Another", key="key")
    with pytest.raises(KeyReused):
        setup.open(submit=True, key="key")
    proposal_id = setup.submit_proposal(file="specs/api.md", slug="calls").id
    for _ in range(2):
        setup.proposal_actions.comment(proposal_id, GIT_ACTOR, "Why?", file="specs/api.md", key="comment")
        setup.append(proposal_id, "Moves on.", "specs/api.md", "calls")
    assert len(setup.proposal_actions.find(proposal_id).content.threads) == 1
    with pytest.raises(KeyReused):
        setup.proposal_actions.comment(proposal_id, GIT_ACTOR, "Why not?", key="comment")
    first_result = setup.proposal_actions.review(
        proposal_id, setup.person(), ReviewDecision.APPROVE, key="approve"
    )
    setup.append(proposal_id, "Moves on.", "specs/api.md", "calls")
    retry_result = setup.proposal_actions.review(
        proposal_id, setup.person(), ReviewDecision.APPROVE, key="approve"
    )
    assert (first_result.is_new, retry_result.is_new, retry_result.commit) == (
        True,
        False,
        first_result.commit,
    )
    assert retry_result.proposal.approvals == (), "a retry does not approve later commits"
    for is_new in (True, False):
        assert setup.proposal_actions.close(proposal_id, AGENT_ACTOR, key="close").is_new is is_new
        setup.proposal_actions.reopen(proposal_id, AGENT_ACTOR)


def test_retry_of_redirected_write_returns_its_proposal(setup: ProposalSetup) -> None:
    request = KeyedRequest(
        "key", compute_call_digest("edit_document", {"a": 1}), lambda plan: {"result": "first"}
    )
    operations = [make_append("One.", "specs/api.md", "calls")]

    def write_directly() -> None:
        setup.workspace.write(operations, mode=BatchMode.EACH, tool="t", client="c", keyed_request=request)

    first_result = setup.proposal_actions.propose(
        operations, AGENT_ACTOR, mode=BatchMode.EACH, keyed_request=request
    )
    assert first_result.proposal is not None
    for _ in range(2):
        with pytest.raises(Protected) as error_info:
            write_directly()
        assert error_info.value.paths == ("specs/api.md",)
        retry_result = setup.proposal_actions.propose(
            operations, AGENT_ACTOR, mode=BatchMode.EACH, keyed_request=request
        )
        assert retry_result.proposal is not None
        assert (retry_result.proposal.id, retry_result.result.commit) == (
            first_result.proposal.id,
            first_result.result.commit,
        )
        assert retry_result.result.recorded_request is not None
        assert retry_result.result.recorded_request.result == {"result": "first"}
        if retry_result.proposal.state is not ProposalState.MERGED:
            setup.approve(retry_result.proposal)
            setup.proposal_actions.merge(retry_result.proposal.id, setup.person())
    other_request = KeyedRequest("key", compute_call_digest("edit_document", {"a": 2}), lambda plan: {})
    with pytest.raises(KeyReused):
        setup.proposal_actions.propose(
            operations, AGENT_ACTOR, mode=BatchMode.EACH, keyed_request=other_request
        )
    assert len(setup.proposal_actions.list_all()) == 1
