"""Authors, and functions that make and write events at fixed times, for tests of proposals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from workspace.git.store import GitStore
from workspace.proposals.discussion import Discussion
from workspace.proposals.event_log import AppendResult, EventLog
from workspace.proposals.events import (
    Author,
    Event,
    EventBody,
    IdentitySource,
    Opened,
    decode_event,
    encode_event,
)

GIT_AUTHOR = Author("Ada", "ada@example.org", IdentitySource.GIT)
TOKEN_AUTHOR = Author("Bea", "bea@example.org", IdentitySource.TOKEN, "bea")
CLIENT_AUTHOR = Author("Docyard", "docyard@localhost", IdentitySource.CLIENT, "an agent")

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
PROPOSAL_ID = "k7m2q9xa"
COMMIT, OTHER_COMMIT = "1" * 40, "2" * 40


def make_opening(
    title: str = "Say more of retries", base: str | None = None, id: str = PROPOSAL_ID
) -> Opened:
    """Return the event that opens a proposal to `main`, on the branch of its id."""
    return Opened(title, "What and why.", "main", f"proposals/{id}", base)


def make_event(
    body: EventBody,
    minutes: float = 0,
    author: Author = GIT_AUTHOR,
    after: Sequence[Event] = (),
    proposal: str = PROPOSAL_ID,
) -> Event:
    """Return an event at a number of minutes after noon, encoded and decoded."""
    name, data = encode_event(
        proposal, body, author, NOON + timedelta(minutes=minutes), tuple(event.id for event in after)
    )
    return decode_event(proposal, name, data)


class EventWriter:
    """An event log with a clock that advances by a second at each call."""

    def __init__(self, path: Path, start: datetime = NOON) -> None:
        self.store = GitStore(path)
        self.log = EventLog(self.store, durable=False)
        self._time = start

    def read_clock(self) -> datetime:
        """Return a time that is one second later than that of the previous call."""
        self._time += timedelta(seconds=1)
        return self._time

    def append(
        self,
        *bodies: EventBody,
        by: Author = GIT_AUTHOR,
        proposal: str = PROPOSAL_ID,
        seen: Discussion | None = None,
        idempotency_key: str | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> AppendResult:
        """Append events to a proposal as an author, at the time of the clock if `now` is not given."""
        return self.log.append(
            proposal,
            bodies,
            by,
            tool="update_proposal",
            client="tests",
            seen_discussion=seen,
            idempotency_key=idempotency_key,
            now=now or self.read_clock,
        )

    def events(self, proposal: str = PROPOSAL_ID) -> tuple[Event, ...]:
        """Return the current events of a proposal."""
        return self.log.read().events_of(proposal).events
