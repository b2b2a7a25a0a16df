"""The queue of notifications in the database of a server.

An event is put into the queue once, in the transaction that stores its id. So it is neither lost nor sent
again if the server ends at any moment. A notification that was delivered, or that failed for good, stays for
a time as a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from docyard.database.database import Database
from docyard.database.ids import read_clock_ms
from docyard.database.tables import NAMESPACES, NOTIFICATIONS, NOTIFIED_EVENTS
from docyard.notifications.content import NotificationContent, parse_content

QUEUE_LIMIT = 10_000
"""The number of notifications of a repository that wait. Beyond it, the oldest fail."""

RETENTION_MS = 60 * 86_400_000
"""The time for which the ids of events, and ended notifications, are stored."""

LEASE_MS = 300_000
"""The time after which a delivery that did not end, because its process was killed, is tried again."""

_START_EVENT = "start"
_QUEUE_FULL = "too many notifications are waiting"


class QueueOwner(NamedTuple):
    """The ids of the repository in the database."""

    organization_id: str
    namespace_id: str


class NewNotification(NamedTuple):
    """A notification to queue: the way of delivery, the recipient, and the facts."""

    channel: str
    recipient: str
    content: NotificationContent


class NewEvent(NamedTuple):
    """An event, its time in milliseconds since 1970, and its notifications."""

    id: str
    time_ms: int
    notifications: Sequence[NewNotification]


class Delivery(NamedTuple):
    """A notification whose delivery begins. `attempts` includes this one."""

    id: str
    channel: str
    recipient: str
    content: NotificationContent
    attempts: int
    created_at: int


class FailedNotification(NamedTuple):
    """The record of a notification that was not delivered."""

    repository: str
    event: str
    channel: str
    recipient: str
    reason: str
    attempts: int
    ended_at: int


class QueueState(NamedTuple):
    """The numbers of notifications of all repositories, the last reason of a waiting one, and failed ones."""

    waiting: int
    delivered: int
    failed: int
    last_reason: str
    failures: Sequence[FailedNotification]


class NotificationQueue:
    """The queue of one repository. `get_owner` may raise DatabaseUnavailable, as all methods do."""

    def __init__(
        self, database: Database, get_owner: Callable[[], QueueOwner], limit: int = QUEUE_LIMIT
    ) -> None:
        self._database = database
        self._get_owner = get_owner
        self._limit = limit

    def put(self, events: Iterable[NewEvent]) -> int:
        """Queue the notifications of events that are new, and return the number of these events.

        The first call stores the events, and queues nothing: they happened before anyone was to be notified.
        """
        owner, now = self._get_owner(), read_clock_ms()
        count = 0
        with self._database.begin() as connection:
            # The first statement writes: SQLite cannot do so in a transaction that has read before.
            is_first = self._add_event(connection, owner, _START_EVENT, now)
            for event in events:
                if not self._add_event(connection, owner, event.id, max(event.time_ms, now)) or is_first:
                    continue
                count += 1
                for notification in event.notifications:
                    connection.execute(
                        insert(NOTIFICATIONS).values(
                            organization_id=owner.organization_id,
                            namespace_id=owner.namespace_id,
                            event_id=event.id,
                            channel=notification.channel,
                            recipient=notification.recipient,
                            content=notification.content.to_json(),
                            next_attempt_at=now,
                            created_at=now,
                        )
                    )
            if count:
                self._limit_waiting(connection, owner, now)
        return count

    def list_due(self, count: int, paused_channels: Sequence[str] = ()) -> list[tuple[str, str]]:
        """Return the ids and ways of delivery of notifications that are due, the oldest first."""
        owner = self._get_owner()
        table = NOTIFICATIONS
        statement = (
            select(table.c.id, table.c.channel)
            .where(
                table.c.namespace_id == owner.namespace_id,
                table.c.state == "waiting",
                table.c.next_attempt_at <= read_clock_ms(),
                table.c.channel.not_in(paused_channels),
            )
            .order_by(table.c.created_at, table.c.id)
            .limit(count)
        )
        with self._database.connect() as connection:
            return [(row.id, row.channel) for row in connection.execute(statement)]

    def begin(self, id: str) -> Delivery | None:
        """Begin a delivery and return it; None if another process has begun it, or it was erased."""
        now = read_clock_ms()
        table = NOTIFICATIONS
        statement = (
            update(table)
            .where(table.c.id == id, table.c.state == "waiting", table.c.next_attempt_at <= now)
            .values(attempts=table.c.attempts + 1, next_attempt_at=now + LEASE_MS)
            .returning(
                table.c.channel, table.c.recipient, table.c.content, table.c.attempts, table.c.created_at
            )
        )
        with self._database.begin() as connection:
            row = connection.execute(statement).first()
        if row is None:
            return None
        content = parse_content(row.content)
        return Delivery(id, row.channel, row.recipient, content, row.attempts, row.created_at)

    def end(self, id: str, failure: str | None = None) -> None:
        """Record that a notification was delivered, or that it failed for good."""
        state = "delivered" if failure is None else "failed"
        self._update(id, state=state, reason=failure or "", ended_at=read_clock_ms())

    def retry(self, id: str, reason: str, delay_ms: int) -> None:
        """Record a failed attempt, after which a delivery is tried again."""
        self._update(id, reason=reason, next_attempt_at=read_clock_ms() + delay_ms)

    def delete_old(self) -> None:
        """Delete old records of ended notifications, and ids of events that are not read any more."""
        owner, limit = self._get_owner(), read_clock_ms() - RETENTION_MS
        with self._database.begin() as connection:
            connection.execute(
                delete(NOTIFICATIONS).where(
                    NOTIFICATIONS.c.namespace_id == owner.namespace_id, NOTIFICATIONS.c.ended_at < limit
                )
            )
            connection.execute(
                delete(NOTIFIED_EVENTS).where(
                    NOTIFIED_EVENTS.c.namespace_id == owner.namespace_id,
                    NOTIFIED_EVENTS.c.time < limit,
                    NOTIFIED_EVENTS.c.event_id != _START_EVENT,
                )
            )

    def _update(self, id: str, **values: Any) -> None:
        with self._database.begin() as connection:
            connection.execute(update(NOTIFICATIONS).where(NOTIFICATIONS.c.id == id).values(**values))

    @staticmethod
    def _add_event(connection: Connection, owner: QueueOwner, event_id: str, time_ms: int) -> bool:
        """Store the id of an event; return False if it is stored."""
        dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
        statement = (
            dialect.insert(NOTIFIED_EVENTS)
            .values(**owner._asdict(), event_id=event_id, time=time_ms)
            .on_conflict_do_nothing()
            .returning(NOTIFIED_EVENTS.c.event_id)
        )
        return connection.execute(statement).first() is not None

    def _limit_waiting(self, connection: Connection, owner: QueueOwner, now: int) -> None:
        """Let the oldest notifications fail if too many are waiting."""
        table = NOTIFICATIONS
        is_waiting = and_(table.c.namespace_id == owner.namespace_id, table.c.state == "waiting")
        excess = (
            connection.execute(select(func.count()).select_from(table).where(is_waiting)).scalar_one()
            - self._limit
        )
        if excess > 0:
            oldest_ids = (
                select(table.c.id).where(is_waiting).order_by(table.c.created_at, table.c.id).limit(excess)
            )
            connection.execute(
                update(table)
                .where(table.c.id.in_(oldest_ids.scalar_subquery()))
                .values(state="failed", reason=_QUEUE_FULL, ended_at=now)
            )


def read_queue_state(database: Database, max_failures: int) -> QueueState:
    """Return the state of the queues of all repositories. Raises DatabaseUnavailable."""
    table = NOTIFICATIONS
    counts = select(table.c.state, func.count().label("count")).group_by(table.c.state)
    reasons = (
        select(table.c.reason)
        .where(table.c.state == "waiting", table.c.reason != "")
        .order_by(table.c.next_attempt_at.desc())
        .limit(1)
    )
    failures = (
        select(table, NAMESPACES.c.name)
        .join(NAMESPACES, NAMESPACES.c.id == table.c.namespace_id)
        .where(table.c.state == "failed")
        .order_by(table.c.ended_at.desc(), table.c.id)
        .limit(max_failures)
    )
    with database.connect() as connection:
        numbers: dict[str, int] = {row.state: row[1] for row in connection.execute(counts)}
        return QueueState(
            numbers.get("waiting", 0),
            numbers.get("delivered", 0),
            numbers.get("failed", 0),
            connection.execute(reasons).scalar() or "",
            [
                FailedNotification(
                    row.name,
                    parse_content(row.content).kind,
                    row.channel,
                    row.recipient,
                    row.reason,
                    row.attempts,
                    row.ended_at,
                )
                for row in connection.execute(failures)
            ],
        )
