"""What happens to a pull request on its forge happens to its proposal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from docyard.forges import pull_request_sync, relay
from docyard.forges.errors import ForgeLimited
from docyard.forges.forge_repository import ForgeAccess
from docyard.forges.port import ForgeReview
from docyard.forges.pull_request_sync import PullRequestOutcome, format_round, round_to_data
from docyard.forges.pull_requests import format_marker
from docyard.forges.relay import build_author
from docyard.forges.rounds import ForgeRounds
from docyard.sync import Synchronizer
from tests.docyard.forges.joined import Joined, joined
from tests.docyard.forges.local_forge import Fault, github_api
from tests.workspace.proposals.actions.scene import ADA, AGENT, Scene
from workspace.config.tables import RemoteSettings
from workspace.git.remotes.credentials import Access
from workspace.proposals.actions.discuss import NeedsPerson
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import (
    Author,
    Commented,
    KnownBy,
    ReviewDecision,
    Unreadable,
    decode_event,
    encode_event,
)
from workspace.proposals.proposal import CommitRelation, Proposal, ProposalState
from workspace.writing.idempotency import InvalidKey


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Joined]:
    rules = '[[protect]]\npaths = ["page-*.md"]\napprovals = 1\n'
    with joined("github", tmp_path_factory.mktemp("joined"), rules) as made:
        yield made


@pytest.fixture
def here(started: Joined) -> Joined:
    started.local.faults.clear()
    return started


# Rounds over all proposals come first, while there are few.
@pytest.mark.process
def test_a_server_follows_after_each_fetch_and_tells_of_a_failure(here: Joined) -> None:
    syncing = Synchronizer(here.workspace, Access, ForgeRounds(here.workspace, here.access))
    proposal, number = here.requested()
    here.local.state.review(number, "ana", "changes_requested", "Say why.")
    settings = RemoteSettings(every=3600)
    here.local.faults.append(Fault(status=401, times=1))
    syncing._exchange(settings, fetch=True)
    failure = here.workspace.sync_status().failure
    assert failure is not None
    assert failure.error.code == "FORGE_DENIED"
    syncing._exchange(settings, fetch=True)
    assert here.workspace.sync_status().failure is None
    assert here.now(proposal).state is ProposalState.CHANGES_REQUESTED


def test_what_has_not_changed_costs_one_call(here: Joined) -> None:
    proposal, _ = here.requested()
    drafts = here.open()
    here.round()
    here.local.asked.clear()
    found = here.round()
    mine = [one for one in found.pull_requests if one.proposal == proposal.id]
    assert [one.wrote_events for one in mine] == [False]
    assert drafts.id not in {one.proposal for one in found.pull_requests}
    assert all(asked.path.endswith("/pulls") for asked in here.local.asked)
    assert len([asked for asked in here.local.asked if proposal.content.branch in str(asked.query)]) == 1


def test_many_are_listed_by_one_call_and_looked_at_when_they_change(
    here: Joined, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_request_sync, "MIN_OPEN_FOR_LIST", 2)
    first, number = here.requested()
    second, other = here.requested()
    alone = here.proposed("More.", here.page())
    here.round()

    def calls() -> list[str]:
        return [asked.query.get("head", asked.path.partition("/docs/")[2]) for asked in here.local.asked]

    def told(proposal: Proposal) -> PullRequestOutcome:
        return next(one for one in here.round().pull_requests if one.proposal == proposal.id)

    here.local.asked.clear()
    assert told(first).wrote_events is False
    assert calls() == ["pulls"]  # also for the one that nobody opened a pull request of
    here.local.state.review(number, "ana", "approved")
    here.local.asked.clear()
    assert told(first).reviews == 1
    assert calls() == [
        "pulls",
        f"pulls/{number}",
        f"pulls/{number}/reviews",
        f"issues/{number}/comments",
    ]
    here.forge.close(other)
    assert told(second).done == ("closed",)
    here.forge.update(other, state="open")
    assert told(second).done == ("reopened",)
    here.forge.close(other)
    assert told(second).done == ("closed",)
    assert here.now(alone).is_open


def test_an_approval_is_shown_and_satisfies_no_rule(here: Joined) -> None:
    proposal, number = here.requested()
    here.local.state.review(number, "ana", "approved", "Good.")
    found = here.follow(proposal)
    assert (found.reviews, found.comments, found.done, found.waits) == (1, 0, (), None)
    now = here.now(proposal)
    (bound,) = now.reviews
    author = bound.review.author
    assert (author.name, author.known_by, author.label) == ("ana", KnownBy.CLIENT, "GitHub")
    assert (bound.review.verdict, bound.review.text, bound.relation) == (
        ReviewDecision.APPROVE,
        "Good.",
        CommitRelation.CURRENT,
    )
    assert now.state is ProposalState.APPROVED
    lacking = here.proposing.find_merge_blockers(now, here.workspace.reviewing().preview(now))
    assert not lacking.requirements[0].is_met
    assert {void.value for void in lacking.void_reasons.values()} == {"no_token"}
    with pytest.raises(MergeBlocked, match="1 approval"):
        here.proposing.merge(proposal.id, here.person("cleo"))
    with pytest.raises(NeedsPerson):
        here.proposing.review(proposal.id, build_author("github", "ana"), ReviewDecision.APPROVE)


def test_a_request_for_changes_stands_until_its_author_approves(here: Joined) -> None:
    proposal, number = here.requested()
    here.local.state.review(number, "ana", "changes_requested", "Say why.")
    assert here.follow(proposal).reviews == 1
    assert here.now(proposal).state is ProposalState.CHANGES_REQUESTED
    here.local.state.review(number, "ben", "approved")
    here.follow(proposal)
    assert here.now(proposal).state is ProposalState.CHANGES_REQUESTED
    here.local.state.review(number, "ana", "approved")
    here.follow(proposal)
    assert here.now(proposal).state is ProposalState.APPROVED


def test_what_was_taken_in_is_not_taken_in_again(here: Joined) -> None:
    proposal, number = here.requested()
    here.local.state.review(number, "ana", "changes_requested", "Say why.")
    here.local.state.comment(number, "ben", "And *when*?\n\nSoon.")
    first = here.follow(proposal)
    assert (first.reviews, first.comments) == (1, 1)
    assert first.wrote_events
    for follower in (here.follower, type(here.follower)(here.workspace)):
        again = follower.follow(here.forge, "origin", branches=[proposal.content.branch]).pull_requests
        assert [(one.reviews, one.comments, one.wrote_events) for one in again] == [(0, 0, False)]
    (thread,) = here.now(proposal).content.threads
    assert thread.comment.text == "And *when*?\n\nSoon."
    assert thread.comment.author.name == "ben"


def test_a_request_that_a_submission_has_answered_meanwhile_is_only_told(here: Joined) -> None:
    proposal, number = here.requested()
    here.local.state.review(number, "ana", "changes_requested", "Say why.")
    here.rewrite(proposal)
    here.proposing.submit(proposal.id, AGENT)
    here.push(proposal)
    assert here.follow(proposal).reviews == 1
    now = here.now(proposal)
    assert now.state is ProposalState.OPEN
    assert now.content.reviews[0].verdict is ReviewDecision.COMMENT
    assert "Say why." in now.content.reviews[0].text


def test_a_dismissal_says_how_a_request_is_answered(here: Joined) -> None:
    proposal, number = here.requested()
    review = here.local.state.review(number, "ana", "changes_requested", "Say why.")
    here.follow(proposal)
    review.verdict = "dismissed"
    here.follow(proposal)
    here.follow(proposal)
    now = here.now(proposal)
    assert now.state is ProposalState.CHANGES_REQUESTED
    (thread,) = now.content.threads
    assert "dismissed on GitHub" in thread.comment.text
    here.rewrite(proposal)
    assert here.proposing.submit(proposal.id, AGENT).proposal.state is ProposalState.OPEN


def test_an_approval_of_an_older_commit_does_not_hold(here: Joined) -> None:
    proposal, number = here.requested()
    here.local.state.review(number, "ana", "approved")
    here.rewrite(proposal)
    here.follow(proposal)
    now = here.now(proposal)
    assert now.reviews[0].relation is CommitRelation.EDITED
    assert now.state is ProposalState.OPEN


def test_merged_there_by_a_merge_is_told_from_the_commits(here: Joined) -> None:
    proposal, number = here.requested()
    here.local.state.merge(number, None, "Merge it", "ana")
    assert here.follow(proposal).waits == "not_fetched"
    assert here.now(proposal).state is ProposalState.OPEN
    here.pull()
    found = here.follow(proposal)
    assert (found.state, found.done, found.waits) == ("merged", (), None)
    now = here.now(proposal)
    assert now.state is ProposalState.MERGED
    assert now.content.closed_by is None


def test_squashed_there_is_closed_with_words_that_name_the_commit(here: Joined) -> None:
    proposal, number = here.requested()
    commit = here.local.state.merge(number, None, "Squash it", "ana", how="squash")
    assert here.follow(proposal).waits == "not_fetched"
    here.pull()
    assert here.follow(proposal).done == ("closed",)
    now = here.now(proposal)
    assert now.state is ProposalState.CLOSED
    (closing,) = [event for event in here.proposing.list_events(now) if event.body.kind == "closed"]
    assert f"Merged on GitHub as {commit[:12]}" in closing.body.text  # type: ignore[union-attr]
    assert here.follow(proposal).done == ()


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_what_was_merged_without_the_last_commits_stays_open(here: Joined, how: str) -> None:
    proposal, number = here.requested()
    here.local.state.merge(number, None, "Merge it", "ana", how=how)
    here.rewrite(proposal)
    here.pull()
    found = here.follow(proposal)
    assert (found.done, found.waits) == ((), "gone_on")
    assert here.now(proposal).state is ProposalState.OPEN


def test_closed_and_reopened_there(here: Joined) -> None:
    proposal, number = here.requested()
    here.forge.close(number)
    assert here.follow(proposal).done == ("closed",)
    assert here.now(proposal).state is ProposalState.CLOSED
    here.forge.update(number, state="open")
    assert here.follow(proposal).done == ("reopened",)
    assert here.now(proposal).state is ProposalState.OPEN


def test_taken_up_again_here_it_is_not_closed_again(here: Joined) -> None:
    proposal, number = here.requested()
    here.forge.close(number)
    here.follow(proposal)
    here.proposing.reopen(proposal.id, ADA)
    for _ in range(2):
        assert here.follow(proposal).done == ()
    assert here.now(proposal).state is ProposalState.OPEN


def test_a_word_after_the_end_there_does_not_close_what_was_taken_up_again(here: Joined) -> None:
    proposal, number = here.requested()
    here.forge.close(number)
    here.follow(proposal)
    here.proposing.reopen(proposal.id, ADA)
    there = here.local.state.pull_requests[number - 1]
    there.updated = datetime.now(UTC) + timedelta(hours=1)
    assert here.follow(proposal).done == ()
    assert here.now(proposal).state is ProposalState.OPEN


def test_whoever_may_comment_and_not_close_says_nothing_in_each_round(here: Joined) -> None:
    proposal, number = here.requested()
    here.proposing.close(proposal.id, ADA, "Not now.")
    here.local.faults.append(Fault(status=403, method="PATCH", times=2))
    for _ in range(2):
        assert here.round(branches=[proposal.content.branch]).error is not None
    assert here.local.state.one(number).comments == []
    assert here.follow(proposal).done == ("closed_there",)
    assert len(here.local.state.one(number).comments) == 1


def test_one_that_cannot_be_followed_does_not_keep_others_from_it(here: Joined) -> None:
    first, other = here.requested()
    second, number = here.requested()
    for each in (other, number):
        here.local.state.review(each, "ana", "approved")
    here.local.faults.append(Fault(status=403, path=f"/pulls/{number}/reviews"))
    found = here.round(branches=[first.content.branch, second.content.branch])
    assert found.error is not None
    assert found.error.code == "FORGE_DENIED"
    assert [one.proposal for one in found.pull_requests] == [first.id]
    assert here.now(first).state is ProposalState.APPROVED


def test_the_answer_of_another_pull_request_is_not_believed(here: Joined) -> None:
    proposal, number = here.requested()
    _, other = here.requested()
    body = github_api._pull_request(here.local, here.local.state.one(other), "pull-request")
    here.local.faults.append(Fault(status=200, body=body, path=f"/pulls/{number}$"))
    found = here.round(branches=[proposal.content.branch])
    assert found.error is not None
    assert "it is of another pull request" in found.error.message
    assert found.pull_requests == ()


def test_a_client_that_is_called_like_a_forge_is_none(here: Joined) -> None:
    proposal, _ = here.requested()
    author = Author("Ada", "ada@example.org", KnownBy.CLIENT, "GitHub")
    here.proposing.close(proposal.id, Actor(author, "update_proposal", "GitHub"), "Not now.")
    assert here.follow(proposal).done == ("closed_there",)
    words = f"Opened as pull request [1](https://evil.example/{proposal.id})."
    here.proposing.comment(proposal.id, Actor(author, "update_proposal", "GitHub"), words)
    assert relay.find_link(here.proposing.list_events(proposal)) is None


def test_link_of_a_pull_request_is_a_field_or_in_the_words_of_an_old_comment(here: Joined) -> None:
    proposal, number = here.requested()
    request = here.forge.get(number)
    here.proposing.relay(proposal.id, [relay.build_opened_event("github", request, proposal)])
    opened, link = here.proposing.list_events(proposal)[-1], request.url
    assert isinstance(opened.body, Commented)
    assert opened.body.pull_request == link
    assert relay.find_link([opened]) == link
    old = replace(opened.body, pull_request=None)
    assert relay.find_link([opened._replace(body=old)]) == link
    reworded = replace(opened.body, text="It was opened.")
    assert relay.find_link([opened._replace(body=reworded)]) == link
    for text in ("It was opened.", "Opened as pull request [1](javascript:0)."):
        assert relay.find_link([opened._replace(body=replace(old, text=text))]) is None
    with pytest.raises(Unreadable):
        encode_event(proposal.id, replace(old, pull_request="javascript:0"), opened.author, opened.time)
    for words in (old, opened.body):
        file, data = encode_event(proposal.id, words, opened.author, opened.time)
        assert relay.find_link([decode_event(proposal.id, file, data)]) == link


def test_no_caller_can_take_the_key_of_what_is_said_there(here: Joined) -> None:
    proposal, number = here.requested()
    here.local.state.comment(number, "ben", f"I quote:\n\n> {format_marker(proposal.id)}\n\nand say more.")
    (said,) = relay.comments_to_events("github", here.forge.comments(number), proposal)
    with pytest.raises(InvalidKey):
        here.proposing.comment(proposal.id, AGENT, "First.", request=said.key)
    assert here.follow(proposal).comments == 1


def test_a_verdict_without_a_commit_is_on_what_was_submitted_before_it(here: Joined) -> None:
    proposal, number = here.requested()
    here.rewrite(proposal)
    again = here.proposing.submit(proposal.id, AGENT).proposal
    said = here.proposing.list_events(again)
    between, after = said[1].time, said[-1].time
    request = here.forge.get(number)
    for time, commit in ((between, proposal.tip), (after, again.tip)):
        review = ForgeReview("1", "ana", "approved", "", None, time, "")
        (told,) = relay.reviews_to_events("gitlab", [review], request, again, said)
        assert told.words.commit == commit  # type: ignore[union-attr]


def test_closed_here_is_closed_there_with_a_word_that_does_not_come_back(here: Joined) -> None:
    proposal, number = here.requested()
    here.proposing.close(proposal.id, ADA, "Not now.")
    assert here.follow(proposal).done == ("closed_there",)
    there = here.local.state.one(number)
    assert there.state == "closed"
    assert "Closed where it was proposed." in there.comments[-1].text
    assert here.follow(proposal).comments == 0
    assert here.now(proposal).content.threads == ()


def test_merged_here_is_left_to_the_forge_until_it_has_the_commits(here: Joined) -> None:
    proposal, number = here.requested()
    here.proposing.review(proposal.id, here.person("bea"), ReviewDecision.APPROVE)
    merged = here.proposing.merge(proposal.id, here.person("cleo"))
    assert here.follow(proposal).done == ()
    assert here.local.state.one(number).state == "open"
    # A forge that does not look at what is pushed: it is told, once the commits have been there for a while.
    there = here.local.state.pull_requests[number - 1]
    target, there.target = there.target, "elsewhere"
    here.repo.git("push", "-q", "origin", "main")
    there.target = target
    state = here.local.state
    state._has = lambda tip, commit: False  # type: ignore[method-assign]
    try:
        assert here.follow(proposal, pushed=True).done == ()
        assert here.follow(proposal).done == ("closed_there",)
    finally:
        del state._has
    assert f"Merged here as {merged.commit}." in there.comments[-1].text


def test_a_conflict_there_is_reported(here: Joined) -> None:
    proposal, _ = here.requested()
    page = here.page_of(proposal)
    here.repo.commit({page: "# Page\n\n## Use\n\nNever.\n"})
    here.repo.git("push", "-q", "origin", "main")
    found = here.follow(proposal)
    assert found.waits == "conflict"
    lines = format_round(here.round(branches=[proposal.content.branch]))
    assert lines == [
        f"Proposal {proposal.id} is in conflict with its target on GitHub.",
        f"  next: docyard proposals refresh {proposal.id}",
    ]


def test_a_number_leads_to_its_proposal_and_an_issue_to_none(here: Joined) -> None:
    proposal, number = here.requested()
    found = here.round(numbers=[number, 999_999])
    assert [one.proposal for one in found.pull_requests] == [proposal.id]
    assert here.round(numbers=[999_999]).pull_requests == ()


class Exchange(NamedTuple):
    """As much of an exchange with the remote as following looks at."""

    remote: str = "origin"
    pushed: int = 0


class Limit(NamedTuple):
    status: int
    headers: dict[str, str]
    code: str


@pytest.mark.parametrize(
    "fault",
    [
        Limit(429, {"retry-after": "90"}, "FORGE_LIMITED"),
        Limit(401, {}, "FORGE_DENIED"),
        Limit(500, {}, "FORGE_FAILED"),
    ],
    ids=lambda fault: str(fault.status),
)
def test_a_forge_that_fails_is_told_and_harms_nothing(here: Joined, fault: Limit) -> None:
    proposal, number = here.requested()
    here.local.state.review(number, "ana", "approved")
    fails = Fault(status=fault.status, headers=fault.headers, times=3, path="reviews")
    here.local.faults.append(fails)
    found = here.round(branches=[proposal.content.branch])
    assert found.error is not None
    assert found.error.code == fault.code
    assert here.now(proposal).content.reviews == ()
    data = round_to_data(found)
    assert data is not None
    assert data["error"]["code"] == fault.code  # type: ignore[index]
    assert "was not followed to the end" in format_round(found)[0]
    here.local.faults.clear()
    assert here.follow(proposal).reviews == 1


def test_names_of_a_forge_are_made_fit_for_git() -> None:
    odd = build_author("gitea", "<b>\x1b[31m o\nline </b>").author
    assert "<" not in odd.name + odd.email
    assert odd.name.isprintable()
    assert build_author("gitea", "<>").author.name == "somebody"
    assert build_author("github", "ana").author.key != build_author("gitea", "ana").author.key


def test_a_limited_forge_is_left_alone_for_a_while(here: Joined, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    rounds = ForgeRounds(here.workspace, here.access, clock=lambda: now[0])

    def follow(**options: object) -> object:
        return rounds.follow(Exchange(), branches=["none"], **options)  # type: ignore[arg-type]

    here.local.faults.append(Fault(status=429, headers={"retry-after": "90"}, times=1))
    first = rounds.follow(Exchange(), numbers=[1])  # type: ignore[arg-type]
    assert first is not None
    assert isinstance(first.error, ForgeLimited)
    here.local.asked.clear()
    now[0] = 89.0
    assert follow() == first
    assert here.local.asked == []
    now[0] = 91.0
    again = follow()
    assert again != first
    assert again.error is None  # type: ignore[attr-defined]


def test_without_a_forge_nothing_is_asked(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "alone")
    rounds = ForgeRounds(scene.workspace, ForgeAccess)
    assert rounds.follow(Exchange()) is None  # type: ignore[arg-type]
