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
from docyard.forges.relay import build_actor
from docyard.forges.rounds import ForgeRounds
from docyard.sync import Synchronizer
from tests.docyard.forges.forge_scene import ForgeScene, open_forge_scene
from tests.docyard.forges.local_forge import Fault, github_api
from tests.workspace.proposals.actions.scene import ADA, AGENT, Scene
from workspace.config.tables import RemoteSettings
from workspace.git.remotes.credentials import Access
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.actions.repository import Actor
from workspace.proposals.approvals import NeedsPerson
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
    with open_forge_scene("github", tmp_path_factory.mktemp("scene"), rules) as scene:
        yield scene


@pytest.fixture
def scene(shared_scene: ForgeScene) -> ForgeScene:
    shared_scene.local.faults.clear()
    return shared_scene


# Tests of rounds over all proposals come first, while there are few proposals.
@pytest.mark.process
def test_server_imports_after_fetch_and_reports_failure(scene: ForgeScene) -> None:
    synchronizer = Synchronizer(scene.workspace, Access, ForgeRounds(scene.workspace, scene.access))
    proposal, number = scene.create_pull_request()
    scene.local.state.review(number, "ana", "changes_requested", "Say why.")
    settings = RemoteSettings(every=3600)
    scene.local.faults.append(Fault(status=401, times=1))
    synchronizer._exchange(settings, fetch=True)
    failure = scene.workspace.sync_status().failure
    assert failure is not None
    assert failure.error.code == "FORGE_DENIED"
    synchronizer._exchange(settings, fetch=True)
    assert scene.workspace.sync_status().failure is None
    assert scene.reload(proposal).state is ProposalState.CHANGES_REQUESTED


def test_unchanged_pull_request_costs_one_call(scene: ForgeScene) -> None:
    proposal, _ = scene.create_pull_request()
    draft = scene.open()
    scene.run_round()
    scene.local.requests.clear()
    report = scene.run_round()
    outcomes = [pull_request for pull_request in report.pull_requests if pull_request.proposal == proposal.id]
    assert [pull_request.wrote_events for pull_request in outcomes] == [False]
    assert draft.id not in {pull_request.proposal for pull_request in report.pull_requests}
    assert all(request.path.endswith("/pulls") for request in scene.local.requests)
    assert (
        len([request for request in scene.local.requests if proposal.content.branch in str(request.query)])
        == 1
    )


def test_many_pull_requests_are_listed_by_one_call(
    scene: ForgeScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_request_sync, "MIN_OPEN_PROPOSALS_FOR_LIST", 2)
    first, number = scene.create_pull_request()
    second, second_number = scene.create_pull_request()
    unopened = scene.submit_proposal("More.", scene.choose_page())
    scene.run_round()

    def calls() -> list[str]:
        return [
            request.query.get("head", request.path.partition("/docs/")[2]) for request in scene.local.requests
        ]

    def outcome(proposal: Proposal) -> PullRequestOutcome:
        return next(
            pull_request
            for pull_request in scene.run_round().pull_requests
            if pull_request.proposal == proposal.id
        )

    scene.local.requests.clear()
    assert outcome(first).wrote_events is False
    assert calls() == ["pulls"]  # also for the proposal without a pull request
    scene.local.state.review(number, "ana", "approved")
    scene.local.requests.clear()
    assert outcome(first).reviews == 1
    assert calls() == [
        "pulls",
        f"pulls/{number}",
        f"pulls/{number}/reviews",
        f"issues/{number}/comments",
    ]
    scene.forge.close(second_number)
    assert outcome(second).done == ("closed",)
    scene.forge.update(second_number, state="open")
    assert outcome(second).done == ("reopened",)
    scene.forge.close(second_number)
    assert outcome(second).done == ("closed",)
    assert scene.reload(unopened).is_open


