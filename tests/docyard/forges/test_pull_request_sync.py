"""Import of a pull request's reviews, comments and state into its proposal."""

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
from tests.docyard.forges.forge_scene import ForgeScene, open_forge_scene
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
def shared_scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeScene]:
    rules = '[[protect]]\npaths = ["page-*.md"]\napprovals = 1\n'
    with open_forge_scene("github", tmp_path_factory.mktemp("joined"), rules) as made:
        yield made


@pytest.fixture
def here(shared_scene: ForgeScene) -> ForgeScene:
    shared_scene.local.faults.clear()
    return shared_scene


# Tests of rounds over all proposals come first, while there are few proposals.
@pytest.mark.process
def test_server_imports_after_fetch_and_reports_failure(here: ForgeScene) -> None:
    syncing = Synchronizer(here.workspace, Access, ForgeRounds(here.workspace, here.access))
    proposal, number = here.create_pull_request()
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


def test_unchanged_pull_request_costs_one_call(here: ForgeScene) -> None:
    proposal, _ = here.create_pull_request()
    drafts = here.open()
    here.round()
    here.local.received.clear()
    report = here.round()
    mine = [pull_request for pull_request in report.pull_requests if pull_request.proposal == proposal.id]
    assert [pull_request.wrote_events for pull_request in mine] == [False]
    assert drafts.id not in {pull_request.proposal for pull_request in report.pull_requests}
    assert all(request.path.endswith("/pulls") for request in here.local.received)
    assert (
        len([request for request in here.local.received if proposal.content.branch in str(request.query)])
        == 1
    )


def test_many_pull_requests_are_listed_by_one_call(here: ForgeScene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_request_sync, "MIN_OPEN_PROPOSALS_FOR_LIST", 2)
    first, number = here.create_pull_request()
    second, other = here.create_pull_request()
    alone = here.submit_proposal("More.", here.page())
    here.round()

    def calls() -> list[str]:
        return [
            request.query.get("head", request.path.partition("/docs/")[2]) for request in here.local.received
        ]

    def outcome(proposal: Proposal) -> PullRequestOutcome:
        return next(
            pull_request
            for pull_request in here.round().pull_requests
            if pull_request.proposal == proposal.id
        )

    here.local.received.clear()
    assert outcome(first).wrote_events is False
    assert calls() == ["pulls"]  # also for the proposal without a pull request
    here.local.state.review(number, "ana", "approved")
    here.local.received.clear()
    assert outcome(first).reviews == 1
    assert calls() == [
        "pulls",
        f"pulls/{number}",
        f"pulls/{number}/reviews",
        f"issues/{number}/comments",
    ]
    here.forge.close(other)
    assert outcome(second).done == ("closed",)
    here.forge.update(other, state="open")
    assert outcome(second).done == ("reopened",)
    here.forge.close(other)
    assert outcome(second).done == ("closed",)
    assert here.now(alone).is_open


