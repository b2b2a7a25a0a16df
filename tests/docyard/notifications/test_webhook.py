"""The delivery by a webhook: what is sent, and each answer of a receiver."""

from __future__ import annotations

import hashlib
import hmac
import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from docyard.forges.webhooks.signatures import has_valid_signature
from docyard.notifications.content import NotificationContent, NotificationKind, parse_content
from docyard.notifications.sender import DeliveryFailed, SendLimits
from docyard.notifications.webhook import WebhookSender, _is_public
from tests.docyard.notifications.receivers import (
    WebhookReceiver,
    create_tls,
    respond,
    respond_forever,
    respond_slowly,
    run_webhook_receiver,
)
from tests.loops import loop_over

SECRET = "a secret of the operator"
CONTENT = NotificationContent(
    "6c1b7a3e-52f5-5d0e-9c5e-0d0c7a4d2f11",
    NotificationKind.COMMENTED,
    "2026-11-29T08:30:00Z",
    "handbook",
    "k7m2q9xa",
    "Limits of “retries” 😀",
    "/proposals/k7m2q9xa#said-1",
    "Ana Li commented on “Limits of “retries” 😀”",
    "Ana Li",
    "guide.md#install",
    ("ben",),
    ("ben",),
)


@pytest.fixture
def receiver() -> Iterator[WebhookReceiver]:
    with run_webhook_receiver() as receiver:
        yield receiver


def build(url: str, **options: Any) -> WebhookSender:
    options = {"may_be_private": True, "limits": SendLimits(1.0, 1.5), "secrets": (SECRET,), **options}
    return WebhookSender(url, options.pop("secrets"), "https://docs.example.org", **options)


def send(sender: WebhookSender) -> None:
    sender.send("ntf_1", "", CONTENT)


def get_failure(sender: WebhookSender) -> str:
    with pytest.raises(DeliveryFailed) as raised:
        send(sender)
    assert SECRET not in raised.value.reason
    assert not raised.value.is_final
    return raised.value.reason


def test_request_is_signed_json_with_facts_alone(receiver: WebhookReceiver) -> None:
    send(build(receiver.url))
    request = receiver.requests[0]
    assert request.path == "/hook?a=b"
    assert request.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert request.headers["x-docyard-event"] == "commented"
    assert request.headers["x-docyard-delivery"] == "ntf_1"
    headers = {"x-hub-signature-256": request.headers["x-docyard-signature-256"]}
    assert has_valid_signature("github", headers, request.body, SECRET, 0)
    assert not has_valid_signature("github", headers, request.body + b" ", SECRET, 0)
    assert json.loads(request.body) == {
        "delivery": "ntf_1",
        "id": CONTENT.event_id,
        "event": "commented",
        "time": "2026-11-29T08:30:00Z",
        "workspace": "handbook",
        "summary": CONTENT.summary,
        "url": "https://docs.example.org/proposals/k7m2q9xa#said-1",
        "author": "Ana Li",
        "proposal": {"id": "k7m2q9xa", "title": CONTENT.title},
        "document": "guide.md#install",
        "people": ["ben"],
        "mentioned": ["ben"],
    }


def test_both_keys_sign_while_the_key_changes(receiver: WebhookReceiver) -> None:
    secrets = ("the new key of the operator", SECRET)
    send(build(receiver.url, secrets=secrets))
    request = receiver.requests[0]
    expected = [
        f"sha256={hmac.new(secret.encode(), request.body, hashlib.sha256).hexdigest()}" for secret in secrets
    ]
    assert request.headers["x-docyard-signature-256"].split(" ") == expected


@loop_over("status", [301, 302, 303, 307, 308])
def test_redirect_is_not_followed(status: int) -> None:
    with run_webhook_receiver() as receiver, run_webhook_receiver() as other:
        receiver.answer = respond(status, Location=other.url)
        assert "redirects" in get_failure(build(receiver.url))
        assert (len(receiver.requests), other.requests) == (1, [])


@loop_over("status", [400, 404, 410, 429, 500, 503])
def test_refusal_names_the_status(status: int) -> None:
    with run_webhook_receiver() as receiver:
        receiver.answer = respond(status)
        assert get_failure(build(receiver.url)) == f"status {status}"


def test_answer_without_an_end_is_not_read(receiver: WebhookReceiver) -> None:
    receiver.answer = respond_forever
    send(build(receiver.url))


@loop_over(
    ("answer", "reason"),
    [
        (respond_slowly, "no response in time"),
        (lambda handler: time.sleep(5), "no response in time"),
        (lambda handler: handler.wfile.write(b"nonsense\r\n\r\n"), "an invalid response"),
        (lambda handler: None, "no connection, or it ended too early"),
        (lambda handler: handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 9), "no connection, or it"),
    ],
)
def test_unusable_answer_is_a_failure_in_time(answer: Callable[[Any], None], reason: str) -> None:
    with run_webhook_receiver() as receiver:
        receiver.answer = answer
        start = time.monotonic()
        assert get_failure(build(receiver.url)).startswith(reason)
        assert time.monotonic() - start < 4


def test_server_that_is_down_is_a_failure() -> None:
    with run_webhook_receiver() as receiver:
        url = receiver.url
    assert get_failure(build(url)) == "it refuses connections"


def test_host_without_an_address_is_a_failure() -> None:
    assert get_failure(build("https://missing.invalid/")) == "the name of its host is unknown"


def test_private_address_is_refused_unless_it_is_listed(receiver: WebhookReceiver) -> None:
    url = receiver.url.replace("127.0.0.1", "localhost")
    assert "notify.private_hosts" in get_failure(build(url, may_be_private=False))
    assert receiver.requests == []
    send(build(url))
    assert len(receiver.requests) == 1


def test_second_answer_of_a_name_is_not_used(
    receiver: WebhookReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve, names = socket.getaddrinfo, []

    def rebind(host: str, *arguments: Any, **options: Any) -> Any:
        if host != "rebinding.example.org":
            return resolve(host, *arguments, **options)
        names.append(host)
        ip = "192.0.0.9" if len(names) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, receiver.port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebind)
    url = f"http://rebinding.example.org:{receiver.port}/"
    get_failure(build(url, may_be_private=False, limits=SendLimits(0.2, 0.5)))
    assert receiver.requests == []


@loop_over(
    ("address", "is_public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("10.0.0.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("64:ff9b::808:808", True),
        ("2002:a00:1::", False),
    ],
)
def test_address_is_public_also_if_it_contains_another(address: str, is_public: bool) -> None:
    assert _is_public(address) is is_public


def test_certificate_is_verified(tmp_path: Path) -> None:
    server_tls, client_tls = create_tls(tmp_path)
    with run_webhook_receiver(server_tls) as receiver:
        assert get_failure(build(receiver.url)) == "its certificate is invalid"
        assert receiver.requests == []
        send(build(receiver.url, tls=client_tls))
        assert receiver.requests[0].headers["host"] == f"127.0.0.1:{receiver.port}"


def test_content_survives_the_queue() -> None:
    content = CONTENT._replace(title="\ud800 \0 é", summary="x" * 10_000, people=("p",) * 100).shorten()
    assert parse_content(content.to_json()) == content
    assert content.to_json().isascii()
    assert (len(content.summary), len(content.people)) == (500, 50)
