"""By which name and from whose page a request may come; asked before any token."""

from __future__ import annotations

import pytest
from starlette.types import Message, Receive, Scope, Send

from docyard.http.access import AllowedHosts, HostOriginMiddleware
from tests.docyard.http.conftest import PORT, Running
from tests.loops import loop_over

HOST = f"127.0.0.1:{PORT}"
OWN = f"http://{HOST}"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@loop_over("path", ["/", "/mcp", "/login", "/static/base.css", "/hooks/github", "/none"])
@loop_over("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", ""])
def test_other_names_are_misdirected_whatever_is_shown(running: Running, path: str, host: str) -> None:
    shown = {"Host": host, "Authorization": f"Bearer {running.token}", "X-Forwarded-Host": HOST}
    found = running.meet().get(path, headers=shown)
    assert found.status_code == 421
    assert "content-security-policy" in found.headers
    assert running.token not in found.text


@loop_over(
    ("origin", "method", "path", "status"),
    [
        (OWN, "GET", "/", 200),
        (f"http://localhost:{PORT}", "GET", "/", 200),
        ("null", "GET", "/", 200),
        ("null", "POST", "/logout", 403),
        ("null", "POST", "/mcp", 403),
        ("null", "GET", "/mcp", 403),
        ("http://evil.example", "GET", "/", 403),
        ("http://evil.example", "POST", "/mcp", 403),
        ("http://evil.example", "OPTIONS", "/mcp", 403),
        (f"http://127.0.0.1:{PORT + 1}", "GET", "/", 403),
        (f"http://{HOST}.evil.example", "GET", "/", 403),
        ("chrome-extension://abc", "GET", "/", 403),
        ("", "GET", "/", 403),
    ],
)
def test_origins(running: Running, origin: str, method: str, path: str, status: int) -> None:
    shown = {"Origin": origin, "Authorization": f"Bearer {running.token}"}
    assert running.meet().request(method, path, headers=shown).status_code == status


@loop_over("name", ["Host", "Origin"])
def test_headers_that_come_twice(running: Running, name: str) -> None:
    value = HOST if name == "Host" else OWN
    found = running.meet().get("/", headers=[(name, value), (name, value)])
    assert found.status_code == (400 if name == "Host" else 403)


@pytest.mark.anyio
@pytest.mark.parametrize("target", ["http://127.0.0.1:8000/", "*", "127.0.0.1:8000", ""])
async def test_targets_that_are_no_path(target: str) -> None:
    statuses = []

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("it was passed on")

    async def receive() -> Message:
        raise AssertionError("it was read")

    async def send(message: Message) -> None:
        statuses.append(message.get("status"))

    scope = {"type": "http", "method": "GET", "path": target, "headers": [(b"host", HOST.encode())]}
    await HostOriginMiddleware(never, AllowedHosts({("127.0.0.1", PORT)}), is_proxied=False)(
        scope, receive, send
    )
    assert statuses[0] == 400


@loop_over(
    ("site", "mode", "method", "status"),
    [
        ("none", "navigate", "GET", 200),
        ("same-origin", "cors", "GET", 200),
        ("cross-site", "navigate", "GET", 200),
        ("cross-site", "no-cors", "GET", 403),
        ("same-site", "no-cors", "GET", 403),
        ("cross-site", "navigate", "POST", 403),
    ],
)
def test_what_a_browser_says_of_itself(
    running: Running, site: str, mode: str, method: str, status: int
) -> None:
    shown = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Authorization": f"Bearer {running.token}"}
    assert running.meet().request(method, "/", headers=shown).status_code == status


def test_a_proxy_is_known_by_its_name(proxied: Running) -> None:
    shown = {"Host": "docs.example.org", "Authorization": f"Bearer {proxied.token}"}
    browser = proxied.meet()
    for origin, https, status in (
        ("https://docs.example.org", "https", 200),
        ("http://docs.example.org", "http", 200),
        ("http://docs.example.org", "https", 403),
        ("https://evil.example", "https", 403),
    ):
        sent = {**shown, "Origin": origin, "X-Forwarded-Proto": https}
        assert browser.get("/", headers=sent).status_code == status


@loop_over("path", ["/", "/none", "/static/base.css", "/mcp", "/login"])
def test_every_answer_is_kept_to_itself(running: Running, path: str) -> None:
    found = running.meet().get(path)
    assert found.headers["content-security-policy"] == POLICY
    for name, value in (
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ):
        assert found.headers[name] == value
    assert "permissions-policy" in found.headers
    assert "server" not in found.headers
    assert ("no-store" in found.headers["cache-control"]) is (path != "/static/base.css")
