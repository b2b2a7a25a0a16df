"""A server process notifies real receivers of what another process commits, also after it was killed."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import update

from docyard.database.database import open_database
from docyard.database.tables import NOTIFICATIONS
from tests import fork_server
from tests.acceptance.http_server import HttpServer, serve_over_http
from tests.acceptance.server import build_user_environment
from tests.docyard.notifications.receivers import (
    MailReceiver,
    WebhookReceiver,
    respond,
    run_mail_receiver,
    run_webhook_receiver,
)
from tests.workspace.proposals.actions.proposal_setup import ProposalSetup

SECRET = "a secret of the operator"
VARIABLES = {"DOCYARD_SERVER__NOTIFY__WEBHOOK_SECRET": SECRET}
RULE = '[[protect]]\npaths = ["specs/**"]\napprovals = 1\napprovers = ["bea"]\n'
TIMEOUT_S = 60.0


def wait_until(condition: Callable[[], bool], server: HttpServer) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, server.read_log()
        time.sleep(0.05)


def write_settings(folder: Path, webhook: WebhookReceiver, mail: MailReceiver) -> Path:
    file = folder / "team.toml"
    file.write_text(
        f'[notify]\nwebhook_url = "{webhook.url}"\nprivate_hosts = ["127.0.0.1"]\n'
        f'smtp_host = "127.0.0.1"\nsmtp_port = {mail.port}\nsmtp_security = "none"\n'
        'smtp_from = "docyard@example.org"\n'
        '[[notify.people]]\nperson = "bea"\nemail = "bea@mail.example.org"\n'
    )
    return file


def test_notifications_survive_a_kill_during_a_delivery(tmp_path: Path) -> None:
    setup = ProposalSetup(tmp_path / "repo", RULE)
    bea = setup.person("bea")
    home = tmp_path / "home"
    with run_webhook_receiver() as webhook, run_mail_receiver() as mail:
        file = write_settings(tmp_path, webhook, mail)
        arguments = ("-C", setup.repo.path, "--config", file)
        with serve_over_http(home, *arguments, variables=VARIABLES) as server:
            wait_until((tmp_path / "server.sqlite").exists, server)
            wait_until(lambda: has_started(tmp_path), server)
            proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
            wait_until(lambda: bool(webhook.requests and mail.messages), server)
            assert mail.messages[0]["To"] == "bea@mail.example.org"
            body = json.loads(webhook.requests[0].body)
            assert body["url"].startswith(f"{server.base_url}/proposals/{proposal.id}")
            webhook.answer = lambda handler: time.sleep(TIMEOUT_S)
            setup.proposal_actions.comment(proposal.id, bea, "Why?")
            wait_until(lambda: len(webhook.requests) == 2, server)
            server.stop(signal.SIGKILL)
        setup.approve(proposal)  # while no server runs
        webhook.answer = respond(204)
        end_leases(tmp_path)
        with serve_over_http(home, *arguments, variables=VARIABLES) as server:
            wait_until(lambda: len(webhook.requests) == 4, server)
            time.sleep(3)  # a further notification would arrive in this time
            assert SECRET not in server.read_log()
            assert server.stop()[0] == 0
        events = [request.headers["x-docyard-event"] for request in webhook.requests]
        assert events[:2] == ["submitted", "commented"]
        assert sorted(events[2:]) == ["approved", "commented"]
        deliveries = {request.headers["x-docyard-delivery"] for request in webhook.requests}
        assert len(deliveries) == 3  # the comment has the same id in both attempts
        assert len(mail.messages) == 1
        output = subprocess.run(
            [*fork_server.build_python_command(), "-m", "docyard", "config", "notify", "--config", file],
            env={**build_user_environment(home), **VARIABLES},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert "queue: 0 waiting, 4 delivered, 0 not delivered" in output


def has_started(folder: Path) -> bool:
    """Return True if the server has stored which events happened before its start."""
    database = open_database("sqlite:///server.sqlite", folder)
    try:
        with database.connect() as connection:
            tables = connection.exec_driver_sql(
                "SELECT count(*) FROM sqlite_master WHERE name = 'notified_events'"
            ).scalar()
            return bool(
                tables and connection.exec_driver_sql("SELECT count(*) FROM notified_events").scalar()
            )
    finally:
        database.close()


def end_leases(folder: Path) -> None:
    """Let the delivery that the killed server began be due."""
    database = open_database("sqlite:///server.sqlite", folder)
    with database.begin() as connection:
        connection.execute(
            update(NOTIFICATIONS).where(NOTIFICATIONS.c.state == "waiting").values(next_attempt_at=0)
        )
    database.close()
