"""The thread that finds events, queues notifications and delivers them.

No write and no search waits for it: it reads the events from Git, as pages do.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy.exc import SQLAlchemyError

from docyard.database.errors import DatabaseUnavailable
from docyard.notifications.content import NotificationKind, Reason
from docyard.notifications.queue import NewEvent, NewNotification
from docyard.notifications.sender import DeliveryFailed
from docyard.proposals.inbox import get_inbox
from docyard.telemetry.logs import StateText
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.notifications.events import EventReader, NotifiedEvent
    from docyard.notifications.queue import Delivery, NotificationQueue
    from docyard.notifications.sender import Sender
    from docyard.settings.settings import NotifySection
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace

EVENT_AGE = timedelta(days=7)
"""The age beyond which an event is not notified, such as one that another clone pushes later."""

_READ_INTERVAL_S = 2.0
_REMINDER_INTERVAL_S = 600.0
_CLEANING_INTERVAL_S = 3_600.0
_MAX_FAILURE_WAIT_S = 60.0
_CLOSE_TIMEOUT_S = 5.0
_BATCH = 50

log = logging.getLogger("docyard")


class RetryLimits(NamedTuple):
    """The limits of retries: the first delay, doubled after each attempt, up to the longest one.

    A notification fails for good after a number of attempts, or at an age. After a failure, the way of
    delivery pauses by the same delays, up to `max_pause_s`.
    """

    first_delay_s: float = 30.0
    max_delay_s: float = 21_600.0
    max_pause_s: float = 600.0
    attempts: int = 12
    age_s: float = 3 * 86_400.0

    def compute_delay(self, attempts: int) -> float:
        """Return the seconds after a number of failed attempts."""
        return min(self.first_delay_s * 2.0 ** (attempts - 1), self.max_delay_s)


class _Pause(NamedTuple):
    """The pause of a way of delivery after failures in a row, until a monotonic time."""

    failures: int
    until: float


class Notifier:
    """The notifications of one repository, from `start` to `close`.

    `list_proposals` returns all proposals: the same object while they are unchanged.
    """

    def __init__(
        self,
        workspace: Workspace,
        settings: NotifySection,
        events: EventReader,
        queue: NotificationQueue,
        senders: Sequence[Sender],
        list_proposals: Callable[[], Sequence[Proposal]],
        limits: RetryLimits = RetryLimits(),  # noqa: B008 - immutable
    ) -> None:
        self._workspace = workspace
        self._settings = settings
        self._kinds = frozenset(NotificationKind(name) for name in settings.events)
        self._events = events
        self._queue = queue
        self._senders: Mapping[str, Sender] = {sender.channel: sender for sender in senders}
        self._list_proposals = list_proposals
        self._limits = limits
        self._proposals: Sequence[Proposal] | None = None
        self._next_reminders = self._next_cleaning = 0.0
        self._pauses: dict[str, _Pause] = {}
        # The results that the database does not have yet. A delivery is not repeated for a lack of one.
        self._results: dict[str, Callable[[], None]] = {}
        self._failure: str | None = None
        self._close_requested = threading.Event()
        self._thread = threading.Thread(target=self._run, name="docyard-notify", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread after the delivery that is running. Others wait for the next start."""
        self._close_requested.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_TIMEOUT_S)

    def _run(self) -> None:
        wait_s = 0.0
        while not self._close_requested.wait(wait_s):
            wait_s = _READ_INTERVAL_S if self.work() else min(max(wait_s, 1.0) * 2, _MAX_FAILURE_WAIT_S)

    def work(self) -> bool:
        """Queue new events, and deliver what is due; return False if that is not possible now."""
        try:
            self._record_results()
            self._queue_events()
            self._queue_reminders()
            self._deliver_due()
            self._delete_old()
        except (DatabaseUnavailable, SQLAlchemyError, WorkspaceError, OSError) as error:
            reason = (
                f"{error.message}. {error.fix}" if isinstance(error, WorkspaceError) else type(error).__name__
            )
            if reason != self._failure:
                log.warning("people are not notified: %s", StateText(reason))
                self._failure = reason
            return False
        except Exception:  # a bug must not end the thread
            log.exception("people are not notified because of a bug")
            return False
        if self._failure is not None:
            log.warning("people are notified again")
            self._failure = None
        return True

    def _queue_events(self) -> None:
        proposals = self._list_proposals()
        if proposals is self._proposals:
            return
        since = datetime.now(UTC) - EVENT_AGE
        events = self._build_events(self._events.list_events(proposals, since), proposals)
        if events or self._proposals is None:
            self._queue.put(events)
        self._events.mark_read(proposals)
        self._proposals = proposals

    def _queue_reminders(self) -> None:
        days, now = self._settings.reminder_days, time.monotonic()
        if days is None or now < self._next_reminders or self._proposals is None:
            return
        reminders = self._events.list_reminders(
            self._proposals,
            datetime.now(UTC),
            timedelta(days=days),
            timedelta(days=self._settings.reminder_interval_days),
        )
        events = self._build_events(reminders, self._proposals)
        if events:
            self._queue.put(events)
        self._next_reminders = now + _REMINDER_INTERVAL_S

    def _build_events(self, events: Iterable[NotifiedEvent], proposals: Sequence[Proposal]) -> list[NewEvent]:
        """Return events with their notifications: for the webhook, and for each person with an address."""
        names = self._find_names(proposals) if "email" in self._senders else {}
        return [
            NewEvent(
                event.content.event_id,
                int(event.time.timestamp() * 1_000),
                [*self._build_webhook(event), *self._build_mails(event, names)],
            )
            for event in events
        ]

    def _build_webhook(self, event: NotifiedEvent) -> Iterator[NewNotification]:
        if "webhook" in self._senders and event.kinds & self._kinds:
            yield NewNotification("webhook", "", event.content)

    def _build_mails(self, event: NotifiedEvent, names: Mapping[str, str]) -> Iterator[NewNotification]:
        for person, reason in event.reasons.items():
            kind = NotificationKind.MENTIONED if reason is Reason.MENTIONED else event.content.kind
            if kind in self._kinds and person.key in names:
                yield NewNotification("email", names[person.key], event.content._replace(reason=reason))

    def _find_names(self, proposals: Sequence[Proposal]) -> dict[str, str]:
        """Return the names in the settings of the people with an address, by their keys."""
        participants = get_inbox(self._workspace).list_people(proposals)
        names = {}
        for item in self._settings.people:
            person = participants.find_by_token(item.person) or participants.find_by_email(item.person)
            if person is not None:
                names[person.key] = item.person
        return names

    def _deliver_due(self) -> None:
        while not self._close_requested.is_set():
            now = time.monotonic()
            paused_channels = [channel for channel, pause in self._pauses.items() if pause.until > now]
            due_ids = self._queue.list_due(_BATCH, paused_channels)
            for id, channel in due_ids:
                if self._close_requested.is_set() or self._is_paused(channel):
                    continue
                delivery = self._queue.begin(id)
                if delivery is not None:
                    self._deliver(delivery)
            if len(due_ids) < _BATCH:
                return

    def _is_paused(self, channel: str) -> bool:
        pause = self._pauses.get(channel)
        return pause is not None and pause.until > time.monotonic()

    def _deliver(self, delivery: Delivery) -> None:
        try:
            sender = self._senders.get(delivery.channel)
            if sender is None:
                raise DeliveryFailed("this way of delivery is no longer configured", is_final=True)
            sender.send(delivery.id, delivery.recipient, delivery.content)
        except DeliveryFailed as error:
            self._handle_failure(delivery, error)
        else:
            if self._pauses.pop(delivery.channel, None) is not None:
                log.warning("a %s is delivered again", StateText(delivery.channel))
            self._results[delivery.id] = lambda: self._queue.end(delivery.id)
        self._record_results()

    def _handle_failure(self, delivery: Delivery, error: DeliveryFailed) -> None:
        limits = self._limits
        age_s = time.time() - delivery.created_at / 1_000
        if error.is_final or delivery.attempts >= limits.attempts or age_s > limits.age_s:
            self._results[delivery.id] = lambda: self._queue.end(delivery.id, error.reason)
        else:
            delay_ms = int(limits.compute_delay(delivery.attempts) * 1_000)
            self._results[delivery.id] = lambda: self._queue.retry(delivery.id, error.reason, delay_ms)
        if not error.is_final:
            # The other notifications would probably fail as well, each after a timeout.
            failures = self._pauses.get(delivery.channel, _Pause(0, 0.0)).failures + 1
            until = time.monotonic() + min(limits.compute_delay(failures), limits.max_pause_s)
            self._pauses[delivery.channel] = _Pause(failures, until)
            if failures == 1:
                log.warning("a %s fails: %s", StateText(delivery.channel), StateText(error.reason))

    def _record_results(self) -> None:
        for id, record in [*self._results.items()]:
            record()
            del self._results[id]

    def _delete_old(self) -> None:
        now = time.monotonic()
        if now >= self._next_cleaning:
            self._queue.delete_old()
            self._next_cleaning = now + _CLEANING_INTERVAL_S
