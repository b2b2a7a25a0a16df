"""Notifications of a real repository, delivered to real receivers, with failures and restarts."""

from __future__ import annotations

import json
import logging
import time
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from docyard.database.database import Database
from docyard.database.errors import DatabaseUnavailable
from docyard.database.tables import NOTIFICATIONS
from docyard.notifications import notifier as notifier_module
from docyard.notifications.events import EventReader
from docyard.notifications.notifier import RetryLimits
from docyard.notifications.queue import read_queue_state
from tests.docyard.notifications.conftest import PASSWORD, SECRET, NotifyingServer
from tests.docyard.notifications.receivers import respond
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR
from workspace.proposals.events import ReviewDecision
from workspace.proposals.proposal import Proposal

ADA, BEA, CID = (f"{name}@mail.example.org" for name in ("ada", "bea", "cid"))
REVIEWER, OWNER, MENTIONED, PARTICIPANT = (
    "The proposal waits for your review.",
    "The proposal is yours.",
    "You are mentioned.",
    "You commented on the proposal or reviewed it.",
)


def submit(server: NotifyingServer) -> Proposal:
    server.setup.person("bea")
    server.setup.person("cid")
    return server.setup.submit_proposal(file="specs/api.md", slug="calls")


def test_each_event_reaches_those_whom_it_concerns(server: NotifyingServer) -> None:
    notifier = server.build()
    actions = server.setup.proposal_actions
    proposal = submit(server)
    assert notifier.work()
    assert server.list_mails() == [(BEA, REVIEWER)]
    bea, cid = server.setup.person("bea"), server.setup.person("cid")
    actions.comment(proposal.id, cid, "Why, @bea?")
    assert notifier.work()
    assert sorted(server.list_mails()[1:]) == [(ADA, OWNER), (BEA, MENTIONED)]
    actions.review(proposal.id, bea, ReviewDecision.REQUEST_CHANGES, "No.")
    assert notifier.work()
    assert server.list_mails()[3:] == [(ADA, OWNER)]
    server.setup.append(proposal.id, "More.", "specs/api.md", "calls")
    actions.submit(proposal.id, AGENT_ACTOR)
    server.setup.approve(proposal)
    actions.merge(proposal.id, bea)
    assert notifier.work()
    assert sorted(server.list_mails()[4:]) == [
        *((ADA, OWNER), (ADA, OWNER)),
        (CID, PARTICIPANT),
    ]
    kinds = ["submitted", "commented", "changes_requested", "submitted", "approved", "merged"]
    assert sorted(server.list_webhooks()) == sorted(kinds)
    bodies = [json.loads(request.body) for request in server.webhook.requests]
    comment = next(body for body in bodies if body["event"] == "commented")
    assert comment["mentioned"] == ["bea"]
    assert comment["url"].startswith(f"https://docs.example.org/proposals/{proposal.id}#said-")
    assert "Why" not in json.dumps(bodies)


def test_events_before_the_first_start_are_not_sent(server: NotifyingServer, database: Database) -> None:
    submit(server)
    with database.begin() as connection:
        connection.exec_driver_sql("DELETE FROM notified_events")
    notifier = server.build()
    assert notifier.work()
    assert notifier.work()
    assert server.list_webhooks() == []


def test_event_between_commit_and_restart_is_sent_once(server: NotifyingServer) -> None:
    submit(server)  # while no notifier runs
    assert server.build().work()
    assert server.build().work()
    assert server.list_webhooks() == ["submitted"]
    assert server.list_mails() == [(BEA, REVIEWER)]


def test_restart_between_queue_and_delivery_loses_nothing(server: NotifyingServer) -> None:
    notifier = server.build()
    submit(server)
    notifier._queue_events()
    assert server.list_webhooks() == []
    assert server.build().work()
    assert (server.list_webhooks(), len(server.list_mails())) == (["submitted"], 1)


def test_old_event_that_arrives_late_is_not_sent(
    server: NotifyingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier_module, "EVENT_AGE", timedelta(seconds=-60))
    submit(server)
    assert server.build().work()
    assert server.list_webhooks() == []


