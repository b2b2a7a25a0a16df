"""The ways of delivery that the settings of the operator configure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from docyard.notifications.mail import MailSender, MailServer
from docyard.notifications.webhook import WebhookSender
from docyard.settings.settings import read_secret_value

if TYPE_CHECKING:
    from docyard.notifications.sender import Sender
    from docyard.settings.settings import NotifySection


class ConfiguredChannel(NamedTuple):
    """A way of delivery for the operator, without secrets: its name, where it leads, and its options."""

    channel: str
    target: str
    details: str


def build_senders(section: NotifySection, page_url: str) -> Sequence[Sender]:
    """Return the configured ways of delivery. `page_url` is the URL of the pages."""
    senders: list[Sender] = []
    if section.webhook_url is not None:
        host = urlsplit(section.webhook_url).hostname or ""
        senders.append(
            WebhookSender(
                section.webhook_url,
                section.signing_secrets,
                page_url,
                may_be_private=section.is_private_host(host),
            )
        )
    if section.smtp_host is not None and section.smtp_from is not None:
        server = MailServer(
            section.smtp_host,
            section.smtp_port,
            section.smtp_security,
            section.smtp_user,
            read_secret_value(section.smtp_password),
        )
        addresses = {item.person: item.email for item in section.people}
        senders.append(MailSender(server, section.smtp_from, addresses, page_url))
    return senders


def list_channels(section: NotifySection) -> list[ConfiguredChannel]:
    """Return the configured ways of delivery for the operator.

    The path of a URL is not shown, because many services have a secret in it.
    """
    channels = []
    if section.webhook_url is not None:
        url = urlsplit(section.webhook_url)
        count = len(section.signing_secrets)
        details = f"signed with {count} key{'s' if count > 1 else ''}" if count else "secret: not set"
        channels.append(ConfiguredChannel("webhook", f"{url.scheme}://{url.netloc}", details))
    if section.smtp_host is not None:
        has_password = bool(read_secret_value(section.smtp_password))
        user = "without a password"
        if section.smtp_user:
            user = "with a password" if has_password else "password: not set"
        count = len(section.people)
        details = (
            f"{section.smtp_security}, {user}, from {section.smtp_from}, "
            f"to {count} {'person' if count == 1 else 'people'}"
        )
        channels.append(ConfiguredChannel("email", f"{section.smtp_host}:{section.smtp_port}", details))
    return channels
