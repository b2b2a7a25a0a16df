"""Synchronisation of a pull request and its proposal: imported reviews and comments, and equal states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from docyard.forges import event_conversion, pull_request_sync
from docyard.forges.errors import ForgeLimited
from docyard.forges.event_conversion import build_actor
from docyard.forges.forge_checker import ForgeChecker
from docyard.forges.forge_repository import ForgeAccess
from docyard.forges.port import ForgeReview
from docyard.forges.pull_request_sync import PullRequestOutcome, check_result_to_data, format_check_result
from docyard.forges.pull_requests import format_marker
from docyard.sync import Synchronizer
from tests.docyard.forges.forge_setup import ForgeSetup, open_forge_setup
from tests.docyard.forges.local_forge import Fault, github_api
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, GIT_ACTOR, ProposalSetup
from workspace.config.tables import RemoteSettings
from workspace.git.remotes.credentials import Access
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.repository import Actor
from workspace.proposals.approvals import NeedsPerson
from workspace.proposals.events import (
    Author,
    Commented,
    IdentitySource,
    ReviewDecision,
    UnreadableEvent,
    decode_event,
    encode_event,
)
from workspace.proposals.proposal import CommitRelation, Proposal, ProposalState
from workspace.writing.idempotency import InvalidKey


@pytest.fixture(scope="module")
def shared_setup(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeSetup]:
    rules = '[[protect]]\npaths = ["page-*.md"]\napprovals = 1\n'
    with open_forge_setup("github", tmp_path_factory.mktemp("setup"), rules) as setup:
        yield setup


@pytest.fixture
def setup(shared_setup: ForgeSetup) -> ForgeSetup:
    shared_setup.local_forge.faults.clear()
    return shared_setup


# The tests that check all proposals come first, because the shared setup has few proposals only then.
@pytest.mark.process
def test_server_imports_reviews_after_fetch_and_reports_failure(setup: ForgeSetup) -> None:
    synchronizer = Synchronizer(setup.workspace, Access, ForgeChecker(setup.workspace, setup.get_access))
    proposal, number = setup.create_pull_request()
    setup.local_forge.state.review(number, "ana", "changes_requested", "Say why.")
    settings = RemoteSettings(every=3600)
    setup.local_forge.faults.append(Fault(status=401, times=1))
    synchronizer._exchange(settings, fetch=True)
    failure = setup.workspace.sync_status().failure
    assert failure is not None
    assert failure.error.code == "FORGE_DENIED"
    synchronizer._exchange(settings, fetch=True)
    assert setup.workspace.sync_status().failure is None
    assert setup.reload(proposal).state is ProposalState.CHANGES_REQUESTED


def test_check_of_unchanged_pull_request_sends_one_request(setup: ForgeSetup) -> None:
    proposal, _ = setup.create_pull_request()
    draft = setup.open()
    setup.check_forge()
    setup.local_forge.requests.clear()
    check_result = setup.check_forge()
    outcomes = [
        pull_request for pull_request in check_result.pull_requests if pull_request.proposal == proposal.id
    ]
    assert [pull_request.wrote_events for pull_request in outcomes] == [False]
    assert draft.id not in {pull_request.proposal for pull_request in check_result.pull_requests}
    assert all(request.path.endswith("/pulls") for request in setup.local_forge.requests)
    assert (
        len(
            [
                request
                for request in setup.local_forge.requests
                if proposal.content.branch in str(request.query)
            ]
        )
        == 1
    )


def test_many_pull_requests_are_listed_by_one_request(
    setup: ForgeSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_request_sync, "MIN_OPEN_PROPOSALS_FOR_LIST", 2)
    first_proposal, number = setup.create_pull_request()
    second_proposal, second_number = setup.create_pull_request()
    proposal_without_request = setup.submit_proposal("More.", setup.choose_page())
    setup.check_forge()

    def list_calls() -> list[str]:
        return [
            request.query.get("head", request.path.partition("/docs/")[2])
            for request in setup.local_forge.requests
        ]

    def check_all_and_select(proposal: Proposal) -> PullRequestOutcome:
        return next(
            pull_request
            for pull_request in setup.check_forge().pull_requests
            if pull_request.proposal == proposal.id
        )

    setup.local_forge.requests.clear()
    assert check_all_and_select(first_proposal).wrote_events is False
    assert list_calls() == ["pulls"]  # also for the proposal without a pull request
    setup.local_forge.state.review(number, "ana", "approved")
    setup.local_forge.requests.clear()
    assert check_all_and_select(first_proposal).review_count == 1
    assert list_calls() == [
        "pulls",
        f"pulls/{number}",
        f"pulls/{number}/reviews",
        f"issues/{number}/comments",
    ]
    setup.forge.close(second_number)
    assert check_all_and_select(second_proposal).state_changes == ("closed",)
    setup.forge.update(second_number, state="open")
    assert check_all_and_select(second_proposal).state_changes == ("reopened",)
    setup.forge.close(second_number)
    assert check_all_and_select(second_proposal).state_changes == ("closed",)
    assert setup.reload(proposal_without_request).is_open


def test_forge_approval_is_shown_but_satisfies_no_rule(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.local_forge.state.review(number, "ana", "approved", "Good.")
    outcome = setup.check_pull_request(proposal)
    assert (outcome.review_count, outcome.comment_count, outcome.state_changes, outcome.pending_reason) == (
        1,
        0,
        (),
        None,
    )
    reloaded_proposal = setup.reload(proposal)
    (bound_review,) = reloaded_proposal.reviews
    author = bound_review.review.author
    assert (author.name, author.known_by, author.label) == ("ana", IdentitySource.CLIENT, "GitHub")
    assert (bound_review.review.verdict, bound_review.review.text, bound_review.relation) == (
        ReviewDecision.APPROVE,
        "Good.",
        CommitRelation.CURRENT,
    )
    assert reloaded_proposal.state is ProposalState.OPEN
    blockers = setup.proposal_actions.find_merge_requirements(
        reloaded_proposal, setup.workspace.proposal_reviews().preview(reloaded_proposal)
    )
    assert not blockers.requirements[0].is_met
    assert {reason.value for reason in blockers.void_reasons.values()} == {"no_token"}
    with pytest.raises(MergeBlocked, match="1 approval"):
        setup.proposal_actions.merge(proposal.id, setup.person("cleo"))
    with pytest.raises(NeedsPerson):
        setup.proposal_actions.review(proposal.id, build_actor("github", "ana"), ReviewDecision.APPROVE)


def test_change_request_remains_until_its_author_approves(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.local_forge.state.review(number, "ana", "changes_requested", "Say why.")
    assert setup.check_pull_request(proposal).review_count == 1
    assert setup.reload(proposal).state is ProposalState.CHANGES_REQUESTED
    setup.local_forge.state.review(number, "ben", "approved")
    setup.check_pull_request(proposal)
    assert setup.reload(proposal).state is ProposalState.CHANGES_REQUESTED
    setup.local_forge.state.review(number, "ana", "approved")
    setup.check_pull_request(proposal)
    assert setup.reload(proposal).state is ProposalState.OPEN


def test_reviews_and_comments_are_imported_once(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.local_forge.state.review(number, "ana", "changes_requested", "Say why.")
    setup.local_forge.state.comment(number, "ben", "And *when*?\n\nSoon.")
    first_outcome = setup.check_pull_request(proposal)
    assert (first_outcome.review_count, first_outcome.comment_count) == (1, 1)
    assert first_outcome.wrote_events
    for importer in (setup.importer, type(setup.importer)(setup.workspace)):
        outcomes = importer.import_changes(
            setup.forge, "origin", branches=[proposal.content.branch]
        ).pull_requests
        assert [
            (outcome.review_count, outcome.comment_count, outcome.wrote_events) for outcome in outcomes
        ] == [(0, 0, False)]
    (thread,) = setup.reload(proposal).content.threads
    assert thread.comment.text == "And *when*?\n\nSoon."
    assert thread.comment.author.name == "ben"


def test_answered_change_request_is_imported_as_comment(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.local_forge.state.review(number, "ana", "changes_requested", "Say why.")
    setup.add_commit(proposal)
    setup.proposal_actions.submit(proposal.id, AGENT_ACTOR)
    setup.push(proposal)
    assert setup.check_pull_request(proposal).review_count == 1
    reloaded_proposal = setup.reload(proposal)
    assert reloaded_proposal.state is ProposalState.OPEN
    assert reloaded_proposal.content.reviews[0].verdict is ReviewDecision.COMMENT
    assert "Say why." in reloaded_proposal.content.reviews[0].text


def test_dismissal_is_imported_as_comment(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    review = setup.local_forge.state.review(number, "ana", "changes_requested", "Say why.")
    setup.check_pull_request(proposal)
    review.verdict = "dismissed"
    setup.check_pull_request(proposal)
    setup.check_pull_request(proposal)
    reloaded_proposal = setup.reload(proposal)
    assert reloaded_proposal.state is ProposalState.CHANGES_REQUESTED
    (thread,) = reloaded_proposal.content.threads
    assert "dismissed on GitHub" in thread.comment.text
    setup.add_commit(proposal)
    assert setup.proposal_actions.submit(proposal.id, AGENT_ACTOR).proposal.state is ProposalState.OPEN


def test_approval_of_older_commit_does_not_count(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.local_forge.state.review(number, "ana", "approved")
    setup.add_commit(proposal)
    setup.check_pull_request(proposal)
    reloaded_proposal = setup.reload(proposal)
    assert reloaded_proposal.reviews[0].relation is CommitRelation.EDITED
    assert reloaded_proposal.state is ProposalState.OPEN


def test_merge_on_forge_is_detected_from_commits(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.local_forge.state.merge(number, None, "Merge it", "ana")
    assert setup.check_pull_request(proposal).pending_reason == "not_fetched"
    assert setup.reload(proposal).state is ProposalState.OPEN
    setup.pull()
    outcome = setup.check_pull_request(proposal)
    assert (outcome.state, outcome.state_changes, outcome.pending_reason) == ("merged", (), None)
    reloaded_proposal = setup.reload(proposal)
    assert reloaded_proposal.state is ProposalState.MERGED
    assert reloaded_proposal.content.closed_by is None


def test_squash_on_forge_closes_proposal_with_its_commit(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    commit = setup.local_forge.state.merge(number, None, "Squash it", "ana", method="squash")
    assert setup.check_pull_request(proposal).pending_reason == "not_fetched"
    setup.pull()
    assert setup.check_pull_request(proposal).state_changes == ("closed",)
    reloaded_proposal = setup.reload(proposal)
    assert reloaded_proposal.state is ProposalState.CLOSED
    (close_event,) = [
        event
        for event in setup.proposal_actions.list_events(reloaded_proposal)
        if event.body.kind == "closed"
    ]
    assert f"Merged on GitHub as {commit[:12]}" in close_event.body.text  # type: ignore[union-attr]
    assert setup.check_pull_request(proposal).state_changes == ()


@pytest.mark.parametrize("method", ["merge", "squash"])
def test_merge_without_last_commits_leaves_proposal_open(setup: ForgeSetup, method: str) -> None:
    proposal, number = setup.create_pull_request()
    setup.local_forge.state.merge(number, None, "Merge it", "ana", method=method)
    setup.add_commit(proposal)
    setup.pull()
    outcome = setup.check_pull_request(proposal)
    assert (outcome.state_changes, outcome.pending_reason) == ((), "gone_on")
    assert setup.reload(proposal).state is ProposalState.OPEN


def test_close_and_reopen_on_forge_are_applied(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.forge.close(number)
    assert setup.check_pull_request(proposal).state_changes == ("closed",)
    assert setup.reload(proposal).state is ProposalState.CLOSED
    setup.forge.update(number, state="open")
    assert setup.check_pull_request(proposal).state_changes == ("reopened",)
    assert setup.reload(proposal).state is ProposalState.OPEN


def test_reopened_proposal_is_not_closed_again(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.forge.close(number)
    setup.check_pull_request(proposal)
    setup.proposal_actions.reopen(proposal.id, GIT_ACTOR)
    for _ in range(2):
        assert setup.check_pull_request(proposal).state_changes == ()
    assert setup.reload(proposal).state is ProposalState.OPEN


def test_update_of_closed_pull_request_leaves_proposal_open(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.forge.close(number)
    setup.check_pull_request(proposal)
    setup.proposal_actions.reopen(proposal.id, GIT_ACTOR)
    pull_request = setup.local_forge.state.pull_requests[number - 1]
    pull_request.updated_at = datetime.now(UTC) + timedelta(hours=1)
    assert setup.check_pull_request(proposal).state_changes == ()
    assert setup.reload(proposal).state is ProposalState.OPEN


def test_token_that_cannot_close_pull_request_adds_no_comment(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.proposal_actions.close(proposal.id, GIT_ACTOR, "Not now.")
    setup.local_forge.faults.append(Fault(status=403, method="PATCH", times=2))
    for _ in range(2):
        assert setup.check_forge(branches=[proposal.content.branch]).error is not None
    assert setup.local_forge.state.find_pull_request(number).comments == []
    assert setup.check_pull_request(proposal).state_changes == ("closed_there",)
    assert len(setup.local_forge.state.find_pull_request(number).comments) == 1


def test_failure_of_one_pull_request_does_not_affect_others(setup: ForgeSetup) -> None:
    first_proposal, first_number = setup.create_pull_request()
    second_proposal, second_number = setup.create_pull_request()
    for number in (first_number, second_number):
        setup.local_forge.state.review(number, "ana", "approved")
    setup.local_forge.faults.append(Fault(status=403, path=f"/pulls/{second_number}/reviews"))
    check_result = setup.check_forge(branches=[first_proposal.content.branch, second_proposal.content.branch])
    assert check_result.error is not None
    assert check_result.error.code == "FORGE_DENIED"
    assert [pull_request.proposal for pull_request in check_result.pull_requests] == [first_proposal.id]
    assert [status.approves for status in setup.reload(first_proposal).reviews] == [True]


def test_response_for_another_pull_request_is_rejected(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    _, other_number = setup.create_pull_request()
    body = github_api._make_pull_request(
        setup.local_forge, setup.local_forge.state.find_pull_request(other_number), "pull-request"
    )
    setup.local_forge.faults.append(Fault(status=200, body=body, path=f"/pulls/{number}$"))
    check_result = setup.check_forge(branches=[proposal.content.branch])
    assert check_result.error is not None
    assert "the response is for another pull request" in check_result.error.message
    assert check_result.pull_requests == ()


def test_client_named_like_a_forge_is_not_trusted(setup: ForgeSetup) -> None:
    proposal, _ = setup.create_pull_request()
    author = Author("Ada", "ada@example.org", IdentitySource.CLIENT, "GitHub")
    setup.proposal_actions.close(proposal.id, Actor(author, "update_proposal", "GitHub"), "Not now.")
    assert setup.check_pull_request(proposal).state_changes == ("closed_there",)
    text = f"Opened as pull request [1](https://evil.example/{proposal.id})."
    setup.proposal_actions.comment(proposal.id, Actor(author, "update_proposal", "GitHub"), text)
    assert event_conversion.find_pull_request_url(setup.proposal_actions.list_events(proposal)) is None


def test_pull_request_url_is_read_from_event_field_or_old_comment(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    request = setup.forge.get(number)
    setup.proposal_actions.relay(
        proposal.id, [event_conversion.build_opened_event("github", request, proposal)]
    )
    opened_event, link = setup.proposal_actions.list_events(proposal)[-1], request.url
    assert isinstance(opened_event.body, Commented)
    assert opened_event.body.pull_request == link
    assert event_conversion.find_pull_request_url([opened_event]) == link
    old_body = replace(opened_event.body, pull_request=None)
    assert event_conversion.find_pull_request_url([opened_event._replace(body=old_body)]) == link
    reworded_body = replace(opened_event.body, text="It was opened.")
    assert event_conversion.find_pull_request_url([opened_event._replace(body=reworded_body)]) == link
    for text in ("It was opened.", "Opened as pull request [1](javascript:0)."):
        assert (
            event_conversion.find_pull_request_url([opened_event._replace(body=replace(old_body, text=text))])
            is None
        )
    with pytest.raises(UnreadableEvent):
        encode_event(
            proposal.id,
            replace(old_body, pull_request="javascript:0"),
            opened_event.author,
            opened_event.time,
        )
    for body in (old_body, opened_event.body):
        file, data = encode_event(proposal.id, body, opened_event.author, opened_event.time)
        assert event_conversion.find_pull_request_url([decode_event(proposal.id, file, data)]) == link


def test_caller_cannot_use_idempotency_key_of_forge_comment(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.local_forge.state.comment(
        number, "ben", f"I quote:\n\n> {format_marker(proposal.id)}\n\nand say more."
    )
    (comment_event,) = event_conversion.comments_to_events(
        "github", setup.forge.list_comments(number), proposal
    )
    with pytest.raises(InvalidKey):
        setup.proposal_actions.comment(proposal.id, AGENT_ACTOR, "First.", key=comment_event.key)
    assert setup.check_pull_request(proposal).comment_count == 1


def test_review_without_commit_applies_to_last_submission(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.add_commit(proposal)
    resubmitted_proposal = setup.proposal_actions.submit(proposal.id, AGENT_ACTOR).proposal
    events = setup.proposal_actions.list_events(resubmitted_proposal)
    time_between, time_after = events[1].time, events[-1].time
    request = setup.forge.get(number)
    for time, commit in ((time_between, proposal.tip), (time_after, resubmitted_proposal.tip)):
        review = ForgeReview("1", "ana", "approved", "", None, time, "")
        (event,) = event_conversion.reviews_to_events(
            "gitlab", [review], request, resubmitted_proposal, events
        )
        assert event.body.commit == commit  # type: ignore[union-attr]


def test_closed_proposal_closes_pull_request_with_one_comment(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.proposal_actions.close(proposal.id, GIT_ACTOR, "Not now.")
    assert setup.check_pull_request(proposal).state_changes == ("closed_there",)
    pull_request = setup.local_forge.state.find_pull_request(number)
    assert pull_request.state == "closed"
    assert "The proposal was closed in Docyard." in pull_request.comments[-1].text
    assert setup.check_pull_request(proposal).comment_count == 0
    assert setup.reload(proposal).content.threads == ()


def test_merged_proposal_closes_pull_request_after_push(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    setup.proposal_actions.review(proposal.id, setup.person("bea"), ReviewDecision.APPROVE)
    merge_result = setup.proposal_actions.merge(proposal.id, setup.person("cleo"))
    assert setup.check_pull_request(proposal).state_changes == ()
    assert setup.local_forge.state.find_pull_request(number).state == "open"
    # This forge does not detect the pushed merge, so docyard closes the pull request later.
    pull_request = setup.local_forge.state.pull_requests[number - 1]
    target, pull_request.target = pull_request.target, "elsewhere"
    setup.repo.git("push", "-q", "origin", "main")
    pull_request.target = target
    state = setup.local_forge.state
    state._contains = lambda tip, commit: False  # type: ignore[method-assign]
    try:
        assert setup.check_pull_request(proposal, was_pushed=True).state_changes == ()
        assert setup.check_pull_request(proposal).state_changes == ("closed_there",)
    finally:
        del state._contains
    assert f"Docyard merged the proposal as {merge_result.commit}." in pull_request.comments[-1].text


def test_conflict_on_forge_is_reported(setup: ForgeSetup) -> None:
    proposal, _ = setup.create_pull_request()
    page = setup.find_page(proposal)
    setup.repo.commit({page: "# Page\n\n## Use\n\nNever.\n"})
    setup.repo.git("push", "-q", "origin", "main")
    outcome = setup.check_pull_request(proposal)
    assert outcome.pending_reason == "conflict"
    lines = format_check_result(setup.check_forge(branches=[proposal.content.branch]))
    assert lines == [
        f"Proposal {proposal.id} has conflicts with its target on GitHub.",
        f"  next: docyard proposals refresh {proposal.id}",
    ]


def test_check_with_numbers_checks_only_their_proposals(setup: ForgeSetup) -> None:
    proposal, number = setup.create_pull_request()
    check_result = setup.check_forge(numbers=[number, 999_999])
    assert [pull_request.proposal for pull_request in check_result.pull_requests] == [proposal.id]
    assert setup.check_forge(numbers=[999_999]).pull_requests == ()


class StubExchange(NamedTuple):
    """The fields of the result of an exchange with the remote that `ForgeChecker` reads."""

    remote: str = "origin"
    pushed_count: int = 0


class ForgeFailure(NamedTuple):
    """A response of a failing forge, and the code of the reported error."""

    status: int
    headers: dict[str, str]
    code: str


@pytest.mark.parametrize(
    "failure",
    [
        ForgeFailure(429, {"retry-after": "90"}, "FORGE_LIMITED"),
        ForgeFailure(401, {}, "FORGE_DENIED"),
        ForgeFailure(500, {}, "FORGE_FAILED"),
    ],
    ids=lambda failure: str(failure.status),
)
def test_forge_failure_is_reported_and_changes_nothing(setup: ForgeSetup, failure: ForgeFailure) -> None:
    proposal, number = setup.create_pull_request()
    setup.local_forge.state.review(number, "ana", "approved")
    forge_fault = Fault(status=failure.status, headers=failure.headers, times=3, path="reviews")
    setup.local_forge.faults.append(forge_fault)
    check_result = setup.check_forge(branches=[proposal.content.branch])
    assert check_result.error is not None
    assert check_result.error.code == failure.code
    assert setup.reload(proposal).content.reviews == ()
    data = check_result_to_data(check_result)
    assert data is not None
    assert data["error"]["code"] == failure.code  # type: ignore[index]
    assert "was not checked completely" in format_check_result(check_result)[0]
    setup.local_forge.faults.clear()
    assert setup.check_pull_request(proposal).review_count == 1


def test_forge_user_names_are_valid_for_git() -> None:
    author = build_actor("gitea", "<b>\x1b[31m o\nline </b>").author
    assert "<" not in author.name + author.email
    assert author.name.isprintable()
    assert build_actor("gitea", "<>").author.name == "somebody"
    assert build_actor("github", "ana").author.key != build_actor("gitea", "ana").author.key


def test_rate_limited_forge_is_not_called_until_retry_time(
    setup: ForgeSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_time = [0.0]
    forge_checker = ForgeChecker(setup.workspace, setup.get_access, clock=lambda: clock_time[0])

    def check_branch(**options: object) -> object:
        return forge_checker.import_changes(StubExchange(), branches=["none"], **options)  # type: ignore[arg-type]

    setup.local_forge.faults.append(Fault(status=429, headers={"retry-after": "90"}, times=1))
    first_result = forge_checker.import_changes(StubExchange(), numbers=[1])  # type: ignore[arg-type]
    assert first_result is not None
    assert isinstance(first_result.error, ForgeLimited)
    setup.local_forge.requests.clear()
    clock_time[0] = 89.0
    assert check_branch() == first_result
    assert setup.local_forge.requests == []
    clock_time[0] = 91.0
    second_result = check_branch()
    assert second_result != first_result
    assert second_result.error is None  # type: ignore[attr-defined]


def test_check_without_forge_settings_returns_none(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "docs")
    forge_checker = ForgeChecker(setup.workspace, ForgeAccess)
    assert forge_checker.import_changes(StubExchange()) is None  # type: ignore[arg-type]