def test_forge_approval_is_shown_but_satisfies_no_rule(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.local.state.review(number, "ana", "approved", "Good.")
    report = scene.check_pull_request(proposal)
    assert (report.reviews, report.comments, report.done, report.waits) == (1, 0, (), None)
    reloaded_proposal = scene.reload(proposal)
    (bound_review,) = reloaded_proposal.reviews
    author = bound_review.review.author
    assert (author.name, author.known_by, author.label) == ("ana", KnownBy.CLIENT, "GitHub")
    assert (bound_review.review.verdict, bound_review.review.text, bound_review.relation) == (
        ReviewDecision.APPROVE,
        "Good.",
        CommitRelation.CURRENT,
    )
    assert reloaded_proposal.state is ProposalState.APPROVED
    blockers = scene.proposal_actions.find_merge_blockers(
        reloaded_proposal, scene.workspace.proposal_reviews().preview(reloaded_proposal)
    )
    assert not blockers.requirements[0].is_met
    assert {reason.value for reason in blockers.void_reasons.values()} == {"no_token"}
    with pytest.raises(MergeBlocked, match="1 approval"):
        scene.proposal_actions.merge(proposal.id, scene.person("cleo"))
    with pytest.raises(NeedsPerson):
        scene.proposal_actions.review(proposal.id, build_actor("github", "ana"), ReviewDecision.APPROVE)


def test_change_request_remains_until_its_author_approves(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.local.state.review(number, "ana", "changes_requested", "Say why.")
    assert scene.check_pull_request(proposal).reviews == 1
    assert scene.reload(proposal).state is ProposalState.CHANGES_REQUESTED
    scene.local.state.review(number, "ben", "approved")
    scene.check_pull_request(proposal)
    assert scene.reload(proposal).state is ProposalState.CHANGES_REQUESTED
    scene.local.state.review(number, "ana", "approved")
    scene.check_pull_request(proposal)
    assert scene.reload(proposal).state is ProposalState.APPROVED


def test_reviews_and_comments_are_imported_once(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.local.state.review(number, "ana", "changes_requested", "Say why.")
    scene.local.state.comment(number, "ben", "And *when*?\n\nSoon.")
    first = scene.check_pull_request(proposal)
    assert (first.reviews, first.comments) == (1, 1)
    assert first.wrote_events
    for importer in (scene.importer, type(scene.importer)(scene.workspace)):
        outcomes = importer.import_changes(
            scene.forge, "origin", branches=[proposal.content.branch]
        ).pull_requests
        assert [(item.reviews, item.comments, item.wrote_events) for item in outcomes] == [(0, 0, False)]
    (thread,) = scene.reload(proposal).content.threads
    assert thread.comment.text == "And *when*?\n\nSoon."
    assert thread.comment.author.name == "ben"


def test_answered_change_request_is_imported_as_comment(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.local.state.review(number, "ana", "changes_requested", "Say why.")
    scene.add_commit(proposal)
    scene.proposal_actions.submit(proposal.id, AGENT)
    scene.push(proposal)
    assert scene.check_pull_request(proposal).reviews == 1
    reloaded_proposal = scene.reload(proposal)
    assert reloaded_proposal.state is ProposalState.OPEN
    assert reloaded_proposal.content.reviews[0].verdict is ReviewDecision.COMMENT
    assert "Say why." in reloaded_proposal.content.reviews[0].text


def test_dismissal_is_imported_as_comment(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    review = scene.local.state.review(number, "ana", "changes_requested", "Say why.")
    scene.check_pull_request(proposal)
    review.verdict = "dismissed"
    scene.check_pull_request(proposal)
    scene.check_pull_request(proposal)
    reloaded_proposal = scene.reload(proposal)
    assert reloaded_proposal.state is ProposalState.CHANGES_REQUESTED
    (thread,) = reloaded_proposal.content.threads
    assert "dismissed on GitHub" in thread.comment.text
    scene.add_commit(proposal)
    assert scene.proposal_actions.submit(proposal.id, AGENT).proposal.state is ProposalState.OPEN


def test_approval_of_older_commit_does_not_count(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.local.state.review(number, "ana", "approved")
    scene.add_commit(proposal)
    scene.check_pull_request(proposal)
    reloaded_proposal = scene.reload(proposal)
    assert reloaded_proposal.reviews[0].relation is CommitRelation.EDITED
    assert reloaded_proposal.state is ProposalState.OPEN


def test_merge_on_forge_is_detected_from_commits(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.local.state.merge(number, None, "Merge it", "ana")
    assert scene.check_pull_request(proposal).waits == "not_fetched"
    assert scene.reload(proposal).state is ProposalState.OPEN
    scene.pull()
    report = scene.check_pull_request(proposal)
    assert (report.state, report.done, report.waits) == ("merged", (), None)
    reloaded_proposal = scene.reload(proposal)
    assert reloaded_proposal.state is ProposalState.MERGED
    assert reloaded_proposal.content.closed_by is None


def test_squash_on_forge_closes_proposal_with_its_commit(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    commit = scene.local.state.merge(number, None, "Squash it", "ana", method="squash")
    assert scene.check_pull_request(proposal).waits == "not_fetched"
    scene.pull()
    assert scene.check_pull_request(proposal).done == ("closed",)
    reloaded_proposal = scene.reload(proposal)
    assert reloaded_proposal.state is ProposalState.CLOSED
    (closing,) = [
        event
        for event in scene.proposal_actions.list_events(reloaded_proposal)
        if event.body.kind == "closed"
    ]
    assert f"Merged on GitHub as {commit[:12]}" in closing.body.text  # type: ignore[union-attr]
    assert scene.check_pull_request(proposal).done == ()


@pytest.mark.parametrize("method", ["merge", "squash"])
def test_merge_without_last_commits_leaves_proposal_open(scene: ForgeScene, method: str) -> None:
    proposal, number = scene.create_pull_request()
    scene.local.state.merge(number, None, "Merge it", "ana", method=method)
    scene.add_commit(proposal)
    scene.pull()
    report = scene.check_pull_request(proposal)
    assert (report.done, report.waits) == ((), "gone_on")
    assert scene.reload(proposal).state is ProposalState.OPEN


def test_close_and_reopen_on_forge_are_applied(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.forge.close(number)
    assert scene.check_pull_request(proposal).done == ("closed",)
    assert scene.reload(proposal).state is ProposalState.CLOSED
    scene.forge.update(number, state="open")
    assert scene.check_pull_request(proposal).done == ("reopened",)
    assert scene.reload(proposal).state is ProposalState.OPEN


def test_reopened_proposal_is_not_closed_again(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.forge.close(number)
    scene.check_pull_request(proposal)
    scene.proposal_actions.reopen(proposal.id, ADA)
    for _ in range(2):
        assert scene.check_pull_request(proposal).done == ()
    assert scene.reload(proposal).state is ProposalState.OPEN


def test_update_of_closed_pull_request_leaves_proposal_open(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.forge.close(number)
    scene.check_pull_request(proposal)
    scene.proposal_actions.reopen(proposal.id, ADA)
    pull_request = scene.local.state.pull_requests[number - 1]
    pull_request.updated_at = datetime.now(UTC) + timedelta(hours=1)
    assert scene.check_pull_request(proposal).done == ()
    assert scene.reload(proposal).state is ProposalState.OPEN


def test_token_that_cannot_close_adds_no_comments(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.proposal_actions.close(proposal.id, ADA, "Not now.")
    scene.local.faults.append(Fault(status=403, method="PATCH", times=2))
    for _ in range(2):
        assert scene.run_round(branches=[proposal.content.branch]).error is not None
    assert scene.local.state.find_pull_request(number).comments == []
    assert scene.check_pull_request(proposal).done == ("closed_there",)
    assert len(scene.local.state.find_pull_request(number).comments) == 1


def test_failure_of_one_pull_request_does_not_affect_others(scene: ForgeScene) -> None:
    first, first_number = scene.create_pull_request()
    second, second_number = scene.create_pull_request()
    for number in (first_number, second_number):
        scene.local.state.review(number, "ana", "approved")
    scene.local.faults.append(Fault(status=403, path=f"/pulls/{second_number}/reviews"))
    report = scene.run_round(branches=[first.content.branch, second.content.branch])
    assert report.error is not None
    assert report.error.code == "FORGE_DENIED"
    assert [pull_request.proposal for pull_request in report.pull_requests] == [first.id]
    assert scene.reload(first).state is ProposalState.APPROVED


def test_response_for_another_pull_request_is_rejected(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    _, other_number = scene.create_pull_request()
    body = github_api._make_pull_request(
        scene.local, scene.local.state.find_pull_request(other_number), "pull-request"
    )
    scene.local.faults.append(Fault(status=200, body=body, path=f"/pulls/{number}$"))
    report = scene.run_round(branches=[proposal.content.branch])
    assert report.error is not None
    assert "the response is for another pull request" in report.error.message
    assert report.pull_requests == ()


def test_client_named_like_a_forge_is_not_trusted(scene: ForgeScene) -> None:
    proposal, _ = scene.create_pull_request()
    author = Author("Ada", "ada@example.org", KnownBy.CLIENT, "GitHub")
    scene.proposal_actions.close(proposal.id, Actor(author, "update_proposal", "GitHub"), "Not now.")
    assert scene.check_pull_request(proposal).done == ("closed_there",)
    text = f"Opened as pull request [1](https://evil.example/{proposal.id})."
    scene.proposal_actions.comment(proposal.id, Actor(author, "update_proposal", "GitHub"), text)
    assert relay.find_pull_request_url(scene.proposal_actions.list_events(proposal)) is None


def test_link_is_read_from_field_or_old_comment(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    request = scene.forge.get(number)
    scene.proposal_actions.relay(proposal.id, [relay.build_opened_event("github", request, proposal)])
    opened_event, link = scene.proposal_actions.list_events(proposal)[-1], request.url
    assert isinstance(opened_event.body, Commented)
    assert opened_event.body.pull_request == link
    assert relay.find_pull_request_url([opened_event]) == link
    old_body = replace(opened_event.body, pull_request=None)
    assert relay.find_pull_request_url([opened_event._replace(body=old_body)]) == link
    reworded_body = replace(opened_event.body, text="It was opened.")
    assert relay.find_pull_request_url([opened_event._replace(body=reworded_body)]) == link
    for text in ("It was opened.", "Opened as pull request [1](javascript:0)."):
        assert relay.find_pull_request_url([opened_event._replace(body=replace(old_body, text=text))]) is None
    with pytest.raises(Unreadable):
        encode_event(
            proposal.id,
            replace(old_body, pull_request="javascript:0"),
            opened_event.author,
            opened_event.time,
        )
    for body in (old_body, opened_event.body):
        file, data = encode_event(proposal.id, body, opened_event.author, opened_event.time)
        assert relay.find_pull_request_url([decode_event(proposal.id, file, data)]) == link


def test_caller_cannot_use_the_key_of_a_forge_comment(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.local.state.comment(number, "ben", f"I quote:\n\n> {format_marker(proposal.id)}\n\nand say more.")
    (events,) = relay.comments_to_events("github", scene.forge.list_comments(number), proposal)
    with pytest.raises(InvalidKey):
        scene.proposal_actions.comment(proposal.id, AGENT, "First.", key=events.key)
    assert scene.check_pull_request(proposal).comments == 1


def test_review_without_commit_applies_to_last_submission(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.add_commit(proposal)
    resubmitted_proposal = scene.proposal_actions.submit(proposal.id, AGENT).proposal
    events = scene.proposal_actions.list_events(resubmitted_proposal)
    between, after = events[1].time, events[-1].time
    request = scene.forge.get(number)
    for time, commit in ((between, proposal.tip), (after, resubmitted_proposal.tip)):
        review = ForgeReview("1", "ana", "approved", "", None, time, "")
        (outcome,) = relay.reviews_to_events("gitlab", [review], request, resubmitted_proposal, events)
        assert outcome.words.commit == commit  # type: ignore[union-attr]


def test_closed_proposal_closes_pull_request_with_one_comment(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.proposal_actions.close(proposal.id, ADA, "Not now.")
    assert scene.check_pull_request(proposal).done == ("closed_there",)
    pull_request = scene.local.state.find_pull_request(number)
    assert pull_request.state == "closed"
    assert "Closed where it was proposed." in pull_request.comments[-1].text
    assert scene.check_pull_request(proposal).comments == 0
    assert scene.reload(proposal).content.threads == ()


def test_merged_proposal_closes_pull_request_after_push(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    scene.proposal_actions.review(proposal.id, scene.person("bea"), ReviewDecision.APPROVE)
    merged = scene.proposal_actions.merge(proposal.id, scene.person("cleo"))
    assert scene.check_pull_request(proposal).done == ()
    assert scene.local.state.find_pull_request(number).state == "open"
    # A forge that does not detect the pushed merge: its pull request is closed later.
    pull_request = scene.local.state.pull_requests[number - 1]
    target, pull_request.target = pull_request.target, "elsewhere"
    scene.repo.git("push", "-q", "origin", "main")
    pull_request.target = target
    state = scene.local.state
    state._contains = lambda tip, commit: False  # type: ignore[method-assign]
    try:
        assert scene.check_pull_request(proposal, was_pushed=True).done == ()
        assert scene.check_pull_request(proposal).done == ("closed_there",)
    finally:
        del state._contains
    assert f"Merged here as {merged.commit}." in pull_request.comments[-1].text


def test_conflict_on_forge_is_reported(scene: ForgeScene) -> None:
    proposal, _ = scene.create_pull_request()
    page = scene.find_page(proposal)
    scene.repo.commit({page: "# Page\n\n## Use\n\nNever.\n"})
    scene.repo.git("push", "-q", "origin", "main")
    report = scene.check_pull_request(proposal)
    assert report.waits == "conflict"
    lines = format_round(scene.run_round(branches=[proposal.content.branch]))
    assert lines == [
        f"Proposal {proposal.id} has conflicts with its target on GitHub.",
        f"  next: docyard proposals refresh {proposal.id}",
    ]


def test_number_selects_its_proposal_and_issue_selects_none(scene: ForgeScene) -> None:
    proposal, number = scene.create_pull_request()
    report = scene.run_round(numbers=[number, 999_999])
    assert [pull_request.proposal for pull_request in report.pull_requests] == [proposal.id]
    assert scene.run_round(numbers=[999_999]).pull_requests == ()


class Exchange(NamedTuple):
    """The fields of an exchange with the remote that a round reads."""

    remote: str = "origin"
    pushed_count: int = 0


class ForgeFailure(NamedTuple):
    """A response of a failing forge, and the code of the reported error."""

    status: int
    headers: dict[str, str]
    code: str


@pytest.mark.parametrize(
    "fault",
    [
        ForgeFailure(429, {"retry-after": "90"}, "FORGE_LIMITED"),
        ForgeFailure(401, {}, "FORGE_DENIED"),
        ForgeFailure(500, {}, "FORGE_FAILED"),
    ],
    ids=lambda fault: str(fault.status),
)
def test_forge_failure_is_reported_and_changes_nothing(scene: ForgeScene, fault: ForgeFailure) -> None:
    proposal, number = scene.create_pull_request()
    scene.local.state.review(number, "ana", "approved")
    forge_fault = Fault(status=fault.status, headers=fault.headers, times=3, path="reviews")
    scene.local.faults.append(forge_fault)
    report = scene.run_round(branches=[proposal.content.branch])
    assert report.error is not None
    assert report.error.code == fault.code
    assert scene.reload(proposal).content.reviews == ()
    data = round_to_data(report)
    assert data is not None
    assert data["error"]["code"] == fault.code  # type: ignore[index]
    assert "was not checked completely" in format_round(report)[0]
    scene.local.faults.clear()
    assert scene.check_pull_request(proposal).reviews == 1


def test_forge_user_names_are_valid_for_git() -> None:
    author = build_actor("gitea", "<b>\x1b[31m o\nline </b>").author
    assert "<" not in author.name + author.email
    assert author.name.isprintable()
    assert build_actor("gitea", "<>").author.name == "somebody"
    assert build_actor("github", "ana").author.key != build_actor("gitea", "ana").author.key


def test_rate_limited_forge_is_not_called_until_retry_time(
    scene: ForgeScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock_time = [0.0]
    rounds = ForgeRounds(scene.workspace, scene.access, clock=lambda: clock_time[0])

    def run_round(**options: object) -> object:
        return rounds.import_changes(Exchange(), branches=["none"], **options)  # type: ignore[arg-type]

    scene.local.faults.append(Fault(status=429, headers={"retry-after": "90"}, times=1))
    first = rounds.import_changes(Exchange(), numbers=[1])  # type: ignore[arg-type]
    assert first is not None
    assert isinstance(first.error, ForgeLimited)
    scene.local.requests.clear()
    clock_time[0] = 89.0
    assert run_round() == first
    assert scene.local.requests == []
    clock_time[0] = 91.0
    second = run_round()
    assert second != first
    assert second.error is None  # type: ignore[attr-defined]


def test_round_without_forge_does_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "docs")
    rounds = ForgeRounds(scene.workspace, ForgeAccess)
    assert rounds.import_changes(Exchange()) is None  # type: ignore[arg-type]
