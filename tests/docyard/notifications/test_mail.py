"""The delivery by e-mail: what is sent, and each answer of a mail server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docyard.notifications.content import Reason
from docyard.notifications.mail import MailSender, MailServer, build_message
from docyard.notifications.sender import DeliveryFailed, SendLimits
from tests.docyard.notifications.receivers import MailReceiver, create_tls, run_mail_receiver
from tests.docyard.notifications.test_webhook import CONTENT
from tests.loops import loop_over

PASSWORD = "a secret of the operator"


@pytest.fixture
def receiver() -> Iterator[MailReceiver]:
    with run_mail_receiver() as receiver:
        yield receiver


def build(port: int, security: str = "none", user: str | None = None, **options: Any) -> MailSender:
    server = MailServer("127.0.0.1", port, security, user, PASSWORD)
    addresses = {"ana": "ana@example.org"}
    options = {"limits": SendLimits(1.0, 1.5), **options}
    return MailSender(server, "docyard@example.org", addresses, "https://docs.example.org", **options)


def send(sender: MailSender, recipient: str = "ana") -> None:
    sender.send("ntf_1", recipient, CONTENT._replace(reason=Reason.OWNER))


def get_failure(sender: MailSender, recipient: str = "ana") -> DeliveryFailed:
    with pytest.raises(DeliveryFailed) as raised:
        send(sender, recipient)
    assert PASSWORD not in raised.value.reason
    assert "@" not in raised.value.reason
    return raised.value


def test_mail_is_plain_text_for_one_person(receiver: MailReceiver) -> None:
    send(build(receiver.port))
    (message,) = receiver.messages
    assert receiver.recipients == ["ana@example.org"]
    assert receiver.commands[0] == "ehlo example.org"
    assert (message["To"], message["From"]) == ("ana@example.org", "docyard@example.org")
    assert message["Subject"] == f"[handbook] {CONTENT.summary}"
    assert message["Message-ID"] == "<ntf_1@example.org>"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message.get_content_type() == "text/plain"
    assert message.get_content().splitlines() == [
        f"{CONTENT.summary}.",
        "",
        "https://docs.example.org/proposals/k7m2q9xa#said-1",
        "",
        "The proposal is yours.",
    ]


@loop_over(
    "text",
    [
        "x\r\nBcc: eve@example.org\r\n\r\nbody",
        "x\nBcc: eve@example.org",
        "x\rBcc: eve@example.org",
        "x\x85Bcc: eve@example.org",
        "x\u2028Bcc: eve@example.org",
        "x\0\x1b[31m\u202eBcc: eve@example.org",
        "\ud800Bcc: eve@example.org",
        "x" * 5_000 + "\r\nBcc: eve@example.org",
    ],
)
def test_text_of_a_person_is_no_header(text: str) -> None:
    with run_mail_receiver() as receiver:
        content = CONTENT._replace(summary=text, title=text, author=text, workspace=text)
        build(receiver.port).send("ntf_1", "ana", content)
        (message,) = receiver.messages
        assert set(message.keys()) == {
            *("From", "To", "Subject", "Date", "Message-ID", "References", "Auto-Submitted"),
            *("Content-Type", "Content-Transfer-Encoding", "MIME-Version"),
        }
        assert message["Bcc"] is None
        assert receiver.recipients == ["ana@example.org"]
        assert len(message["Subject"]) <= 200
        assert message.get_content().splitlines()[1:] == ["", f"https://docs.example.org{CONTENT.path}"]


def test_line_that_ends_a_message_is_text(receiver: MailReceiver) -> None:
    content = CONTENT._replace(path="/\r\n.\r\nMAIL FROM:<eve@example.org>\r\n")
    build(receiver.port).send("ntf_1", "ana", content)
    assert len(receiver.messages) == 1
    assert not any("eve" in command for command in receiver.commands)


def test_password_is_sent_only_over_an_encrypted_connection(tmp_path: Path) -> None:
    server_tls, client_tls = create_tls(tmp_path)
    with run_mail_receiver(server_tls) as receiver:
        send(build(receiver.port, "starttls", "docyard", tls=client_tls))
        assert [command.partition(" ")[0] for command in receiver.commands][:4] == [
            *("ehlo", "STARTTLS", "ehlo", "AUTH")
        ]
        assert len(receiver.messages) == 1
        receiver.commands.clear()
        assert get_failure(build(receiver.port, "starttls", "docyard")).reason == "its certificate is invalid"
        assert [command.partition(" ")[0] for command in receiver.commands] == ["ehlo", "STARTTLS"]


def test_server_without_encryption_gets_no_password(receiver: MailReceiver) -> None:
    failure = get_failure(build(receiver.port, "starttls", "docyard"))
    assert failure.reason == "the mail server offers no encryption, or no sign-in"
    assert receiver.messages == []
    assert not any(command.startswith("AUTH") for command in receiver.commands)
    assert get_failure(build(receiver.port, "tls", "docyard")).reason == "no encrypted connection"


@loop_over(
    ("command", "reply", "reason", "is_final"),
    [
        ("RCPT", "550 no such user ana@example.org", "the mail server refuses the recipient (550)", True),
        ("RCPT", "450 later", "the mail server refuses the recipient (450)", False),
        ("MAIL", "552 full", "the mail server refuses the message (552)", False),
        ("DATA", "451 later", "the mail server refuses the message (451)", False),
        ("greeting", "554 go away", "the mail server refuses the message (554)", False),
        ("greeting", "nonsense", "the mail server", False),
        ("EHLO", "250-" + "x" * 20_000, "the mail server", False),
    ],
)
def test_refusal_has_a_reason(command: str, reply: str, reason: str, is_final: bool) -> None:
    with run_mail_receiver() as receiver:
        receiver.replies[command] = reply
        failure = get_failure(build(receiver.port))
        assert failure.reason.startswith(reason)
        assert failure.is_final is is_final
        assert receiver.messages == []


def test_refused_password_is_not_in_the_reason(tmp_path: Path) -> None:
    server_tls, client_tls = create_tls(tmp_path)
    with run_mail_receiver(server_tls) as receiver:
        receiver.replies["AUTH"] = f"535 not {PASSWORD}"
        failure = get_failure(build(receiver.port, "starttls", "docyard", tls=client_tls))
        assert failure.reason == "the mail server refuses the password (535)"


def test_server_that_is_down_is_a_failure() -> None:
    with run_mail_receiver() as receiver:
        port = receiver.port
    assert get_failure(build(port)).reason == "it refuses connections"


@loop_over("greeting", ["", "220-slow\r\n" * 500_000])
def test_server_without_an_end_is_a_failure_in_time(greeting: str) -> None:
    with run_mail_receiver() as receiver:
        receiver.replies["greeting"] = greeting or "220-"
        start = time.monotonic()
        get_failure(build(receiver.port))
        assert time.monotonic() - start < 4


def test_accepted_mail_is_delivered_although_the_connection_then_fails(receiver: MailReceiver) -> None:
    receiver.replies["QUIT"] = "500 nonsense"
    send(build(receiver.port))
    assert len(receiver.messages) == 1


def test_person_without_an_address_is_a_final_failure(receiver: MailReceiver) -> None:
    assert get_failure(build(receiver.port), "ben").is_final
    assert receiver.commands == []


def test_test_mail_has_no_proposal() -> None:
    content = CONTENT._replace(proposal="")
    message = build_message("ntf_1", content, "a@example.org", "b@example.org", "https://docs.example.org")
    assert message["References"] is None
