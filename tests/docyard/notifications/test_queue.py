"""The queue: each event once, attempts, limits and records, in each kind of database."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from sqlalchemy import delete, select, update

from docyard.database.database import Database
from docyard.database.tables import NAMESPACES, NOTIFICATIONS, NOTIFIED_EVENTS
from docyard.notifications.queue import (
    RETENTION_MS,
    NewEvent,
    NewNotification,
    NotificationQueue,
    QueueOwner,
    read_queue_state,
)
from tests.docyard.notifications.test_webhook import CONTENT


def make_event(id: str, recipients: Sequence[str] = ("",), time_ms: int = 0) -> NewEvent:
    content = CONTENT._replace(event_id=id)
    return NewEvent(id, time_ms, [NewNotification("webhook", name, content) for name in recipients])


@pytest.fixture
def started_queue(queue: NotificationQueue) -> NotificationQueue:
    assert queue.put([make_event("old")]) == 0
    assert queue.list_due(10) == []
    return queue


def begin_all(queue: NotificationQueue) -> list[str]:
    deliveries = [queue.begin(id) for id, _ in queue.list_due(100)]
    return [delivery.content.event_id for delivery in deliveries if delivery is not None]


def test_event_is_queued_once(started_queue: NotificationQueue) -> None:
    assert started_queue.put([make_event("a", ("", "ben")), make_event("old")]) == 1
    assert started_queue.put([make_event("a"), make_event("b")]) == 1
    assert begin_all(started_queue) == ["a", "a", "b"]


def test_delivery_begins_once_until_its_lease_ends(
    started_queue: NotificationQueue, database: Database
) -> None:
    started_queue.put([make_event("a")])
    ((id, channel),) = started_queue.list_due(10)
    assert channel == "webhook"
    delivery = started_queue.begin(id)
    assert delivery is not None
    assert (delivery.attempts, delivery.content.event_id) == (1, "a")
    assert started_queue.begin(id) is None
    assert started_queue.list_due(10) == []
    with database.begin() as connection:  # the process was killed, and its lease has ended
        connection.execute(update(NOTIFICATIONS).values(next_attempt_at=0))
    second_delivery = started_queue.begin(id)
    assert second_delivery is not None
    assert second_delivery.attempts == 2


def test_threads_begin_each_delivery_once(started_queue: NotificationQueue) -> None:
    started_queue.put([make_event(str(number)) for number in range(20)])
    begun: list[str] = []
    threads = [threading.Thread(target=lambda: begun.extend(begin_all(started_queue))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(begun) == sorted(str(number) for number in range(20))


def test_failed_attempt_is_repeated_later(started_queue: NotificationQueue, database: Database) -> None:
    started_queue.put([make_event("a")])
    ((id, _),) = started_queue.list_due(10)
    started_queue.begin(id)
    started_queue.retry(id, "status 500", 60_000)
    assert started_queue.list_due(10) == []
    assert read_queue_state(database, 10)[:4] == (1, 0, 0, "status 500")
    started_queue.retry(id, "status 500", -1)
    assert started_queue.list_due(10) == [(id, "webhook")]
    assert started_queue.list_due(10, ["webhook"]) == []


def test_ended_notifications_are_records(started_queue: NotificationQueue, database: Database) -> None:
    started_queue.put([make_event("a"), make_event("b")])
    (first, _), (second, _) = started_queue.list_due(10)
    for id, reason in ((first, None), (second, "status 500")):
        started_queue.begin(id)
        started_queue.end(id, reason)
    assert started_queue.list_due(10) == []
    assert started_queue.begin(first) is None
    state = read_queue_state(database, 10)
    assert state[:4] == (0, 1, 1, "")
    (failure,) = state.failures
    assert failure[:6] == ("handbook", "commented", "webhook", "", "status 500", 1)
    assert read_queue_state(database, 0).failures == []


def test_oldest_waiting_notifications_fail_in_a_full_queue(database: Database, owner: QueueOwner) -> None:
    queue = NotificationQueue(database, lambda: owner, limit=2)
    queue.put([])
    for name in ("a", "b", "c"):
        queue.put([make_event(name)])
        with database.begin() as connection:
            connection.execute(update(NOTIFICATIONS).values(created_at=NOTIFICATIONS.c.created_at - 10))
    assert begin_all(queue) == ["b", "c"]
    state = read_queue_state(database, 10)
    assert (state.waiting, state.failed) == (2, 1)
    assert state.failures[0].reason == "too many notifications are waiting"


def test_old_records_are_deleted_and_old_events_stay_known(
    started_queue: NotificationQueue, database: Database
) -> None:
    later = 2 * RETENTION_MS + 10**13  # the clock of another clone
    started_queue.put([make_event("a"), make_event("b", time_ms=later), make_event("c")])
    for id, _ in started_queue.list_due(10):
        delivery = started_queue.begin(id)
        assert delivery is not None
        if delivery.content.event_id != "c":
            started_queue.end(id)
    with database.begin() as connection:
        connection.execute(update(NOTIFICATIONS).values(ended_at=NOTIFICATIONS.c.ended_at - RETENTION_MS - 1))
        connection.execute(
            update(NOTIFIED_EVENTS)
            .where(NOTIFIED_EVENTS.c.event_id != "c")
            .values(time=NOTIFIED_EVENTS.c.time - RETENTION_MS - 1)
        )
    started_queue.delete_old()
    with database.connect() as connection:
        assert set(connection.execute(select(NOTIFIED_EVENTS.c.event_id)).scalars()) == {"start", "b", "c"}
        assert connection.execute(select(NOTIFICATIONS.c.event_id)).scalars().all() == ["c"]
    assert started_queue.put([make_event("b")]) == 0


def test_queue_of_a_removed_repository_is_removed(
    started_queue: NotificationQueue, database: Database, owner: QueueOwner
) -> None:
    started_queue.put([make_event("a")])
    with database.begin() as connection:
        connection.execute(delete(NAMESPACES).where(NAMESPACES.c.id == owner.namespace_id))
    assert read_queue_state(database, 10)[:3] == (0, 0, 0)


def test_other_repository_has_a_queue_of_its_own(
    started_queue: NotificationQueue, database: Database, owner: QueueOwner
) -> None:
    with database.begin() as connection:
        values = {"id": "ns_other", "organization_id": "org_acme", "name": "other", "settings": {}}
        connection.execute(NAMESPACES.insert().values(values))
    other = NotificationQueue(database, lambda: owner._replace(namespace_id="ns_other"))
    assert other.put([make_event("old")]) == 0
    assert other.put([make_event("a")]) == 1
    assert started_queue.list_due(10) == []
    assert len(other.list_due(10)) == 1
