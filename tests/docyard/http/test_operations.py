"""Health, metrics, request ids, addresses behind proxies, and the limit of requests by address."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from docyard.caller import READ_SCOPE, Caller, Principal
from docyard.http.health import PartState, Readiness, describe_sources
from docyard.http.operations import Operations, classify_route
from docyard.http.server import describe_parts
from docyard.identity.verifier import SERVER_PRINCIPAL
from docyard.limits.addresses import AddressLimit
from docyard.service import build_repository_service
from docyard.telemetry.logs import ACCESS_LOGGER, FIELDS, ContentFreeFormatter
from docyard.telemetry.metrics import Metrics
from docyard.telemetry.request_ids import get_request_id
from tests.docyard.http.conftest import RunningApp
from tests.loops import loop_over
from tests.repositories import create_repository
from tools.dispatcher import ToolDispatcher
from tools.toolsets import TOOLSETS
from workspace.workspace import Workspace

OPERATOR = Caller(None, "", True, False, SERVER_PRINCIPAL)
READER = Caller(None, "", True, False, Principal("token:1", "reader", "acme", scopes=frozenset([READ_SCOPE])))
AUTHORIZATION = {"Authorization": "Bearer x"}
SECRET_PART = PartState(True, True, {"url": "postgresql://secret"})


def build_client(
    operations: Operations,
    caller: Caller | None = None,
    address: str = "127.0.0.1",
    *,
    is_proxied: bool = False,
    base_url: str = "http://127.0.0.1:8000",
) -> TestClient:
    """Return a client of an application that reports what it received. Its caller is authenticated."""

    async def respond(request: Request) -> Response:
        return JSONResponse(
            {
                "address": request.client.host if request.client else None,
                "headers": dict(request.headers),
                "id": get_request_id(),
            }
        )

    router = Router([*operations.build_routes(), Route("/{path:path}", respond, methods=["GET", "POST"])])

    async def authenticate(scope: Scope, receive: Receive, send: Send) -> None:
        await router({**scope, "state": {"caller": caller}}, receive, send)

    app: ASGIApp = operations.wrap(authenticate, is_proxied=is_proxied)
    return TestClient(app, base_url=base_url, client=(address, 50_000), raise_server_exceptions=False)


def build_readiness(**parts: PartState) -> Readiness:
    return Readiness({name: (lambda state=state: state) for name, state in parts.items()})


def test_health_needs_no_token_and_has_no_details() -> None:
    client = build_client(Operations(build_readiness(database=SECRET_PART)))
    response = client.get("/healthz", headers={"Host": "10.1.2.3:8000"})
    assert (response.status_code, response.text) == (200, "ok\n")
    assert client.post("/healthz").status_code == 405


def test_readiness_has_details_for_operators_only() -> None:
    operations = Operations(build_readiness(database=SECRET_PART))
    anonymous_response = build_client(operations).get("/readyz")
    assert anonymous_response.json() == {"ready": True, "status": "ok"}
    reader_response = build_client(operations, READER).get("/readyz", headers=AUTHORIZATION)
    assert reader_response.json() == {"ready": True, "status": "ok"}
    operator_response = build_client(operations, OPERATOR).get("/readyz", headers=AUTHORIZATION)
    assert operator_response.json()["database"] == {"url": "postgresql://secret"}


@loop_over(
    "parts, status, name",
    [
        ({}, 200, "ok"),
        ({"database": PartState(False, False, {})}, 200, "degraded"),
        ({"sources": PartState(False, True, {}), "database": PartState(True, False, {})}, 503, "unavailable"),
    ],
)
def test_server_without_its_database_stays_ready(
    parts: Mapping[str, PartState], status: int, name: str
) -> None:
    response = build_client(Operations(build_readiness(**parts))).get("/readyz")
    assert response.status_code == status
    assert response.json() == {"ready": status == 200, "status": name}


@loop_over(
    "availability, expected",
    [([], (True, False)), ([True, False], (False, False)), ([False], (False, True)), ([True], (True, False))],
)
def test_one_source_that_can_be_read_is_enough(availability: list[bool], expected: tuple[bool, bool]) -> None:
    state = describe_sources([{"available": is_available} for is_available in availability])
    assert (state.is_ok, state.is_required) == expected


def test_parts_are_read_once_a_second() -> None:
    times, reading_count = iter((0.0, 0.5, 0.9, 1.0, 1.5)), 0

    def read() -> PartState:
        nonlocal reading_count
        reading_count += 1
        return PartState(True, True, {})

    readiness = Readiness({"database": read}, clock=lambda: next(times))
    for _ in range(5):
        readiness.read()
    assert reading_count == 2


def test_metrics_are_for_operators_and_monitors_on_this_machine() -> None:
    operations = Operations(metrics=Metrics("1"))
    local_response = build_client(operations).get("/metrics")
    assert local_response.status_code == 200
    assert local_response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b"docyard_build_info" in local_response.content
    assert (
        build_client(operations, OPERATOR, "192.0.2.1").get("/metrics", headers=AUTHORIZATION).status_code
        == 200
    )


def test_token_of_monitors_shows_metrics_and_details() -> None:
    readiness = build_readiness(database=SECRET_PART)
    operations = Operations(readiness, Metrics("1"), token="t" * 32)
    client = build_client(operations, READER, "192.0.2.1", is_proxied=True)
    token = {"Authorization": f"Bearer {'t' * 32}"}
    assert b"docyard_build_info" in client.get("/metrics", headers=token).content
    assert "database" in client.get("/readyz", headers=token).json()
    for wrong in ("Bearer ", "Bearer", f"Bearer {'t' * 31}", f"bearer {'t' * 33}", "t" * 32):
        assert client.get("/metrics", headers={"Authorization": wrong}).status_code == 403
        assert "database" not in client.get("/readyz", headers={"Authorization": wrong}).json()
    assert "t" * 32 not in repr(operations)


@loop_over(
    "options, headers",
    [
        ({"address": "192.0.2.1"}, {}),
        ({"is_proxied": True}, {}),
        ({}, {"X-Forwarded-For": "192.0.2.1"}),
        ({}, {"X-Forwarded-Proto": "https"}),
        ({}, {"Forwarded": "for=192.0.2.1"}),
        ({}, {"Via": "1.1 proxy"}),
        ({}, {"Host": "evil.example"}),
        ({}, {"Origin": "http://evil.example"}),
        ({"caller": READER}, AUTHORIZATION),
    ],
)
def test_metrics_are_refused_to_others(options: dict[str, Any], headers: dict[str, str]) -> None:
    response = build_client(Operations(metrics=Metrics("1")), **{"caller": READER, **options}).get(
        "/metrics", headers=headers
    )
    assert response.status_code == 403
    assert "docyard_" not in response.text


def test_metrics_that_are_disabled_are_refused_like_those_of_others() -> None:
    assert build_client(Operations(), OPERATOR).get("/metrics", headers=AUTHORIZATION).status_code == 403


def test_request_id_is_returned_and_known_to_the_application() -> None:
    client = build_client(Operations())
    response = client.get("/x", headers={"X-Request-Id": "0123456789abcdef"})
    assert response.headers["x-request-id"] == response.json()["id"] == "0123456789abcdef"
    invalid_response = client.get("/x", headers={"X-Request-Id": "a b"})
    assert invalid_response.headers["x-request-id"] == invalid_response.json()["id"] != "a b"
    assert len(invalid_response.headers["x-request-id"]) == 16


@loop_over(
    "peer, forwarded, expected",
    [
        ("192.0.2.9", "198.51.100.1", "192.0.2.9"),
        ("127.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "203.0.113.1, 198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "198.51.100.1, 10.0.0.7", "198.51.100.1"),
        ("127.0.0.1", "203.0.113.1, nonsense", "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("::ffff:127.0.0.1", "[2001:db8::1]:443", "2001:db8::1"),
        ("127.0.0.1", "198.51.100.1:5000", "198.51.100.1"),
    ],
)
def test_address_of_a_client_comes_from_trusted_proxies_only(
    peer: str, forwarded: str, expected: str
) -> None:
    operations = Operations(trusted_proxies=["127.0.0.1", "10.0.0.0/8"])
    client = build_client(operations, address=peer, is_proxied=True)
    data = client.get("/x", headers={"X-Forwarded-For": forwarded, "X-Forwarded-Proto": "https"}).json()
    assert data["address"] == expected
    assert ("x-forwarded-proto" in data["headers"]) == (peer != "192.0.2.9")


def test_address_that_sends_too_many_requests_is_answered_with_429() -> None:
    operations = Operations(address_limit=AddressLimit(3), metrics=Metrics("1"), trusted_proxies=[])
    client = build_client(operations)
    assert [client.get("/x").status_code for _ in range(3)] == [200] * 3
    response = client.post("/mcp", json={})
    assert response.status_code == 429
    assert int(response.headers["retry-after"]) == 20
    assert response.json()["error"]["message"].startswith("this address sends too many requests")
    assert client.get("/healthz").status_code == 200
    assert build_client(operations, address="192.0.2.1").get("/x").status_code == 200
    text = operations.metrics.render().decode()
    assert 'docyard_http_requests_total{method="POST",route="mcp",status="429"} 1.0' in text


def test_access_log_has_no_path_query_or_address(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, ACCESS_LOGGER):
        client = build_client(Operations(), address="192.0.2.7")
        client.get("/doc/secret.md?q=secret")
        client.request("MYPASSWORD", "/")
    record, other_record = caplog.records
    assert getattr(other_record, FIELDS)["method"] == "OTHER"
    fields = getattr(record, FIELDS)
    assert fields["route"] == "page"
    assert fields["status"] == 200
    assert fields["bytes"] > 0
    assert "secret" not in json.dumps(fields) + record.getMessage()
    assert "192.0.2.7" not in json.dumps(fields)


@loop_over(
    "path, route",
    [
        ("/mcp", "mcp"),
        ("/o/acme/docs/mcp", "mcp"),
        ("/metrics", "operations"),
        ("/static/site.css", "static"),
        ("/doc/secret.md", "page"),
    ],
)
def test_routes_have_few_names(path: str, route: str) -> None:
    assert classify_route(path) == route


def test_repository_with_invalid_settings_is_not_ready_until_they_are_corrected(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "docs", {"guide.md": "# Guide\n"})
    workspace = Workspace.open(repo.path, durable=False)
    service = build_repository_service(workspace, TOOLSETS, read_only=False, syncs=False)
    try:
        describe = describe_parts(service)["settings"]
        assert describe() == (True, True, {"valid": True})
        repo.commit({"docyard.toml": "rooot = 1\n"})
        state = describe()
        assert (state.is_ok, state.is_required) == (False, True)
        assert "there is no setting 'rooot'" in state.details["reason"]
        repo.commit({"docyard.toml": ""})
        assert describe().is_ok
    finally:
        service.close()


@loop_over(("path", "status"), [("/mcp/", 404), ("/", 405), ("/mpc", 404)])
def test_call_at_another_path_gets_the_address_of_the_endpoint(
    proxied_app: RunningApp, path: str, status: int
) -> None:
    headers = {"Authorization": f"Bearer {proxied_app.token}"}
    response = proxied_app.new_client().post(path, headers=headers, json={"jsonrpc": "2.0", "id": 1})
    assert response.status_code == status
    assert "The endpoint of MCP is /mcp." in response.json()["error"]["message"]


def test_printed_address_of_a_server_without_pages_names_the_endpoint(
    start_app: Callable[..., RunningApp],
) -> None:
    app = start_app(has_pages=False)
    client = app.new_client()
    assert client.get(f"/?token={app.token}").headers["location"] == "/"
    response = client.get("/")
    assert (response.status_code, "MCP clients connect to /mcp" in response.text) == (200, True)


def test_application_of_a_repository_answers_health_and_readiness(proxied_app: RunningApp) -> None:
    client = proxied_app.new_client()
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").json() == {"ready": True, "status": "ok"}
    assert client.get("/metrics").status_code == 401
    headers = {"Authorization": f"Bearer {proxied_app.token}"}
    assert client.get("/metrics", headers=headers).status_code == 403
    response = client.get("/", headers=headers)
    assert len(response.headers["x-request-id"]) == 16
    assert "content-security-policy" in response.headers


def test_log_of_a_failed_call_has_the_id_of_its_request(
    token_app: RunningApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(ContentFreeFormatter(is_json=True).format(record))

    def fail(*arguments: Any, **options: Any) -> None:
        raise RuntimeError("the secret question")

    monkeypatch.setattr(ToolDispatcher, "call", fail)
    handler = Handler()
    logging.getLogger("docyard").addHandler(handler)
    try:
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "search_docs", "arguments": {"query": "the secret question"}},
        }
        headers = {
            "Authorization": f"Bearer {token_app.token}",
            "Accept": "application/json",
            "X-Request-Id": "0123456789abcdef",
        }
        response = token_app.new_client().post("/mcp", json=call, headers=headers)
    finally:
        logging.getLogger("docyard").removeHandler(handler)
    reference = response.json()["result"]["structuredContent"]["reference"]
    [line] = [json.loads(line) for line in lines]
    assert line["request_id"] == "0123456789abcdef"
    assert line["message"] == f"search_docs failed, reference {reference}"
    assert line["exceptions"][0]["type"] == "RuntimeError"
    assert "secret" not in "".join(lines)
