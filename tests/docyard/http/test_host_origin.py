"""Validation of the headers Host, Origin and Sec-Fetch-*, which precedes authentication."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from docyard.http.host_origin import AllowedHosts, HostOriginMiddleware
from docyard.http.organizations import list_hosts
from docyard.organizations.directory import Directory, OrganizationEntry, ServerEntry
from index.sources.settings import AnswerLimits, Features
from tests.docyard.http.conftest import PORT, RunningApp
from tests.loops import loop_over

HOST = f"127.0.0.1:{PORT}"
OWN_ORIGIN = f"http://{HOST}"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@loop_over("path", ["/", "/mcp", "/login", "/static/base.css", "/hooks/github", "/none"])
@loop_over("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", ""])
def test_foreign_host_returns_421_even_with_token(token_app: RunningApp, path: str, host: str) -> None:
    headers = {"Host": host, "Authorization": f"Bearer {token_app.token}", "X-Forwarded-Host": HOST}
    response = token_app.new_client().get(path, headers=headers)
    assert response.status_code == 421
    assert "content-security-policy" in response.headers
    assert token_app.token not in response.text


@loop_over(
    ("origin", "method", "path", "status"),
    [
        (OWN_ORIGIN, "GET", "/", 200),
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
def test_origin_header_decides_the_status(
    token_app: RunningApp, origin: str, method: str, path: str, status: int
) -> None:
    headers = {"Origin": origin, "Authorization": f"Bearer {token_app.token}"}
    assert token_app.new_client().request(method, path, headers=headers).status_code == status


@loop_over("name", ["Host", "Origin"])
def test_repeated_header_is_refused(token_app: RunningApp, name: str) -> None:
    value = HOST if name == "Host" else OWN_ORIGIN
    response = token_app.new_client().get("/", headers=[(name, value), (name, value)])
    assert response.status_code == (400 if name == "Host" else 403)


@pytest.mark.anyio
@pytest.mark.parametrize("target", ["http://127.0.0.1:8000/", "*", "127.0.0.1:8000", ""])
async def test_request_target_without_path_is_refused(target: str) -> None:
    statuses = []

    async def fail_on_call(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError("the application was called")

    async def receive() -> Message:
        raise AssertionError("the body was read")

    async def send(message: Message) -> None:
        statuses.append(message.get("status"))

    scope = {"type": "http", "method": "GET", "path": target, "headers": [(b"host", HOST.encode())]}
    await HostOriginMiddleware(fail_on_call, AllowedHosts({("127.0.0.1", PORT)}), is_proxied=False)(
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
def test_fetch_metadata_decides_the_status(
    token_app: RunningApp, site: str, mode: str, method: str, status: int
) -> None:
    headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode, "Authorization": f"Bearer {token_app.token}"}
    assert token_app.new_client().request(method, "/", headers=headers).status_code == status


def test_origin_of_proxied_host_must_have_forwarded_scheme(proxied_app: RunningApp) -> None:
    headers = {"Host": "docs.example.org", "Authorization": f"Bearer {proxied_app.token}"}
    browser = proxied_app.new_client()
    for origin, scheme, status in (
        ("https://docs.example.org", "https", 200),
        ("http://docs.example.org", "http", 200),
        ("http://docs.example.org", "https", 403),
        ("https://evil.example", "https", 403),
    ):
        request_headers = {**headers, "Origin": origin, "X-Forwarded-Proto": scheme}
        assert browser.get("/", headers=request_headers).status_code == status


@loop_over("path", ["/", "/none", "/static/base.css", "/mcp", "/login"])
def test_every_response_has_isolation_headers(token_app: RunningApp, path: str) -> None:
    response = token_app.new_client().get(path)
    assert response.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    for name, value in (
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ):
        assert response.headers[name] == value
    assert "permissions-policy" in response.headers
    assert "server" not in response.headers
    assert ("no-store" in response.headers["cache-control"]) is (path != "/static/base.css")


def test_hosts_of_servers_are_read_again_only_when_the_organizations_change() -> None:
    server = ServerEntry("mcp_1", "docs", "", "docs.example", Features(), AnswerLimits(), ())
    acme = OrganizationEntry("org_1", "acme", "", {}, {}, {"docs": server}, ())
    hosting: Any = SimpleNamespace(directory=Directory(1, {"acme": acme}))
    hosts = list_hosts(hosting, 8000)
    assert hosts == {("docs.example", 80), ("docs.example", 443), ("docs.example", 8000)}
    assert list_hosts(hosting, 8000) is hosts
    hosting.directory = Directory(2, {})
    assert list_hosts(hosting, 8000) == frozenset()
