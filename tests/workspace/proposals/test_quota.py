"""The quota of events: many comments do not hide a review or a closing."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.repositories import Repo
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, RULE, ProposalSetup
from tests.workspace.proposals.event_writer import (
    CLIENT_AUTHOR,
    COMMIT,
    GIT_AUTHOR,
    NOON,
    PROPOSAL_ID,
    TOKEN_AUTHOR,
    EventWriter,
    make_opening,
)
from workspace.proposal_ids import DISCUSSION_BRANCH
from workspace.proposals import discussion
from workspace.proposals.actions.merge import MergeBlocked
from workspace.proposals.discussion import Discussion
from workspace.proposals.events import (
    Author,
    Closed,
    Commented,
    EventBody,
    InvalidEventText,
    Reopened,
    ReviewDecision,
    Reviewed,
    encode_event,
)
from workspace.proposals.proposal import ProposalState

CHANGE_REQUEST = Reviewed(ReviewDecision.REQUEST_CHANGES, "Do not merge this.", COMMIT)
COMMENT_LIMIT = "the limit for comments, edits and long events: 50 events"
CLIENT_LIMIT = "the limit for events by clients: 75 events"
FULL_LIMIT = "the limit for all events: 100 events"


@pytest.fixture(autouse=True)
def reduce_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discussion, "MAX_EVENTS", 100)
    monkeypatch.setattr(discussion, "MAX_TOTAL_BYTES", 80_000)


def fill_quota(writer: EventWriter, by: Author, *bodies: EventBody, limit: str) -> int:
    """Append events until the quota is exceeded; return their number. The error must name the limit."""
    for number in range(200):
        try:
            writer.append(bodies[number % len(bodies)], by=by)
        except InvalidEventText as error:
            if limit not in error.message:
                raise
            return number
    raise AssertionError("the quota was never exceeded")


def commit_events(repo: Repo, id: str, body: EventBody, count: int) -> None:
    """Commit events to the discussion with Git, without the event log."""
    repo.git("checkout", "-q", DISCUSSION_BRANCH)
    events = (
        encode_event(id, body, CLIENT_AUTHOR, NOON - timedelta(seconds=number)) for number in range(count)
    )
    repo.commit({f"{id}/{name}": data for name, data in events}, "Add events with git")
    repo.git("checkout", "-q", "main")


@pytest.mark.parametrize(
    "text",
    [
        "Why?",
        pytest.param("w" * 5_000, marks=pytest.mark.slow),
        pytest.param("😀" * 2_000, marks=pytest.mark.slow),
    ],
)
def test_comments_leave_quota_for_reviews_and_closing(repo: Repo, text: str) -> None:
    writer = EventWriter(repo.path)
    writer.append(make_opening())
    fill_quota(writer, TOKEN_AUTHOR, Commented(text), limit=COMMENT_LIMIT)
    bodies = CHANGE_REQUEST, Closed("No."), Reopened()
    count = fill_quota(writer, CLIENT_AUTHOR, *bodies, limit=CLIENT_LIMIT)
    assert count > 20, "comments used the quota of a client's reviews and closings"
    events = [writer.append(body, by=TOKEN_AUTHOR).events[0] for body in (CHANGE_REQUEST, Closed("No."))]
    for log in (writer.log, EventWriter(repo.path).log):
        discussion_events = log.read().events_of(PROPOSAL_ID)
        assert discussion_events.events[-2:] == (*events,)
        assert (discussion_events.unreadable_count, discussion_events.unread_event_count) == (0, 0)


def test_long_events_share_quota_of_comments(repo: Repo) -> None:
    writer = EventWriter(repo.path)
    writer.append(make_opening())
    bodies = Closed("n" * 17_000), Reopened("n" * 17_000)
    assert fill_quota(writer, GIT_AUTHOR, *bodies, limit=COMMENT_LIMIT) == 2
    writer.append(CHANGE_REQUEST)


def test_manually_committed_comments_do_not_hide_change_request(repo: Repo) -> None:
    writer = EventWriter(repo.path)
    writer.append(make_opening())
    writer.append(CHANGE_REQUEST, by=TOKEN_AUTHOR)
    commit_events(repo, PROPOSAL_ID, Commented("A planted remark, " * 20), 150)
    tip = repo.git("rev-parse", DISCUSSION_BRANCH).strip()
    discussion_events = writer.log.read().events_of(PROPOSAL_ID)
    assert CHANGE_REQUEST in [event.body for event in discussion_events.events]
    assert (len(discussion_events.events), discussion_events.unread_event_count) == (100, 52)
    assert Discussion(writer.store, [tip]).events_of(PROPOSAL_ID) == discussion_events, (
        "an earlier read changed the result"
    )
    with pytest.raises(InvalidEventText, match=FULL_LIMIT):
        writer.append(Closed())


def test_missing_event_is_read_after_it_is_restored(repo: Repo) -> None:
    writer = EventWriter(repo.path)
    writer.append(make_opening())
    writer.append(CHANGE_REQUEST)
    blob = repo.git("rev-parse", f"{DISCUSSION_BRANCH}:{PROPOSAL_ID}/{find_last_event_file(repo)}").strip()
    path = repo.path / ".git" / "objects" / blob[:2] / blob[2:]
    hidden_path = path.rename(repo.path / ".git" / "away")
    log = EventWriter(repo.path).log
    assert (
        len(log.read().events_of(PROPOSAL_ID).events),
        log.read().events_of(PROPOSAL_ID).unread_event_count,
    ) == (1, 1)
    hidden_path.rename(path)
    assert (
        len(log.read().events_of(PROPOSAL_ID).events),
        log.read().events_of(PROPOSAL_ID).unread_event_count,
    ) == (2, 0)


def find_last_event_file(repo: Repo) -> str:
    """Return the name of the last event's file."""
    return repo.git("ls-tree", "--name-only", f"{DISCUSSION_BRANCH}:{PROPOSAL_ID}").splitlines()[-1]


def test_unread_events_block_merge_of_protected_path(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", RULE)
    free_proposal = setup.submit_proposal()
    governed_proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
    setup.approve(governed_proposal)
    for proposal in (free_proposal, governed_proposal):
        commit_events(setup.repo, proposal.id, Commented("A planted remark, " * 20), 150)
    for proposal, actor in ((governed_proposal, setup.person()), (free_proposal, AGENT_ACTOR)):
        with pytest.raises(MergeBlocked) as error_info:
            setup.proposal_actions.merge(proposal.id, actor)
        assert error_info.value.details["blocks"][0]["code"] == "WORDS_UNREAD"
    assert (
        setup.proposal_actions.merge(free_proposal.id, setup.person()).proposal.state is ProposalState.MERGED
    )
