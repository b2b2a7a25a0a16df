"""The times of proposals: opened for review, first reviewed, and merged."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from workspace.git.ancestry import Graph

if TYPE_CHECKING:
    from workspace.git.ancestry import ObjectSource
    from workspace.proposals.proposal import Proposal


class ReviewTimes(NamedTuple):
    """The times of a proposal; None for what has not happened, or whose time is unknown.

    A proposal is opened for review when it is first submitted, or without a submission when it was created. A
    review by its own author does not count.
    """

    id: str
    opened_at: datetime
    first_review_at: datetime | None
    merged_at: datetime | None

    @property
    def time_to_review(self) -> timedelta | None:
        """The time from the opening to the first review. It is not negative, whatever the clocks showed."""
        return self._measure(self.first_review_at)

    @property
    def time_to_merge(self) -> timedelta | None:
        """The time from the opening to the merge. It is not negative, whatever the clocks showed."""
        return self._measure(self.merged_at)

    def _measure(self, end: datetime | None) -> timedelta | None:
        return None if end is None else max(end - self.opened_at, timedelta())


class ReviewTimesReader:
    """A reader of the times of proposals, which caches those of commits. Thread-safe."""

    def __init__(self, git: ObjectSource) -> None:
        self._graph = Graph(git)

    def read(self, proposals: Iterable[Proposal]) -> list[ReviewTimes]:
        """Return the times of proposals, in their order."""
        self._graph.refresh()
        return [self._read_one(proposal) for proposal in proposals]

    def _read_one(self, proposal: Proposal) -> ReviewTimes:
        content = proposal.content
        opened_at = content.submitted_at or content.opened_at
        review_times = [
            review.time for review in content.reviews if not review.author.is_same(content.author)
        ]
        record = proposal.merge_record
        merge_time = self._graph.time(record.commit) if record is not None and record.commit else 0
        return ReviewTimes(content.id, opened_at, min(review_times, default=None), _to_datetime(merge_time))


def _to_datetime(time: int) -> datetime | None:
    """Return the time of a commit; None for 0, and for a time that is no day of the calendar."""
    try:
        return datetime.fromtimestamp(time, UTC) if time else None
    except (OverflowError, OSError, ValueError):
        return None
