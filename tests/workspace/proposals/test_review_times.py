"""Review times: from the first submission to the first review of another person, and to the merge."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tests.workspace.proposals.event_writer import (
    CLIENT_AUTHOR,
    COMMIT,
    GIT_AUTHOR,
    NOON,
    TOKEN_AUTHOR,
    make_event,
    make_opening,
)
from workspace.proposals.events import Event, ReviewDecision, Reviewed, Submitted
from workspace.proposals.merge_detection import MergeRecord
from workspace.proposals.proposal import Proposal, ProposalState, replay_events
from workspace.proposals.review_times import ReviewTimes, ReviewTimesReader

APPROVAL = Reviewed(ReviewDecision.APPROVE, "", COMMIT)


class FixedCommits:
    """The objects of a repository whose only commit has a time."""

    is_shallow = False

    def __init__(self, time: datetime) -> None:
        self._time = int(time.timestamp())

    def loose_folders(self) -> frozenset[str]:
        return frozenset()

    def commit_data(self, id: str, loose_folders: frozenset[str]) -> bytes:
        person = b"Ada <ada@example.org> %d +0000" % self._time
        return b"tree %b\nauthor %b\ncommitter %b\n\nMerge\n" % (b"0" * 40, person, person)

    def tree_data(self, id: str, loose_folders: frozenset[str]) -> bytes:
        return b""


def read_times(*events: Event, merged_at: datetime | None = None) -> ReviewTimes:
    content = replay_events([make_event(make_opening()), *events])
    assert content is not None
    record = None if merged_at is None else MergeRecord(COMMIT, COMMIT)
    proposal = Proposal(content, ProposalState.OPEN, None, record, False, False, (), 0)
    (times,) = ReviewTimesReader(FixedCommits(merged_at or NOON)).read([proposal])
    return times


def test_times_begin_with_the_first_submission() -> None:
    times = read_times(
        make_event(Submitted(COMMIT), 10),
        make_event(APPROVAL, 40, TOKEN_AUTHOR),
        make_event(Submitted(COMMIT), 50),
        make_event(APPROVAL, 60, TOKEN_AUTHOR),
        merged_at=NOON + timedelta(minutes=70),
    )
    assert times.opened_at == NOON + timedelta(minutes=10)
    assert (times.time_to_review, times.time_to_merge) == (timedelta(minutes=30), timedelta(minutes=60))


def test_proposal_without_submission_begins_when_it_was_created() -> None:
    times = read_times(make_event(APPROVAL, 5, TOKEN_AUTHOR))
    assert (times.opened_at, times.time_to_review, times.time_to_merge) == (NOON, timedelta(minutes=5), None)


def test_review_of_its_own_author_does_not_count() -> None:
    assert read_times(make_event(APPROVAL, 5, GIT_AUTHOR)).time_to_review is None
    assert read_times(make_event(APPROVAL, 5, CLIENT_AUTHOR)).time_to_review == timedelta(minutes=5)


def test_times_are_not_negative_with_wrong_clocks() -> None:
    times = read_times(make_event(APPROVAL, -60, TOKEN_AUTHOR), merged_at=datetime(1999, 1, 1, tzinfo=UTC))
    assert (times.time_to_review, times.time_to_merge) == (timedelta(), timedelta())


def test_merge_with_an_unknown_commit_has_no_time() -> None:
    content = replay_events([make_event(make_opening())])
    assert content is not None
    record = MergeRecord(None, COMMIT)
    proposal = Proposal(content, ProposalState.MERGED, None, record, False, False, (), 0)
    assert ReviewTimesReader(FixedCommits(NOON)).read([proposal])[0].merged_at is None
