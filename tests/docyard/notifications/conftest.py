"""Fixtures: a queue in each kind of database, and a notifier of a repository with real receivers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import insert

from docyard.database.database import Database
from docyard.database.tables import NAMESPACES, ORGANIZATIONS
from docyard.notifications.channels import build_senders
from docyard.notifications.events import EventReader
from docyard.notifications.notifier import Notifier, RetryLimits
from docyard.notifications.queue import NotificationQueue, QueueOwner
from docyard.settings.settings import NotifySection
from tests.databases import database, database_url, installed_postgres, postgres
from tests.docyard.notifications.receivers import (
    MailReceiver,
    WebhookReceiver,
    run_mail_receiver,
    run_webhook_receiver,
)
from tests.workspace.proposals.actions.proposal_setup import ProposalSetup

__all__ = ["database", "database_url", "installed_postgres", "postgres"]

OWNER = QueueOwner("org_acme", "ns_handbook")
PAGE_URL = "https://docs.example.org"
RULE = '[[protect]]\npaths = ["specs/**"]\napprovals = 1\napprovers = ["bea"]\n'
SECRET = "a secret of the operator"
PASSWORD = "a password of the operator"


@pytest.fixture
def owner(database: Database) -> QueueOwner:
    with database.begin() as connection:
        connection.execute(insert(ORGANIZATIONS).values(id="org_acme", slug="acme"))
        connection.execute(
            insert(NAMESPACES).values(
                id="ns_handbook", organization_id="org_acme", name="handbook", settings={}
            )
        )
    return OWNER


@pytest.fixture
def queue(database: Database, owner: QueueOwner) -> NotificationQueue:
    return NotificationQueue(database, lambda: owner)


class NotifyingServer(NamedTuple):
    """A repository, its receivers, and a function that returns a new notifier, as after a restart."""

    setup: ProposalSetup
    webhook: WebhookReceiver
    mail: MailReceiver
    queue: NotificationQueue
    build: Callable[..., Notifier]

    def list_webhooks(self) -> list[str]:
        """Return the kinds of the received webhooks."""
        return [request.headers["x-docyard-event"] for request in self.webhook.requests]

    def list_mails(self) -> list[tuple[str, str]]:
        """Return the recipients and the last lines of the received e-mails."""
        return [(message["To"], message.get_content().splitlines()[-1]) for message in self.mail.messages]


def build_section(webhook: WebhookReceiver, mail: MailReceiver, **settings: Any) -> NotifySection:
    people = [
        {"person": name, "email": f"{name}@mail.example.org"} for name in ("ada@example.org", "bea", "cid")
    ]
    people[0]["email"] = "ada@mail.example.org"
    values = {
        "webhook_url": webhook.url,
        "webhook_secret": SECRET,
        "private_hosts": ["127.0.0.1"],
        "smtp_host": "127.0.0.1",
        "smtp_port": mail.port,
        "smtp_security": "none",
        "smtp_from": "docyard@example.org",
        "people": people,
        **settings,
    }
    return NotifySection.model_validate(values)


@pytest.fixture
def server(tmp_path: Path, database: Database, owner: QueueOwner) -> Iterator[NotifyingServer]:
    """Yield a server whose notifiers have seen the empty repository."""
    with run_webhook_receiver() as webhook, run_mail_receiver() as mail:
        setup = ProposalSetup(tmp_path / "repo", RULE)
        queue = NotificationQueue(database, lambda: owner)

        def build(limits: RetryLimits = RetryLimits(0, 0, 0), **settings: Any) -> Notifier:  # noqa: B008
            section = build_section(webhook, mail, **settings)
            return Notifier(
                setup.workspace,
                section,
                EventReader(setup.workspace, "handbook", lambda id: f"/proposals/{id}"),
                queue,
                build_senders(section, PAGE_URL),
                setup.proposal_actions.list_all,
                limits,
            )

        assert build().work()
        yield NotifyingServer(setup, webhook, mail, queue, build)
