"""`docyard config notify`: the configured ways of delivery, the queue, and a test of the delivery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from docyard.commands import options
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit
from docyard.wording import format_moment

if TYPE_CHECKING:
    from docyard.notifications.channels import ConfiguredChannel
    from docyard.notifications.queue import QueueState
    from docyard.settings.file import Configuration
    from docyard.settings.settings import NotifySection

_MAX_FAILURES = 20


class _TestResult(NamedTuple):
    """The result of a test: the way of delivery, the recipient, and the reason of a failure."""

    channel: str
    recipient: str
    failure: str | None


@click.command(name="notify")
@click.option("--test", is_flag=True, help="Send a test to the webhook, and an e-mail to one person.")
@click.option("--to", "person", metavar="PERSON", help="The person of --test. [default: the first one]")
@options.config
@options.as_json
def command(test: bool, person: str | None, config: Path | None, as_json: bool) -> int:
    """Show how people are notified of proposals, the queue, and the notifications that were not delivered.

    Secrets, and the path of the webhook's URL, are not shown. Only --test needs the secrets. With --test
    nothing is queued. The exit code is 1 if a delivery fails, or if a server would not start.

    \b
    Example:
        docyard config notify --config server.toml
        docyard config notify --config server.toml --test --to ana
    """
    from docyard.notifications.channels import list_channels
    from docyard.settings.file import read_configuration

    if person is not None and not test:
        raise click.UsageError("--to needs --test")
    configuration = read_configuration(config)
    section = configuration.settings.notify
    channels = list_channels(section)
    results = _send_tests(configuration, person) if test else []
    state = _read_state(configuration)
    if as_json:
        console.print_json(_build_data(section, channels, state, results))
    else:
        for line in _format_lines(section, channels, state, results):
            click.echo(line)
    has_failed = any(result.failure is not None for result in results)
    return Exit.PROBLEMS if has_failed or section.find_missing_halves() else Exit.DONE


def _send_tests(configuration: Configuration, person: str | None) -> list[_TestResult]:
    """Send a test by each way of delivery. Raises CommandError if there is none."""
    from docyard.database.ids import create_id
    from docyard.notifications.channels import build_senders
    from docyard.notifications.content import NotificationContent, NotificationKind, Reason, format_time
    from docyard.notifications.sender import DeliveryFailed

    section = configuration.settings.notify
    if not section.is_enabled:
        raise CommandError(
            "no way of delivery is configured", fix="Set webhook_url or smtp_host in [notify]."
        )
    for half in section.find_missing_halves():
        raise CommandError(f"notify: {half.message}", fix=half.fix)
    names = [item.person for item in section.people]
    if person is not None and person not in names:
        raise CommandError(
            f"'{person[:100]}' is not in notify.people", fix="Name a person of [[notify.people]]."
        )
    now = format_time(datetime.now(UTC))
    id = create_id("test", 12)
    summary = "Docyard tests the delivery of notifications"
    content = NotificationContent(id, NotificationKind.TEST, now, "docyard", "", "", "/", summary, "Docyard")
    results = []
    for sender in build_senders(section, configuration.settings.http.page_url or "http://localhost"):
        recipient = "" if sender.channel == "webhook" else person or next(iter(names), "")
        try:
            if sender.channel == "email" and not recipient:
                raise DeliveryFailed("notify.people is empty")
            sender.send(id, recipient, content._replace(reason=Reason.TEST))
        except DeliveryFailed as error:
            results.append(_TestResult(sender.channel, recipient, error.reason))
        else:
            results.append(_TestResult(sender.channel, recipient, None))
    return results


def _read_state(configuration: Configuration) -> QueueState | None:
    """Return the state of the queue; None if the server has not created its database yet.

    Raises DatabaseUnavailable, SchemaMismatch, InvalidDatabaseURL.
    """
    from docyard.database.database import open_database
    from docyard.database.schema import check_schema
    from docyard.notifications.queue import read_queue_state

    database = open_database(configuration.settings.database.url, configuration.folder)
    try:
        if not database.exists:
            return None
        check_schema(database)
        return read_queue_state(database, _MAX_FAILURES)
    finally:
        database.close()


def _build_data(
    section: NotifySection,
    channels: Sequence[ConfiguredChannel],
    state: QueueState | None,
    results: Sequence[_TestResult],
) -> dict[str, Any]:
    return {
        "channels": [channel._asdict() for channel in channels],
        "missing": [{"message": half.message, "fix": half.fix} for half in section.find_missing_halves()],
        "events": list(section.events),
        "reminder_days": section.reminder_days,
        "queue": None
        if state is None
        else {**state._asdict(), "failures": [failure._asdict() for failure in state.failures]},
        "tests": [result._asdict() for result in results],
    }


def _format_lines(
    section: NotifySection,
    channels: Sequence[ConfiguredChannel],
    state: QueueState | None,
    results: Sequence[_TestResult],
) -> Iterator[str]:
    from workspace.escapes import escape_invisible

    for channel in channels:
        yield f"{channel.channel}: {channel.target} ({channel.details})"
    if halves := section.find_missing_halves():
        yield "A server does not start:"
        for half in halves:
            yield f"  [notify] {half.message}."
            yield f"    fix: {half.fix}"
    if channels:
        yield f"events: {', '.join(section.events)}"
        yield _format_reminders(section)
    else:
        yield "No notifications are sent: neither webhook_url nor smtp_host in [notify] is set."
    if state is not None:
        numbers = f"{state.waiting:,} waiting, {state.delivered:,} delivered, {state.failed:,} not delivered"
        yield f"queue: {numbers}"
        if state.last_reason:
            yield f"the last attempt failed: {state.last_reason}"
        for failure in state.failures:
            time = format_moment(datetime.fromtimestamp(failure.ended_at / 1_000, UTC))
            target = f"{failure.channel} {failure.recipient}".rstrip()
            yield escape_invisible(
                f"not delivered on {time}: {failure.event} of {failure.repository} to {target}, "
                f"{failure.attempts} attempts: {failure.reason}"
            )
    for result in results:
        target = escape_invisible(f"{result.channel} {result.recipient}".rstrip())
        yield f"test of {target}: {'delivered' if result.failure is None else result.failure}"


def _format_reminders(section: NotifySection) -> str:
    if section.reminder_days is None:
        return "reminders: none"
    return f"reminders: after {section.reminder_days} days, then every {section.reminder_interval_days} days"
