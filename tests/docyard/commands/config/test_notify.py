"""`docyard config notify`: it shows no secrets, and its test reaches real receivers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import insert

from docyard.cli.main import main
from docyard.database.database import open_database
from docyard.database.schema import upgrade_schema
from docyard.database.tables import NAMESPACES, ORGANIZATIONS
from docyard.notifications.queue import NewEvent, NewNotification, NotificationQueue, QueueOwner
from docyard.terminal.exits import Exit
from tests.docyard.notifications.receivers import (
    MailReceiver,
    WebhookReceiver,
    respond,
    run_mail_receiver,
    run_webhook_receiver,
)
from tests.docyard.notifications.test_webhook import CONTENT

SECRET, PASSWORD = "a secret of the operator", "a password of the operator"
Run = Callable[..., tuple[int, str]]


@pytest.fixture
def webhook() -> Iterator[WebhookReceiver]:
    with run_webhook_receiver() as receiver:
        yield receiver


@pytest.fixture
def mail() -> Iterator[MailReceiver]:
    with run_mail_receiver() as receiver:
        yield receiver


@pytest.fixture
def run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    webhook: WebhookReceiver,
    mail: MailReceiver,
) -> Run:
    """Return a function that runs the command, and returns its exit code and all output."""
    monkeypatch.setenv("DOCYARD_SERVER__NOTIFY__WEBHOOK_SECRET", SECRET)
    text = (
        f'[notify]\nwebhook_url = "{webhook.url}"\nprivate_hosts = ["127.0.0.1"]\n'
        f'smtp_host = "127.0.0.1"\nsmtp_port = {mail.port}\nsmtp_security = "none"\n'
        'smtp_from = "docyard@example.org"\nreminder_days = 3\n'
        '[[notify.people]]\nperson = "ana"\nemail = "ana@example.org"\n'
        '[[notify.people]]\nperson = "ben"\nemail = "ben@example.org"\n'
    )

    def run_command(*arguments: str, settings: str = text) -> tuple[int, str]:
        file = tmp_path / "server.toml"
        file.write_text(settings)
        code = main(["config", "notify", "--config", str(file), *arguments])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    return run_command


def test_deliveries_are_shown_without_secrets(
    run: Run, webhook: WebhookReceiver, mail: MailReceiver, tmp_path: Path
) -> None:
    code, output = run()
    assert code == Exit.DONE
    assert output.splitlines() == [
        f"webhook: http://127.0.0.1:{webhook.port} (signed with 1 key)",
        f"email: 127.0.0.1:{mail.port} (none, without a password, from docyard@example.org, to 2 people)",
        "events: submitted, commented, mentioned, approved, changes_requested, merged, reminder",
        "reminders: after 3 days, then every 7 days",
    ]
    assert not (tmp_path / "server.sqlite").exists()


@pytest.mark.parametrize("arguments", [(), ("--json",), ("--test",), ("--test", "--json")], ids=" ".join)
def test_secrets_are_in_no_output(
    run: Run, webhook: WebhookReceiver, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("DOCYARD_SERVER__NOTIFY__SMTP_PASSWORD", PASSWORD)
    webhook.answer = respond(500)
    settings = (
        f'[notify]\nwebhook_url = "{webhook.url}"\nprivate_hosts = ["127.0.0.1"]\n'
        'smtp_host = "127.0.0.1"\nsmtp_port = 1\nsmtp_from = "docyard@example.org"\nsmtp_user = "docyard"\n'
    )
    code, output = run(*arguments, settings=settings)
    assert code == (Exit.PROBLEMS if "--test" in arguments else Exit.DONE)
    assert "127.0.0.1" in output
    for secret in (SECRET, PASSWORD, "/hook", "a=b"):
        assert secret not in output


def test_test_reaches_the_webhook_and_one_person(
    run: Run, webhook: WebhookReceiver, mail: MailReceiver
) -> None:
    code, output = run("--test")
    assert code == Exit.DONE
    assert output.splitlines()[-2:] == ["test of webhook: delivered", "test of email ana: delivered"]
    assert json.loads(webhook.requests[0].body)["event"] == "test"
    assert mail.recipients == ["ana@example.org"]
    assert run("--test", "--to", "ben")[0] == Exit.DONE
    assert mail.recipients == ["ana@example.org", "ben@example.org"]


def test_failed_test_has_its_reason(run: Run, webhook: WebhookReceiver) -> None:
    webhook.answer = respond(302, Location="http://127.0.0.1:1/")
    code, output = run("--test")
    assert code == Exit.PROBLEMS
    assert "test of webhook: it redirects (status 302), which is not followed" in output
    assert "test of email ana: delivered" in output


def test_unusable_options_are_refused(run: Run) -> None:
    assert run("--to", "ana")[0] == Exit.USAGE
    code, output = run("--test", "--to", "eve")
    assert code == Exit.CANNOT_RUN
    assert "'eve' is not in notify.people" in output
    code, output = run("--test", settings="")
    assert code == Exit.CANNOT_RUN  # the variable of the secret has no URL


def test_server_without_deliveries_is_reported(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCYARD_SERVER__NOTIFY__WEBHOOK_SECRET")
    assert run(settings="")[1].startswith("No notifications are sent")
    code, output = run("--test", settings="")
    assert code == Exit.CANNOT_RUN
    assert "Set webhook_url or smtp_host" in output


def test_settings_are_shown_without_their_secrets(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCYARD_SERVER__NOTIFY__WEBHOOK_SECRET")
    settings = '[notify]\nwebhook_url = "https://hooks.example.org/x"\n'
    code, output = run(settings=settings)
    assert code == Exit.PROBLEMS
    assert "webhook: https://hooks.example.org (secret: not set)" in output
    assert (
        "  fix: Set both: notify.webhook_url in the file, and the variable DOCYARD_SERVER__NOTIFY__" in output
    )
    assert json.loads(run("--json", settings=settings)[1])["missing"][0]["fix"].startswith("Set both")
    code, output = run("--test", settings=settings)
    assert code == Exit.CANNOT_RUN
    assert "DOCYARD_SERVER__NOTIFY__WEBHOOK_SECRET" in output


def test_undelivered_notifications_are_shown(run: Run, tmp_path: Path) -> None:
    database = open_database("sqlite:///server.sqlite", tmp_path)
    upgrade_schema(database)
    with database.begin() as connection:
        connection.execute(insert(ORGANIZATIONS).values(id="org_a", slug="acme"))
        connection.execute(
            insert(NAMESPACES).values(id="ns_a", organization_id="org_a", name="handbook", settings={})
        )
    queue = NotificationQueue(database, lambda: QueueOwner("org_a", "ns_a"))
    queue.put([])
    queue.put([NewEvent("a", 0, [NewNotification("email", name, CONTENT) for name in ("ana", "ben")])])
    (first, _), (second, _) = queue.list_due(2)
    queue.begin(first)
    queue.end(first, "the mail server refuses the recipient (550)")
    queue.begin(second)
    queue.retry(second, "no response in time", 1_000)
    database.close()
    _, output = run()
    lines = output.splitlines()
    assert lines[4:6] == [
        "queue: 1 waiting, 0 delivered, 1 not delivered",
        "the last attempt failed: no response in time",
    ]
    assert lines[6].startswith("not delivered on ")
    assert lines[6].endswith("1 attempts: the mail server refuses the recipient (550)")
    queue_data = json.loads(run("--json")[1])["queue"]
    assert (queue_data["failed"], queue_data["failures"][0]["repository"]) == (1, "handbook")
