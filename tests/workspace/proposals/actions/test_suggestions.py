"""A suggestion is applied once, as a commit of both authors that makes approvals void."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, GIT_ACTOR, RULE, ProposalSetup
from workspace.edits.text import ReplaceText
from workspace.git.messages import format_co_author, read_co_author_emails
from workspace.proposals.actions.merge_gate import VoidReason
from workspace.proposals.actions.repository import Actor, ProposalEnded
from workspace.proposals.answers import CommentNotFound
from workspace.proposals.approvals import OwnProposal
from workspace.proposals.proposal import Proposal
from workspace.proposals.suggested_text import SuggestionRefused, read_suggestion
from workspace.writing.plan import BatchMode

API_PATH = "specs/api.md"
SUGGESTION = "Clearer:\n\n```suggestion\nAt most one.\n```"


@pytest.fixture
def setup(tmp_path: Path) -> ProposalSetup:
    return ProposalSetup(tmp_path / "repo", 'overwrite = "any"\n' + RULE)


def propose(setup: ProposalSetup, text: str = "One\nor two.") -> Proposal:
    return setup.submit_proposal(text, API_PATH, "calls")


def suggest(
    setup: ProposalSetup,
    proposal: Proposal,
    text: str = SUGGESTION,
    quote: str = "One or two.",
    actor: Actor | None = None,
) -> str:
    """Comment on quoted words as Cyd, or as another actor, and return the id of the comment."""
    return setup.proposal_actions.comment(
        proposal.id, actor or setup.person("cyd"), text, file=API_PATH, slug="calls", quote=quote
    ).event_ids[0]


def replace_text(setup: ProposalSetup, proposal: Proposal, old: str, new: str) -> None:
    setup.proposal_actions.open_branch(proposal.id).write(
        [ReplaceText(file=API_PATH, old=old, new=new)], mode=BatchMode.ALL, tool="edit", client="an agent"
    )


def test_suggestion_is_a_commit_of_both_authors(setup: ProposalSetup) -> None:
    proposal = propose(setup)
    setup.approve(proposal, "dan")
    comment = suggest(setup, proposal)
    result = setup.proposal_actions.apply_suggestion(proposal.id, setup.person("bea"), comment)
    branch = proposal.content.branch
    assert setup.show(API_PATH, branch) == "# API\n\n## Calls\n\nNone.\n\nAt most one.\n"
    [line] = setup.log(
        "-1", "--format=%H %an <%ae> %(trailers:key=Co-authored-by,valueonly,separator=)", branch
    )
    assert line == f"{result.commit} Bea <bea@example.org> Cyd <cyd@example.org>"
    [thread] = result.proposal.content.threads
    assert thread.resolution is not None
    preview = setup.workspace.proposal_reviews().preview(result.proposal)
    evaluation = setup.proposal_actions.find_merge_requirements(result.proposal, preview)
    assert [*evaluation.void_reasons.values()] == [VoidReason.OUTDATED]
    for author in ("bea", "cyd"):
        with pytest.raises(OwnProposal):
            setup.approve(result.proposal, author)
    setup.approve(result.proposal, "dan")
    assert setup.proposal_actions.merge(proposal.id, setup.person("dan")).is_new
    setup.check_repository_intact()


def test_person_without_token_who_applies_cannot_approve(setup: ProposalSetup) -> None:
    proposal = propose(setup)
    comment = suggest(setup, proposal)
    setup.repo.git("config", "user.email", "bea@example.org")
    result = setup.proposal_actions.apply_suggestion(proposal.id, GIT_ACTOR, comment)
    with pytest.raises(OwnProposal):
        setup.approve(result.proposal, "bea")


def test_suggestion_of_an_agent_allows_approval_by_its_user(setup: ProposalSetup) -> None:
    proposal = propose(setup)
    agent = AGENT_ACTOR._replace(author=AGENT_ACTOR.author._replace(email="bea@example.org"))
    comment = suggest(setup, proposal, actor=agent)
    result = setup.proposal_actions.apply_suggestion(proposal.id, setup.person("cyd"), comment)
    setup.approve(result.proposal, "bea")
    with pytest.raises(OwnProposal):
        setup.approve(result.proposal, "cyd")


def test_co_author_in_git_cannot_approve(setup: ProposalSetup) -> None:
    proposal = propose(setup)
    setup.repo.git("checkout", "-q", proposal.content.branch)
    setup.repo.commit({API_PATH: "# API\n\n## Calls\n\nTwo.\n"}, "Two\n\nCo-Authored-By: B <BEA@example.org>")
    setup.repo.git("checkout", "-q", "main")
    with pytest.raises(OwnProposal):
        setup.approve(setup.proposal_actions.find(proposal.id), "bea")


def test_suggestion_that_contains_its_quote_is_applied_once(setup: ProposalSetup) -> None:
    proposal = propose(setup, "One.")
    comment = suggest(setup, proposal, "```suggestion\nOne. Or two.\n```", "One.")
    for is_new in (True, False):
        result = setup.proposal_actions.apply_suggestion(proposal.id, setup.person("bea"), comment)
        assert result.is_new is is_new
    assert setup.show(API_PATH, proposal.content.branch).endswith("None.\n\nOne. Or two.\n")
    assert len(setup.log("--format=%h", f"main..{proposal.content.branch}")) == 2


@pytest.mark.parametrize(
    ("text", "quote", "new_text", "message"),
    [
        (SUGGESTION, "One or two.", "Three.", "no longer in specs/api.md#calls"),
        (SUGGESTION, "One", "One and One", "occur 2 times in specs/api.md#calls"),
        (SUGGESTION, "", None, "quotes no words"),
        ("No suggestion", "One", None, "does not have exactly one suggestion"),
        (f"{SUGGESTION}\n\n{SUGGESTION}", "One", None, "does not have exactly one suggestion"),
        ("```suggestion\nOne\n```", "One", None, "changes nothing"),
        ("```suggestion\n\n## New\n\n```", "One", None, "would add, remove or rename a section"),
    ],
    ids=["missing", "ambiguous", "no-quote", "none", "two", "same", "heading"],
)
def test_suggestion_that_cannot_be_applied_is_refused(
    setup: ProposalSetup, text: str, quote: str, new_text: str | None, message: str
) -> None:
    proposal = propose(setup)
    comment = suggest(setup, proposal, text, quote)
    if new_text is not None:
        replace_text(setup, proposal, "One\nor two.", new_text)
    tip = setup.proposal_actions.find(proposal.id).tip
    with pytest.raises(SuggestionRefused, match=message):
        setup.proposal_actions.apply_suggestion(proposal.id, setup.person(), comment)
    assert setup.proposal_actions.find(proposal.id).tip == tip


@pytest.mark.parametrize("state", ["closed", "gone"])
def test_suggestion_of_an_ended_proposal_is_refused(setup: ProposalSetup, state: str) -> None:
    proposal = propose(setup)
    comment = suggest(setup, proposal)
    if state == "closed":
        setup.proposal_actions.close(proposal.id, setup.person())
    else:
        setup.repo.git("branch", "-D", proposal.content.branch)
    with pytest.raises(ProposalEnded):
        setup.proposal_actions.apply_suggestion(proposal.id, setup.person(), comment)


def test_unknown_comment_is_refused(setup: ProposalSetup) -> None:
    with pytest.raises(CommentNotFound):
        setup.proposal_actions.apply_suggestion(propose(setup).id, setup.person(), "0" * 16)


def test_suggestion_in_a_reply_replaces_the_quote_of_the_thread(setup: ProposalSetup) -> None:
    proposal = propose(setup)
    thread = suggest(setup, proposal, "Unclear.")
    reply = setup.proposal_actions.comment(proposal.id, setup.person("dan"), SUGGESTION, reply_to=thread)
    setup.proposal_actions.apply_suggestion(proposal.id, setup.person(), reply.event_ids[0])
    assert setup.show(API_PATH, proposal.content.branch).endswith("At most one.\n")
    assert "Co-authored-by: Dan <dan@example.org>" in setup.log("-1", "--format=%b", proposal.content.branch)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SUGGESTION, ("At most one.", "Clearer:")),
        ("````suggestion\na\n```\nb\n````\n\nEnd", ("a\n```\nb", "End")),
        ("```suggestion\n```", ("", "")),
        ("```suggestions\na\n```", None),
        ("> ```suggestion\n> a\n> ```", None),
        ("suggestion", None),
    ],
)
def test_suggestion_is_read_from_a_fence(text: str, expected: tuple[str, str] | None) -> None:
    assert read_suggestion(text) == expected


def test_hostile_name_of_a_co_author_is_one_line() -> None:
    value = format_co_author("A\nDocyard-Person: x\x00 <b>", "a@b\n>")
    assert value == "A Docyard-Person: x b <a@b>"
    assert read_co_author_emails(f"Title\n\nX: y\nCo-authored-by: {value}") == {"a@b"}
    assert read_co_author_emails("Title\n\nCo-authored-by: a <a@b>\n\nX: y") == frozenset()
