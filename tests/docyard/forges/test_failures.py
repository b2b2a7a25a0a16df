"""Failures of a forge: each raises its own error in limited time, and no error contains the token."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import httpx2
import pytest

from docyard.forges.errors import (
    ForgeAccessDenied,
    ForgeConflict,
    ForgeError,
    ForgeFailed,
    ForgeLimited,
    ForgeNotFound,
    ForgeRequestRejected,
    ForgeUnreachable,
)
from docyard.forges.forge_repository import ForgeAccess, resolve_forge_repository
from docyard.forges.open_forge import create_forge
from docyard.forges.port import Forge, NewPullRequest
from docyard.forges.transport import TransportLimits, _describe_error
from tests.docyard.forges.conftest import LONG_LIMITS, SHORT_LIMITS, ForgeClientSetup
from tests.docyard.forges.local_forge import FULL_TOKEN, Fault
from workspace.git.remotes.url import parse_remote_url

NEW_PULL_REQUEST = NewPullRequest("Rewrite", "Because.", "docyard/k7m2q9xa-words", "main")
RETRY_LATER = {"retry-after": "3600"}
NO_QUOTA = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "4102444800"}


@pytest.mark.parametrize(
    ("status", "error_class"),
    [
        (400, ForgeRequestRejected),
        (401, ForgeAccessDenied),
        (403, ForgeAccessDenied),
        (404, ForgeNotFound),
        (405, ForgeConflict),
        (409, ForgeConflict),
        (422, ForgeRequestRejected),
        (429, ForgeLimited),
        (500, ForgeFailed),
        (503, ForgeFailed),
    ],
)
def test_error_status_raises_matching_error(
    forge_setup: ForgeClientSetup, status: int, error_class: type[ForgeError]
) -> None:
    body = {
        "message": f"The token \x1b[1m{FULL_TOKEN} is invalid",
        "errors": [{"field": "head", "code": "odd"}],
    }
    forge_setup.local_forge.faults.append(Fault(status=status, body=body, times=3))
    with pytest.raises(error_class) as error:
        forge_setup.forge.get(1)
    assert type(error.value) is error_class
    assert error.value.details["status"] == status
    assert error.value.fix
    text = f"{error.value} {error.value.fix} {error.value.details}"
    assert FULL_TOKEN not in text
    assert "\x1b" not in text
    if status != 429:
        assert "is invalid; head: odd" in text


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_temporary_failure_is_retried(forge_setup: ForgeClientSetup, status: int) -> None:
    pull_request = forge_setup.open_pull_request()
    forge_setup.local_forge.faults.append(Fault(status=status, headers={"retry-after": "0"}, times=2))
    assert forge_setup.forge.get(pull_request.number).number == pull_request.number


@pytest.mark.parametrize("status", [429, 502, 503])
def test_failed_post_is_not_retried(forge_setup: ForgeClientSetup, status: int) -> None:
    forge_setup.local_forge.faults.append(Fault(status=status, times=1))
    with pytest.raises(ForgeError):
        forge_setup.forge.open(NEW_PULL_REQUEST)
    assert sum(request.method == "POST" for request in forge_setup.local_forge.requests) == 1


@pytest.mark.parametrize(
    ("status", "headers"),
    [(429, RETRY_LATER), (403, RETRY_LATER), (403, NO_QUOTA), (429, {"ratelimit-reset": "4102444800"})],
    ids=["429", "403-secondary", "403-primary", "429-reset"],
)
def test_long_rate_limit_is_reported_at_once(
    forge_setup: ForgeClientSetup, status: int, headers: dict[str, str]
) -> None:
    forge_setup.local_forge.faults.append(Fault(status=status, headers=headers, times=1))
    with pytest.raises(ForgeLimited) as error:
        forge_setup.forge.get(1)
    assert error.value.retry_after is not None
    assert error.value.retry_after >= 3600
    assert len(forge_setup.local_forge.requests) == 1
    assert "Try again in" in error.value.fix


@pytest.mark.parametrize("text", ["soon", "Thu, 01 Jan 2099 00:00:00 GMT", "-5", "9" * 40])
def test_retry_after_of_any_form_raises_rate_limit(forge_setup: ForgeClientSetup, text: str) -> None:
    forge_setup.local_forge.faults.append(Fault(status=429, headers={"retry-after": text}, times=3))
    with pytest.raises(ForgeLimited):
        forge_setup.forge.get(1)


@pytest.mark.parametrize("kind", ["incomplete", "not_json", "wrong_fields", "redirect"])
def test_unusable_response_raises_unreachable(forge_setup: ForgeClientSetup, kind: str) -> None:
    forge_setup.local_forge.faults.append(Fault(kind=kind, times=5))
    with pytest.raises(ForgeUnreachable) as error:
        forge_setup.forge.get(1)
    assert FULL_TOKEN not in f"{error.value!r}"
    forge_setup.local_forge.faults.clear()
    pull_request = forge_setup.open_pull_request()
    assert forge_setup.forge.get(pull_request.number).number == pull_request.number


# These tests are slow. All kinds of forges use the same transport, so one kind is enough.
@pytest.mark.parametrize("shared_forge_setup", ["github"], indirect=True)
@pytest.mark.parametrize("kind", ["silent", "slow", "huge"])
def test_slow_or_large_response_raises_unreachable(forge_setup: ForgeClientSetup, kind: str) -> None:
    forge_setup.local_forge.faults.append(Fault(kind=kind, times=9))
    forge = forge_setup.create_client(limits=SHORT_LIMITS)
    with pytest.raises(ForgeUnreachable):
        forge.get(1)
    forge_setup.local_forge.faults.clear()
    forge.close_connections()


@pytest.mark.parametrize("shared_forge_setup", ["github"], indirect=True)
def test_list_stops_at_the_page_limit(forge_setup: ForgeClientSetup) -> None:
    pull_request = forge_setup.open_pull_request()
    for number in range(5):
        forge_setup.local_forge.state.comment(pull_request.number, "bea", f"{number}")
    forge_setup.local_forge.page_size = 1
    forge = forge_setup.create_client(limits=LONG_LIMITS._replace(pages=3))
    assert [comment.text for comment in forge.list_comments(pull_request.number)] == ["0", "1", "2"]
    forge.close_connections()


def test_next_page_on_another_host_is_not_requested(forge_setup: ForgeClientSetup) -> None:
    link = {"link": '<http://127.0.0.2:9/steal?page=2>; rel="next"'}
    forge_setup.local_forge.faults.append(Fault(status=200, body=[], headers=link))
    with pytest.raises(ForgeUnreachable, match="another host, which may not receive the token"):
        forge_setup.forge.list_comments(1)


def test_pull_request_opened_before_lost_response_is_found(forge_setup: ForgeClientSetup) -> None:
    branch = forge_setup.create_branch()
    forge_setup.local_forge.faults.append(Fault(kind="after_request", status=500, method="POST"))
    with pytest.raises(ForgeFailed):
        forge_setup.open_pull_request(branch)
    assert forge_setup.forge.find(branch, "main") is not None


def test_closed_port_raises_unreachable() -> None:
    with socket.socket() as probe:
        # A socket that binds but does not listen reserves the port.
        probe.bind(("127.0.0.1", 0))
        with pytest.raises(ForgeUnreachable, match="no connection"):
            _create_client(probe.getsockname()[1]).get(1)


def test_slow_headers_end_at_the_total_timeout() -> None:
    # Only the total time is short, because a byte may be late on a busy machine.
    limits = LONG_LIMITS._replace(total_s=0.5)
    with serve_slow_headers() as port, pytest.raises(ForgeUnreachable, match=r"more than 0\.5 seconds"):
        _create_client(port, limits).get(1)


def test_invalid_certificate_is_reported_as_reason() -> None:
    error = httpx2.ConnectError("an unspecific message")
    assert _describe_error(error) == "no connection"
    error.__cause__ = OSError()
    error.__cause__.__context__ = ssl.SSLCertVerificationError()
    assert _describe_error(error) == "its certificate is invalid"


def test_server_without_tls_raises_unreachable() -> None:
    with serve_slow_headers() as port:
        repository = resolve_forge_repository(
            parse_remote_url("https://127.0.0.1/ana/docs"),
            "github",
            ForgeAccess(f"https://127.0.0.1:{port}", FULL_TOKEN),
        )
        with pytest.raises(ForgeUnreachable):
            create_forge(repository, SHORT_LIMITS).get(1)


def _create_client(port: int, limits: TransportLimits = SHORT_LIMITS) -> Forge:
    remote_url = parse_remote_url(f"http://127.0.0.1:{port}/ana/docs.git")
    return create_forge(
        resolve_forge_repository(remote_url, "github", ForgeAccess(f"http://127.0.0.1:{port}", FULL_TOKEN)),
        limits,
    )


@contextmanager
def serve_slow_headers() -> Iterator[int]:
    """Start a server that sends bytes of a header at intervals, and yield its port."""
    stop_event = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)

    def serve() -> None:
        while not stop_event.is_set():
            with suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                    while not stop_event.is_set():
                        connection.sendall(b"x")
                        time.sleep(0.05)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        stop_event.set()
        thread.join(60)
        listener.close()
