"""The delivery by e-mail: plain text, to the addresses that the operator gave the people.

A text of a person is one line without control characters before it becomes a header, and `email` refuses a
line break in a header as well.
"""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Mapping
from contextlib import suppress
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate
from typing import Any, NamedTuple

from docyard.notifications.content import NotificationContent
from docyard.notifications.sender import (
    DeliveryFailed,
    SendLimits,
    Watchdog,
    describe_failure,
    limit_time,
)
from workspace.escapes import escape_invisible

_MAX_SUBJECT_CHARACTERS = 200


class MailServer(NamedTuple):
    """The server that sends e-mail. `security` is `starttls`, `tls` or `none`.

    Without `user` the connection has no login.
    """

    host: str
    port: int
    security: str
    user: str | None
    password: str


class MailSender:
    """The delivery by e-mail. `addresses` are those of the people, by their names in the settings.

    `page_url` is the URL of this server's pages, without a slash at the end. `tls` verifies the certificate
    of the mail server.
    """

    channel = "email"

    def __init__(
        self,
        server: MailServer,
        sender: str,
        addresses: Mapping[str, str],
        page_url: str,
        *,
        limits: SendLimits = SendLimits(),  # noqa: B008 - immutable
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._server = server
        self._sender = sender
        self._addresses = dict(addresses)
        self._page_url = page_url
        self._limits = limits
        self._tls = tls

    def send(self, id: str, recipient: str, content: NotificationContent) -> None:
        """Deliver a notification. Raises DeliveryFailed."""
        address = self._addresses.get(recipient)
        if address is None:
            raise DeliveryFailed("the person is no longer in notify.people", is_final=True)
        message = build_message(id, content, self._sender, address, self._page_url)
        try:
            with limit_time(self._limits.total_s) as watchdog:
                client = self._connect(watchdog)
                try:
                    self._deliver(client, address, message)
                finally:
                    client.close()
        except (OSError, smtplib.SMTPException, ValueError) as error:
            raise _describe_error(error) from None

    def _connect(self, watchdog: Watchdog) -> smtplib.SMTP:
        server, wait_s = self._server, self._limits.wait_s
        # The name in the greeting would be looked up otherwise, which can take long, and names this machine.
        name = self._sender.partition("@")[2]
        if server.security == "tls":
            return _TlsClient(
                watchdog, server.host, server.port, name, timeout=wait_s, context=self._find_tls()
            )
        client = _Client(watchdog, server.host, server.port, name, timeout=wait_s)
        if server.security == "starttls":
            client.starttls(context=self._find_tls())
        return client

    def _find_tls(self) -> ssl.SSLContext:
        return self._tls or ssl.create_default_context()

    def _deliver(self, client: smtplib.SMTP, address: str, message: EmailMessage) -> None:
        if self._server.user is not None:
            client.login(self._server.user, self._server.password)
        client.send_message(message, self._sender, [address])
        # The server has the message by now. What follows must not make it an error.
        with suppress(OSError, smtplib.SMTPException):
            client.quit()


class _Watched:
    """Lets a watchdog watch a client before its constructor waits for the server."""

    sock: Any

    def __init__(self, watchdog: Watchdog, *arguments: Any, **options: Any) -> None:
        watchdog.watch(self)
        super().__init__(*arguments, **options)


class _Client(_Watched, smtplib.SMTP):
    pass


class _TlsClient(_Watched, smtplib.SMTP_SSL):
    pass


def build_message(
    id: str, content: NotificationContent, sender: str, address: str, page_url: str
) -> EmailMessage:
    """Return the e-mail of a notification."""
    message = EmailMessage(policy=SMTP)
    domain = sender.partition("@")[2]
    subject = f"[{content.workspace}] {content.summary}"
    message["From"] = sender
    message["To"] = address
    message["Subject"] = _clean_line(subject)[:_MAX_SUBJECT_CHARACTERS]
    message["Date"] = formatdate()
    message["Message-ID"] = f"<{id}@{domain}>"
    if content.proposal:
        # Programs show the messages of a proposal as one conversation.
        message["References"] = f"<proposal-{content.proposal}@{domain}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no notice of absence is an answer to it
    lines = [f"{_clean_line(content.summary)}.", "", page_url + content.path]
    if content.reason is not None:
        lines += ["", content.reason.value]
    message.set_content("\n".join(lines) + "\n", cte="quoted-printable")
    return message


def _clean_line(text: str) -> str:
    """Return a text on one line, without control characters and lone surrogates."""
    return escape_invisible(" ".join(text.split())).encode("utf-8", "replace").decode()


def _describe_error(error: Exception) -> DeliveryFailed:
    match error:
        case smtplib.SMTPRecipientsRefused():
            code = next((code for code, _ in error.recipients.values()), 0)
            return DeliveryFailed(f"the mail server refuses the recipient ({code})", is_final=code >= 500)
        case smtplib.SMTPAuthenticationError():
            return DeliveryFailed(f"the mail server refuses the password ({error.smtp_code})")
        case smtplib.SMTPNotSupportedError():
            return DeliveryFailed("the mail server offers no encryption, or no sign-in")
        case smtplib.SMTPResponseException():
            return DeliveryFailed(f"the mail server refuses the message ({error.smtp_code})")
        case smtplib.SMTPServerDisconnected() if _is_timeout(error):
            return DeliveryFailed("no response in time")
        case smtplib.SMTPException():
            return DeliveryFailed("the mail server ended the connection, or its response is invalid")
        case _:
            return DeliveryFailed(describe_failure(error))


def _is_timeout(error: BaseException) -> bool:
    return isinstance(error.__context__, TimeoutError)