def test_failing_receiver_is_tried_again_and_delays_no_mail(
    server: NotifyingServer, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    server.webhook.answer = respond(500)
    notifier = server.build(RetryLimits())
    proposal = submit(server)
    server.setup.proposal_actions.comment(proposal.id, server.setup.person("cid"), "More?")
    assert notifier.work()
    assert len(server.webhook.requests) == 1  # the second notification waits for the pause of the webhook
    assert len(server.list_mails()) == 2
    assert notifier.work()
    assert len(server.webhook.requests) == 1
    server.webhook.answer = respond(204)
    # as after the delay
    notifier._pauses = {name: pause._replace(until=0.0) for name, pause in notifier._pauses.items()}
    with database.begin() as connection:
        connection.execute(update(NOTIFICATIONS).values(next_attempt_at=0))
    assert notifier.work()
    assert [record.message for record in caplog.records if "webhook" in record.message] == [
        "a webhook fails: status 500",
        "a webhook is delivered again",
    ]
    assert sorted(server.list_webhooks()[1:]) == ["commented", "submitted"]
    assert notifier.work()
    assert len(server.webhook.requests) == 3
    assert len({request.headers["x-docyard-delivery"] for request in server.webhook.requests}) == 2
    assert read_queue_state(database, 1)[:3] == (0, 4, 0)


def test_last_attempt_ends_with_a_record(server: NotifyingServer, database: Database) -> None:
    server.webhook.answer = respond(500)
    notifier = server.build(RetryLimits(first_delay_s=0, max_delay_s=0, attempts=3))
    submit(server)
    for _ in range(5):
        assert notifier.work()
    assert len(server.webhook.requests) == 3
    state = read_queue_state(database, 5)
    assert (state.waiting, state.failed) == (0, 1)
    assert (state.failures[0].reason, state.failures[0].attempts) == ("status 500", 3)


def test_old_notification_ends_with_a_record(server: NotifyingServer, database: Database) -> None:
    server.webhook.answer = respond(500)
    notifier = server.build(RetryLimits(first_delay_s=0, max_delay_s=0))
    submit(server)
    notifier._queue_events()
    with database.begin() as connection:
        connection.execute(update(NOTIFICATIONS).values(created_at=NOTIFICATIONS.c.created_at - 300_000_000))
    assert notifier.work()
    assert read_queue_state(database, 5).failed == 1


def test_refused_recipient_is_not_tried_again(server: NotifyingServer, database: Database) -> None:
    server.mail.replies["RCPT"] = "550 no such user"
    notifier = server.build(RetryLimits(first_delay_s=0, max_delay_s=0))
    submit(server)
    assert notifier.work()
    assert notifier.work()
    assert sum(command.startswith("rcpt") for command in server.mail.commands) == 1
    assert read_queue_state(database, 5).failures[0].channel == "email"


def test_way_that_is_no_longer_configured_ends_with_a_record(
    server: NotifyingServer, database: Database
) -> None:
    submit(server)
    server.build()._queue_events()
    without_webhook = server.build(webhook_url=None, webhook_secret=None)
    assert without_webhook.work()
    assert server.webhook.requests == []
    assert "no longer configured" in read_queue_state(database, 5).failures[0].reason


def test_chosen_events_are_sent_alone(server: NotifyingServer) -> None:
    notifier = server.build(events=("mentioned",))
    proposal = submit(server)
    actions = server.setup.proposal_actions
    actions.comment(proposal.id, server.setup.person("cid"), "Nothing.")
    actions.comment(proposal.id, server.setup.person("cid"), "You, @bea.")
    assert notifier.work()
    assert server.list_webhooks() == ["commented"]
    assert server.list_mails() == [(BEA, MENTIONED)]


def test_mention_in_a_description_notifies_the_person(server: NotifyingServer) -> None:
    server.setup.person("bea")
    server.setup.proposal_actions.open("Say more", "Ask @bea.", AGENT_ACTOR)
    assert server.build().work()
    assert server.list_webhooks() == ["mentioned"]
    assert server.list_mails() == [(BEA, MENTIONED)]


def test_database_that_fails_after_a_delivery_does_not_repeat_it(
    server: NotifyingServer, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    notifier = server.build()
    submit(server)
    end = server.queue.end

    def fail(*arguments: Any) -> None:
        raise DatabaseUnavailable("down", "the database cannot be reached", "Start it.")

    monkeypatch.setattr(server.queue, "end", fail)
    assert not notifier.work()
    assert not notifier.work()
    monkeypatch.setattr(server.queue, "end", end)
    assert notifier.work()
    assert (len(server.webhook.requests), len(server.list_mails())) == (1, 1)
    assert read_queue_state(database, 1)[:3] == (0, 2, 0)


def test_unavailable_database_is_logged_once_and_loses_no_event(
    server: NotifyingServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    notifier = server.build()
    assert notifier.work()
    submit(server)
    put = server.queue.put

    def fail(events: object) -> int:
        raise DatabaseUnavailable("down", "the database cannot be reached", "Start it.")

    monkeypatch.setattr(server.queue, "put", fail)
    with caplog.at_level(logging.WARNING, "docyard"):
        assert not notifier.work()
        assert not notifier.work()
        monkeypatch.setattr(server.queue, "put", put)
        assert notifier.work()
    assert [record.message for record in caplog.records] == [
        "people are not notified: the database cannot be reached. Start it.",
        "people are notified again",
    ]
    assert server.list_webhooks() == ["submitted"]


def test_reminder_is_sent_once_in_each_interval(
    server: NotifyingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = submit(server)
    notifier = server.build(reminder_days=3, reminder_interval_days=7)
    assert notifier.work()
    days = 0.0
    list_reminders = EventReader.list_reminders

    def shift(reader: EventReader, proposals: Any, now: datetime, *arguments: timedelta) -> Any:
        return list_reminders(reader, proposals, now + timedelta(days=days), *arguments)

    monkeypatch.setattr(EventReader, "list_reminders", shift)
    reminders = []
    for days in (2.9, 3.1, 9.9, 10.1, 30.0):  # noqa: B007 - read by `shift`
        notifier._next_reminders = 0
        assert notifier.work()
        assert server.build(reminder_days=3, reminder_interval_days=7).work()  # a restart
        reminders.append(server.list_webhooks().count("reminder"))
    assert reminders == [0, 1, 1, 2, 3]
    assert server.list_mails()[1:] == [(BEA, REVIEWER)] * 3
    assert "has waited for a review for 3 days" in server.mail.messages[1]["Subject"]
    server.setup.approve(proposal)
    days = 40.0
    notifier._next_reminders = 0
    assert notifier.work()
    assert server.list_webhooks().count("reminder") == 3


def test_thread_notifies_until_it_is_closed(server: NotifyingServer) -> None:
    notifier = server.build()
    notifier.start()
    submit(server)
    deadline = time.monotonic() + 20
    while not server.mail.messages and time.monotonic() < deadline:
        time.sleep(0.05)
    notifier.close()
    assert server.list_mails() == [(BEA, REVIEWER)]


def test_slow_receiver_delays_no_write(server: NotifyingServer) -> None:
    server.webhook.answer = lambda handler: time.sleep(5)
    notifier = server.build()
    submit(server)
    notifier.start()
    time.sleep(0.3)  # the delivery has begun
    start = time.monotonic()
    server.setup.write("At once.")
    assert time.monotonic() - start < 2
    notifier._close_requested.set()


def test_secrets_are_neither_stored_nor_sent(server: NotifyingServer, database: Database) -> None:
    server.webhook.answer = respond(500)
    notifier = server.build()
    submit(server)
    assert notifier.work()
    with database.connect() as connection:
        rows = connection.execute(select(NOTIFICATIONS)).all()
    sent = [request.body for request in server.webhook.requests] + [*server.mail.messages]
    for secret in (SECRET, PASSWORD):
        assert secret not in repr(rows)
        assert secret not in repr(sent)
    assert "mail.example.org" not in repr(rows)