def test_forge_approval_is_shown_but_satisfies_no_rule(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.local.state.review(number, "ana", "approved", "Good.")
    report = here.follow(proposal)
    assert (report.reviews, report.comments, report.done, report.waits) == (1, 0, (), None)
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
    blockers = here.proposal_actions.find_merge_blockers(now, here.workspace.proposal_reviews().preview(now))
    assert not blockers.requirements[0].is_met
    assert {void.value for void in blockers.void_reasons.values()} == {"no_token"}
    with pytest.raises(MergeBlocked, match="1 approval"):
        here.proposal_actions.merge(proposal.id, here.person("cleo"))
    with pytest.raises(NeedsPerson):
        here.proposal_actions.review(proposal.id, build_author("github", "ana"), ReviewDecision.APPROVE)


def test_change_request_remains_until_its_author_approves(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.local.state.review(number, "ana", "changes_requested", "Say why.")
    assert here.follow(proposal).reviews == 1
    assert here.now(proposal).state is ProposalState.CHANGES_REQUESTED
    here.local.state.review(number, "ben", "approved")
    here.follow(proposal)
    assert here.now(proposal).state is ProposalState.CHANGES_REQUESTED
    here.local.state.review(number, "ana", "approved")
    here.follow(proposal)
    assert here.now(proposal).state is ProposalState.APPROVED


def test_reviews_and_comments_are_imported_once(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.local.state.review(number, "ana", "changes_requested", "Say why.")
    here.local.state.comment(number, "ben", "And *when*?\n\nSoon.")
    first = here.follow(proposal)
    assert (first.reviews, first.comments) == (1, 1)
    assert first.wrote_events
    for follower in (here.follower, type(here.follower)(here.workspace)):
        again = follower.follow(here.forge, "origin", branches=[proposal.content.branch]).pull_requests
        assert [(item.reviews, item.comments, item.wrote_events) for item in again] == [(0, 0, False)]
    (thread,) = here.now(proposal).content.threads
    assert thread.comment.text == "And *when*?\n\nSoon."
    assert thread.comment.author.name == "ben"


def test_answered_change_request_is_imported_as_comment(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.local.state.review(number, "ana", "changes_requested", "Say why.")
    here.rewrite(proposal)
    here.proposal_actions.submit(proposal.id, AGENT)
    here.push(proposal)
    assert here.follow(proposal).reviews == 1
    now = here.now(proposal)
    assert now.state is ProposalState.OPEN
    assert now.content.reviews[0].verdict is ReviewDecision.COMMENT
    assert "Say why." in now.content.reviews[0].text


def test_dismissal_is_imported_as_comment(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
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
    assert here.proposal_actions.submit(proposal.id, AGENT).proposal.state is ProposalState.OPEN


def test_approval_of_older_commit_does_not_count(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.local.state.review(number, "ana", "approved")
    here.rewrite(proposal)
    here.follow(proposal)
    now = here.now(proposal)
    assert now.reviews[0].relation is CommitRelation.EDITED
    assert now.state is ProposalState.OPEN


def test_merge_on_forge_is_detected_from_commits(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.local.state.merge(number, None, "Merge it", "ana")
    assert here.follow(proposal).waits == "not_fetched"
    assert here.now(proposal).state is ProposalState.OPEN
    here.pull()
    report = here.follow(proposal)
    assert (report.state, report.done, report.waits) == ("merged", (), None)
    now = here.now(proposal)
    assert now.state is ProposalState.MERGED
    assert now.content.closed_by is None


def test_squash_on_forge_closes_proposal_with_its_commit(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    commit = here.local.state.merge(number, None, "Squash it", "ana", how="squash")
    assert here.follow(proposal).waits == "not_fetched"
    here.pull()
    assert here.follow(proposal).done == ("closed",)
    now = here.now(proposal)
    assert now.state is ProposalState.CLOSED
    (closing,) = [event for event in here.proposal_actions.list_events(now) if event.body.kind == "closed"]
    assert f"Merged on GitHub as {commit[:12]}" in closing.body.text  # type: ignore[union-attr]
    assert here.follow(proposal).done == ()


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_merge_without_last_commits_leaves_proposal_open(here: ForgeScene, how: str) -> None:
    proposal, number = here.create_pull_request()
    here.local.state.merge(number, None, "Merge it", "ana", how=how)
    here.rewrite(proposal)
    here.pull()
    report = here.follow(proposal)
    assert (report.done, report.waits) == ((), "gone_on")
    assert here.now(proposal).state is ProposalState.OPEN


def test_close_and_reopen_on_forge_are_applied(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.forge.close(number)
    assert here.follow(proposal).done == ("closed",)
    assert here.now(proposal).state is ProposalState.CLOSED
    here.forge.update(number, state="open")
    assert here.follow(proposal).done == ("reopened",)
    assert here.now(proposal).state is ProposalState.OPEN


def test_reopened_proposal_is_not_closed_again(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.forge.close(number)
    here.follow(proposal)
    here.proposal_actions.reopen(proposal.id, ADA)
    for _ in range(2):
        assert here.follow(proposal).done == ()
    assert here.now(proposal).state is ProposalState.OPEN


def test_update_of_closed_pull_request_leaves_proposal_open(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.forge.close(number)
    here.follow(proposal)
    here.proposal_actions.reopen(proposal.id, ADA)
    there = here.local.state.pull_requests[number - 1]
    there.updated = datetime.now(UTC) + timedelta(hours=1)
    assert here.follow(proposal).done == ()
    assert here.now(proposal).state is ProposalState.OPEN


def test_token_that_cannot_close_adds_no_comments(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.proposal_actions.close(proposal.id, ADA, "Not now.")
    here.local.faults.append(Fault(status=403, method="PATCH", times=2))
    for _ in range(2):
        assert here.round(branches=[proposal.content.branch]).error is not None
    assert here.local.state.find_pull_request(number).comments == []
    assert here.follow(proposal).done == ("closed_there",)
    assert len(here.local.state.find_pull_request(number).comments) == 1


def test_failure_of_one_pull_request_does_not_affect_others(here: ForgeScene) -> None:
    first, other = here.create_pull_request()
    second, number = here.create_pull_request()
    for item in (other, number):
        here.local.state.review(item, "ana", "approved")
    here.local.faults.append(Fault(status=403, path=f"/pulls/{number}/reviews"))
    report = here.round(branches=[first.content.branch, second.content.branch])
    assert report.error is not None
    assert report.error.code == "FORGE_DENIED"
    assert [pull_request.proposal for pull_request in report.pull_requests] == [first.id]
    assert here.now(first).state is ProposalState.APPROVED


def test_response_for_another_pull_request_is_rejected(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    _, other = here.create_pull_request()
    body = github_api._pull_request(here.local, here.local.state.find_pull_request(other), "pull-request")
    here.local.faults.append(Fault(status=200, body=body, path=f"/pulls/{number}$"))
    report = here.round(branches=[proposal.content.branch])
    assert report.error is not None
    assert "the response is for another pull request" in report.error.message
    assert report.pull_requests == ()


def test_client_named_like_a_forge_is_not_trusted(here: ForgeScene) -> None:
    proposal, _ = here.create_pull_request()
    author = Author("Ada", "ada@example.org", KnownBy.CLIENT, "GitHub")
    here.proposal_actions.close(proposal.id, Actor(author, "update_proposal", "GitHub"), "Not now.")
    assert here.follow(proposal).done == ("closed_there",)
    words = f"Opened as pull request [1](https://evil.example/{proposal.id})."
    here.proposal_actions.comment(proposal.id, Actor(author, "update_proposal", "GitHub"), words)
    assert relay.find_link(here.proposal_actions.list_events(proposal)) is None


def test_link_is_read_from_field_or_old_comment(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    request = here.forge.get(number)
    here.proposal_actions.relay(proposal.id, [relay.build_opened_event("github", request, proposal)])
    opened, link = here.proposal_actions.list_events(proposal)[-1], request.url
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


def test_caller_cannot_use_the_key_of_a_forge_comment(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.local.state.comment(number, "ben", f"I quote:\n\n> {format_marker(proposal.id)}\n\nand say more.")
    (events,) = relay.comments_to_events("github", here.forge.list_comments(number), proposal)
    with pytest.raises(InvalidKey):
        here.proposal_actions.comment(proposal.id, AGENT, "First.", key=events.key)
    assert here.follow(proposal).comments == 1


def test_review_without_commit_applies_to_last_submission(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.rewrite(proposal)
    again = here.proposal_actions.submit(proposal.id, AGENT).proposal
    events = here.proposal_actions.list_events(again)
    between, after = events[1].time, events[-1].time
    request = here.forge.get(number)
    for time, commit in ((between, proposal.tip), (after, again.tip)):
        review = ForgeReview("1", "ana", "approved", "", None, time, "")
        (outcome,) = relay.reviews_to_events("gitlab", [review], request, again, events)
        assert outcome.words.commit == commit  # type: ignore[union-attr]


def test_closed_proposal_closes_pull_request_with_one_comment(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.proposal_actions.close(proposal.id, ADA, "Not now.")
    assert here.follow(proposal).done == ("closed_there",)
    there = here.local.state.find_pull_request(number)
    assert there.state == "closed"
    assert "Closed where it was proposed." in there.comments[-1].text
    assert here.follow(proposal).comments == 0
    assert here.now(proposal).content.threads == ()


def test_merged_proposal_closes_pull_request_after_push(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    here.proposal_actions.review(proposal.id, here.person("bea"), ReviewDecision.APPROVE)
    merged = here.proposal_actions.merge(proposal.id, here.person("cleo"))
    assert here.follow(proposal).done == ()
    assert here.local.state.find_pull_request(number).state == "open"
    # A forge that does not detect the pushed merge: its pull request is closed later.
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


def test_conflict_on_forge_is_reported(here: ForgeScene) -> None:
    proposal, _ = here.create_pull_request()
    page = here.page_of(proposal)
    here.repo.commit({page: "# Page\n\n## Use\n\nNever.\n"})
    here.repo.git("push", "-q", "origin", "main")
    report = here.follow(proposal)
    assert report.waits == "conflict"
    lines = format_round(here.round(branches=[proposal.content.branch]))
    assert lines == [
        f"Proposal {proposal.id} has conflicts with its target on GitHub.",
        f"  next: docyard proposals refresh {proposal.id}",
    ]


def test_number_selects_its_proposal_and_issue_selects_none(here: ForgeScene) -> None:
    proposal, number = here.create_pull_request()
    report = here.round(numbers=[number, 999_999])
    assert [pull_request.proposal for pull_request in report.pull_requests] == [proposal.id]
    assert here.round(numbers=[999_999]).pull_requests == ()


class Exchange(NamedTuple):
    """The fields of an exchange with the remote that a round reads."""

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
def test_forge_failure_is_reported_and_changes_nothing(here: ForgeScene, fault: Limit) -> None:
    proposal, number = here.create_pull_request()
    here.local.state.review(number, "ana", "approved")
    fails = Fault(status=fault.status, headers=fault.headers, times=3, path="reviews")
    here.local.faults.append(fails)
    report = here.round(branches=[proposal.content.branch])
    assert report.error is not None
    assert report.error.code == fault.code
    assert here.now(proposal).content.reviews == ()
    data = round_to_data(report)
    assert data is not None
    assert data["error"]["code"] == fault.code  # type: ignore[index]
    assert "was not checked completely" in format_round(report)[0]
    here.local.faults.clear()
    assert here.follow(proposal).reviews == 1


def test_forge_user_names_are_valid_for_git() -> None:
    odd = build_author("gitea", "<b>\x1b[31m o\nline </b>").author
    assert "<" not in odd.name + odd.email
    assert odd.name.isprintable()
    assert build_author("gitea", "<>").author.name == "somebody"
    assert build_author("github", "ana").author.key != build_author("gitea", "ana").author.key


def test_rate_limited_forge_is_not_called_until_retry_time(
    here: ForgeScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    rounds = ForgeRounds(here.workspace, here.access, clock=lambda: now[0])

    def follow(**options: object) -> object:
        return rounds.follow(Exchange(), branches=["none"], **options)  # type: ignore[arg-type]

    here.local.faults.append(Fault(status=429, headers={"retry-after": "90"}, times=1))
    first = rounds.follow(Exchange(), numbers=[1])  # type: ignore[arg-type]
    assert first is not None
    assert isinstance(first.error, ForgeLimited)
    here.local.received.clear()
    now[0] = 89.0
    assert follow() == first
    assert here.local.received == []
    now[0] = 91.0
    again = follow()
    assert again != first
    assert again.error is None  # type: ignore[attr-defined]


def test_round_without_forge_does_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "alone")
    rounds = ForgeRounds(scene.workspace, ForgeAccess)
    assert rounds.follow(Exchange()) is None  # type: ignore[arg-type]
