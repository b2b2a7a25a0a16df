"""A server process over HTTP: host names, tokens, and both protocol versions at `/mcp`."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError

from docyard.cli.main import main
from docyard.http.timeouts import BACKLOG, MAX_CONNECTIONS
from docyard.terminal.exits import Exit
from tests.acceptance.clients import EventRecorder, connect_over_http, wait_until, watch_resources
from tests.acceptance.http_server import TIMEOUT_S, HttpServer, serve_over_http
from tests.acceptance.server import CLIENT_NAME, ProtocolMode
from tests.loops import loop_over
from tests.repositories import Repo, create_repository
from workspace.policy.tokens import Tokens
from workspace.publishing.locks import docyard_lock
from workspace.texts.token_bound import count_tokens_at_most

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the tests send POSIX signals")

FILES = {
    "docyard.toml": '[[protect]]\npaths = ["specs/**"]\nchecks = []\n',
    "guide.md": "# Guide\n\nHow to begin with herons.\n\n## Tasks\n\n- [ ] Try\n",
    "specs/api.md": "# API\n\n## Calls\n\nSome.\n",
}
URL_LINE = re.compile(r"http://127\.0\.0\.1:[0-9]+/\?token=[A-Za-z0-9_-]{43}\n")
PING: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ALL_TOOLSETS = "documents,tasks,search,reading,history,proposals"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return create_repository(tmp_path_factory.mktemp("http") / "docs", FILES)


@pytest.fixture(scope="module")
def server(repo: Repo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    home = tmp_path_factory.mktemp("user") / "home"
    with serve_over_http(home, "-C", repo.path, "--no-fsync", "--toolsets", ALL_TOOLSETS) as http_server:
        yield http_server
        assert http_server.read_log() == ""


@pytest.fixture(scope="module")
def person_token(repo: Repo) -> str:
    return Tokens(repo.path / ".git").add("ana", "Ana Li", "ana@example.org")


def parse_status(response: str) -> int:
    return int(response.split(" ", 2)[1])


def read_available(connection: socket.socket) -> bytes:
    """Return the received bytes up to the end of a JSON object, or until the server closes the connection."""
    received_bytes = b""
    while not received_bytes.endswith(b"}") and (chunk := connection.recv(65_536)):
        received_bytes += chunk
    return received_bytes


def post(server: HttpServer, message: object, query: str = "", **headers: str) -> tuple[int, Any]:
    """Send one message; return the status and the data of the response."""
    all_headers = {"Authorization": f"Bearer {server.token}", "Accept": "application/json", **headers}
    response = httpx2.post(
        f"{server.base_url}/mcp{query}", json=message, headers=all_headers, timeout=TIMEOUT_S
    )
    return response.status_code, response.json() if response.content else None


def test_server_prints_its_url_on_one_line(server: HttpServer) -> None:
    assert URL_LINE.fullmatch(server.url_line)
    assert httpx2.get(server.url_line.strip(), timeout=TIMEOUT_S).status_code == 303


HOST_HEADERS = {
    "another host": (["Host: evil.example"], 421),
    "another host with the port": (["Host: evil.example:{port}"], 421),
    "missing port": (["Host: 127.0.0.1"], 421),
    "another port": (["Host: 127.0.0.1:1"], 421),
    "missing header": ([], 400),
    "empty header": (["Host:"], 421),
    "two headers": (["Host: 127.0.0.1:{port}", "Host: evil.example"], 400),
    "two hosts in one header": (["Host: 127.0.0.1:{port}, evil.example"], 421),
    "final dot": (["Host: localhost.:{port}"], 421),
    "user name": (["Host: user@127.0.0.1:{port}"], 421),
    "port out of range": (["Host: 127.0.0.1:99999"], 421),
    "forwarded host": (["Host: evil.example", "X-Forwarded-Host: 127.0.0.1:{port}"], 421),
    "localhost in capitals": (["Host: LOCALHOST:{port}"], 401),
    "IPv6 address": (["Host: [::1]:{port}"], 401),
}


@loop_over(("headers", "expected"), HOST_HEADERS.values(), ids=HOST_HEADERS)
@loop_over("target", ["/", "/mcp"])
def test_host_header_is_checked_before_the_token(
    server: HttpServer, headers: list[str], expected: int, target: str
) -> None:
    lines = [line.replace("{port}", str(server.port)) for line in headers]
    assert parse_status(server.send_raw_request(f"GET {target} HTTP/1.1", *lines)) == expected


# A proxy may read the second request as a part of the first body, or the reverse.
AMBIGUOUS_REQUESTS = {
    "length and encoding": (b"POST /mcp HTTP/1.1", [b"Content-Length: 5", b"Transfer-Encoding: chunked"]),
    "encoding and length": (
        b"POST /mcp HTTP/1.1",
        [b"Transfer-Encoding: chunked", b"Content-Length: 5"],
    ),
    "length and encoding in capitals": (
        b"POST / HTTP/1.1",
        [b"CONTENT-LENGTH: 5", b"TRANSFER-ENCODING: Chunked"],
    ),
    "length and encoding with keep-alive": (
        b"GET / HTTP/1.1",
        [b"Connection: keep-alive", b"Content-Length: 5", b"Transfer-Encoding: chunked"],
    ),
    "encoding in HTTP/1.0": (
        b"POST /mcp HTTP/1.0",
        [b"Connection: keep-alive", b"Transfer-Encoding: chunked"],
    ),
    "two lengths": (b"POST /mcp HTTP/1.1", [b"Content-Length: 5", b"Content-Length: 0"]),
    "unsupported encoding": (b"POST /mcp HTTP/1.1", [b"Transfer-Encoding: gzip, chunked"]),
    "a space before the colon": (
        b"POST /mcp HTTP/1.1",
        [b"Transfer-Encoding : chunked", b"Content-Length: 5"],
    ),
}


@loop_over(("request_line", "headers"), AMBIGUOUS_REQUESTS.values(), ids=AMBIGUOUS_REQUESTS)
def test_request_of_ambiguous_length_is_refused_and_closes_connection(
    server: HttpServer, request_line: bytes, headers: list[bytes]
) -> None:
    base_headers = [b"Host: 127.0.0.1:%d" % server.port, b"Authorization: Bearer %b" % server.token.encode()]
    smuggled_request = b"\r\n".join([b"GET /smuggled HTTP/1.1", *base_headers, b"", b""])
    request = b"\r\n".join([request_line, *base_headers, *headers, b"", b"0\r\n\r\n"]) + smuggled_request
    with socket.create_connection((server.host, server.port), timeout=TIMEOUT_S) as connection:
        connection.sendall(request)
        received_bytes = b""
        while chunk := connection.recv(65_536):  # until the server closes the connection
            received_bytes += chunk
    head = received_bytes.partition(b"\r\n\r\n")[0].lower()
    assert head.startswith(b"http/1.1 400 ")
    assert b"connection: close" in head
    assert received_bytes.count(b"HTTP/1.1 ") == 1, "the smuggled request has a response"


def test_pipelined_requests_get_responses(server: HttpServer) -> None:
    base_headers = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
    body = json.dumps(PING)
    head = (
        f"POST /mcp HTTP/1.1\r\n{base_headers}Accept: application/json\r\nContent-Type: application/json\r\n"
    )
    chunked_request = f"{head}Transfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n{body}\r\n0\r\n\r\n"
    plain_request = f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    with socket.create_connection((server.host, server.port), timeout=TIMEOUT_S) as connection:
        connection.sendall((chunked_request + plain_request).encode())
        received_bytes = b""
        while chunk := connection.recv(65_536):
            received_bytes += chunk
    assert received_bytes.count(b"HTTP/1.1 200 ") == 2


@loop_over("target", ["http://evil.example/", "http://127.0.0.1:{port}/", "*", "evil.example:80"])
def test_request_targets_for_proxies_are_refused(server: HttpServer, target: str) -> None:
    lines = (f"GET {target.replace('{port}', str(server.port))} HTTP/1.1", f"Host: 127.0.0.1:{server.port}")
    assert parse_status(server.send_raw_request(*lines)) == 400


@loop_over("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "file://"])
def test_invalid_origin_is_refused(server: HttpServer, origin: str) -> None:
    assert post(server, PING, Origin=origin)[0] == 403
    preflight = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    response = httpx2.options(f"{server.base_url}/mcp", headers=preflight)
    assert response.status_code == 403
    assert "access-control-allow-origin" not in response.headers


def test_only_valid_tokens_are_accepted(server: HttpServer, person_token: str) -> None:
    assert post(server, PING)[0] == 200
    assert post(server, PING, Authorization=f"Bearer {person_token}")[0] == 200
    invalid_values = ("", "Bearer", "Bearer wrong", f"Basic {server.token}", f"Bearer docyard_ana_{'0' * 48}")
    for authorization in invalid_values:
        status, data = post(server, PING, Authorization=authorization)
        assert status == 401
        assert "token" in data["error"]["message"].lower()
    response = httpx2.get(f"{server.base_url}/mcp", timeout=TIMEOUT_S)
    assert response.headers["www-authenticate"].startswith("Bearer")


def test_token_of_other_repository_is_refused(server: HttpServer, tmp_path: Path) -> None:
    other_repo = create_repository(tmp_path / "docs")
    other_secret = Tokens(other_repo.path / ".git").add("ana", "Ana Li", "ana@example.org")
    assert post(server, PING, Authorization=f"Bearer {other_secret}")[0] == 401


def test_revoked_token_is_refused(server: HttpServer, repo: Repo) -> None:
    secret = Tokens(repo.path / ".git").add("eve", "Eve", "eve@example.org")
    assert post(server, PING, Authorization=f"Bearer {secret}")[0] == 200
    assert main(["tokens", "revoke", "eve", "-C", str(repo.path)]) == Exit.DONE
    assert post(server, PING, Authorization=f"Bearer {secret}")[0] == 401


@pytest.mark.anyio
async def test_tools_resources_and_prompts_work_over_http(
    server: HttpServer, repo: Repo, protocol: ProtocolMode
) -> None:
    async with connect_over_http(server, protocol) as client:
        assert client.protocol_version == ("2025-11-25" if protocol == "legacy" else "2026-07-28")
        tool_names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"create_document", "search_docs", "update_proposal"} <= set(tool_names)
        search = await client.call_tool("search_docs", {"query": "herons"})
        assert isinstance(search.structured_content, dict)
        assert search.structured_content["hits"]
        resource = await client.read_resource("doc:///specs/api.md")
        assert resource.contents
        assert (await client.list_prompts()).prompts
        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("no_such_tool", {}, progress_callback=ignore_progress)
        edit_response = await client.call_tool(
            "edit_document",
            {"operation": "add_task", "file": "guide.md", "slug": "tasks", "title": f"In {protocol}"},
        )
        assert not edit_response.is_error
    # The handshake is not stored over HTTP, so the name is that of the HTTP client.
    client_name = "python-httpx2" if protocol == "legacy" else CLIENT_NAME
    assert f"Docyard-Client: {client_name}\n" in repo.git("log", "-1", "--format=%B")


async def ignore_progress(progress: float, total: float | None, message: str | None) -> None:
    """Ignore progress."""


@pytest.mark.anyio
async def test_overwrite_requires_base_commit(server: HttpServer, protocol: ProtocolMode) -> None:
    edit = {"operation": "update_content", "file": "guide.md", "slug": "_preamble"}
    async with connect_over_http(server, protocol) as client:
        view = await client.call_tool("view_document", {"file": "guide.md", "slug": "_preamble"})
        assert isinstance(view.structured_content, dict)
        # The server stores no read texts over HTTP: the client must send the base commit.
        refused_response = await client.call_tool(
            "edit_document", {**edit, "content": f"Another {protocol}."}
        )
        assert isinstance(refused_response.structured_content, dict)
        assert refused_response.structured_content["code"] == "READ_FIRST"
        commit = view.structured_content["commit"]
        edit_with_base = {**edit, "content": f"Herons, {protocol}.", "base_commit": commit}
        assert not (await client.call_tool("edit_document", edit_with_base)).is_error


@pytest.mark.anyio
async def test_token_of_person_can_approve_and_merge(
    server: HttpServer, repo: Repo, person_token: str, protocol: ProtocolMode
) -> None:
    edit = {
        "operation": "append_content",
        "file": "specs/api.md",
        "slug": "calls",
        "content": f"In {protocol}.",
    }
    async with (
        connect_over_http(server, protocol) as agent,
        connect_over_http(server, protocol, person_token) as person,
    ):
        proposal_response = await agent.call_tool("edit_document", edit)
        assert isinstance(proposal_response.structured_content, dict)
        proposal = proposal_response.structured_content["proposal"]
        actions = {name: {"proposal": proposal, "action": name} for name in ("submit", "approve", "merge")}
        assert not (await agent.call_tool("update_proposal", actions["submit"])).is_error
        for name in ("approve", "merge"):
            assert (await agent.call_tool("update_proposal", actions[name])).is_error
        for name in ("approve", "merge"):
            response = await person.call_tool("update_proposal", actions[name])
            assert not response.is_error, response.structured_content
    assert f"In {protocol}." in repo.git("show", "main:specs/api.md")


@pytest.mark.anyio
async def test_listening_clients_are_notified_of_commits(server: HttpServer, repo: Repo) -> None:
    first_recorder, second_recorder = EventRecorder(), EventRecorder()
    uri = "doc:///watched.md"
    repo.commit({"watched.md": "# Watched\n"})
    async with (
        connect_over_http(server, "auto") as first_client,
        connect_over_http(server, "auto") as second_client,
        watch_resources(first_client, "auto", first_recorder, [uri]),
        watch_resources(second_client, "auto", second_recorder, [uri]),
    ):
        repo.commit({"watched.md": "# Watched\n\nMore.\n"})
        await first_recorder.wait_for_events(uri)
        await second_recorder.wait_for_events(uri)


def test_progress_is_streamed_before_result(server: HttpServer, repo: Repo) -> None:
    repo.commit({"progress.md": "# Progress\n\nOf egrets.\n"})
    params = {"name": "search_docs", "arguments": {"query": "egrets"}, "_meta": {"progressToken": "p1"}}
    headers = {"Authorization": f"Bearer {server.token}", "Accept": "application/json, text/event-stream"}
    message = {**PING, "method": "tools/call", "params": params}
    response = httpx2.post(f"{server.base_url}/mcp", json=message, headers=headers, timeout=TIMEOUT_S)
    assert response.headers["content-type"].startswith("text/event-stream")
    messages = [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")]
    *notifications, result = messages
    assert {notification["method"] for notification in notifications} == {"notifications/progress"}
    steps = [notification["params"]["progress"] for notification in notifications]
    assert steps
    assert steps == sorted(set(steps))
    assert {notification["params"]["progressToken"] for notification in notifications} == {"p1"}
    assert result["result"]["structuredContent"]["hits"]


def test_array_of_arguments_returns_usage(server: HttpServer) -> None:
    params = {"name": "edit_document", "arguments": [{"operation": "add_task"}]}
    status, data = post(server, {**PING, "method": "tools/call", "params": params})
    result = data["result"]
    assert (status, result["isError"]) == (200, True)
    assert '{"operations": [...]}' in result["structuredContent"]["fix"]


def test_token_budget_in_url_limits_answers(server: HttpServer, repo: Repo) -> None:
    repo.commit({"long.md": "# Long\n\n" + "Some words of a long text.\n" * 3_000})
    fields = {"file": "long.md", "slug": "_preamble", "max_tokens": 3_000}
    message = {**PING, "method": "tools/call", "params": {"name": "view_document", "arguments": fields}}
    for query, limit in (("?max_tokens=400", 400), ("?max_tokens=9000", 3_000), ("", 3_000)):
        status, data = post(server, message, query)
        text = data["result"]["content"][0]["text"]
        assert (status, data["result"]["isError"]) == (200, False)
        assert limit // 2 < count_tokens_at_most(text) <= limit
    for query in ("?max_tokens=199", "?max_tokens=many", "?max_tokens="):
        status, data = post(server, message, query)
        assert (status, data["error"]["data"]["ge"]) == (400, 200)
        assert "must be a whole number of at least 200" in data["error"]["message"]


@pytest.mark.slow  # connections over the backlog are retried after a second
def test_idle_connections_do_not_block_others(server: HttpServer) -> None:
    with ExitStack() as stack:
        for _ in range(MAX_CONNECTIONS + BACKLOG):
            stack.enter_context(socket.create_connection((server.host, server.port)))
        assert post(server, PING)[0] == 200


def test_disconnect_during_upload_of_form_logs_no_error(server: HttpServer) -> None:
    form_type = "Content-Type: application/x-www-form-urlencoded"
    lines = (
        "POST /login HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        form_type,
        "Content-Length: 9",
        "",
        "token",
    )
    with socket.create_connection((server.host, server.port)) as connection:
        connection.sendall("\r\n".join(lines).encode())
    assert post(server, PING)[0] == 200  # the fixture `server` checks at its end that the log is empty


@loop_over("has_length", [True, False], ids=["with its length", "in chunks"])
def test_too_large_message_is_refused(server: HttpServer, has_length: bool) -> None:
    body = json.dumps({**PING, "params": {"x": "x" * (4 * 1024 * 1024)}}).encode()
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    connection = http.client.HTTPConnection(server.host, server.port, timeout=TIMEOUT_S)
    try:
        connection.request(
            "POST", "/mcp", body if has_length else iter([body]), headers, encode_chunked=not has_length
        )
        response = connection.getresponse()
        data = json.loads(response.read())
    except BrokenPipeError:  # the response came before the whole request was sent
        response = connection.getresponse()
        data = json.loads(response.read())
    finally:
        connection.close()
    assert response.status == 413
    assert data["error"]["data"] == {"code": "MESSAGE_TOO_LARGE", "limit": 4 * 1024 * 1024}


def test_disconnect_does_not_stop_write(server: HttpServer, repo: Repo) -> None:
    arguments = {"operation": "add_task", "file": "guide.md", "slug": "tasks", "title": "After a disconnect"}
    message = {**PING, "method": "tools/call", "params": {"name": "edit_document", "arguments": arguments}}
    body = json.dumps(message).encode()
    for accept in ("application/json", "application/json, text/event-stream"):
        head_before = repo.head()
        with docyard_lock(repo.path / ".git"):
            connection = socket.create_connection((server.host, server.port))
            lines = (
                "POST /mcp HTTP/1.1",
                f"Host: 127.0.0.1:{server.port}",
                f"Authorization: Bearer {server.token}",
                "Content-Type: application/json",
                f"Accept: {accept}",
                f"Content-Length: {len(body)}",
            )
            connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
            connection.settimeout(1)
            with pytest.raises(TimeoutError):  # the write is still queued
                read_available(connection)
            connection.close()
        wait_until(lambda head_before=head_before: repo.head() != head_before, "the commit")  # type: ignore[misc]
    assert repo.git("show", "main:guide.md").count("After a disconnect") == 2


def _open_stream(server: HttpServer, *lines: str, body: bytes = b"") -> socket.socket:
    """Request an event stream, and return its socket after the first bytes of the response."""
    connection = socket.create_connection((server.host, server.port), timeout=TIMEOUT_S)
    all_lines = (
        *lines,
        f"Host: 127.0.0.1:{server.port}",
        f"Authorization: Bearer {server.token}",
        "Connection: close",
    )
    connection.sendall("\r\n".join([*all_lines, "", ""]).encode() + body)
    assert b" 200 " in connection.recv(100)
    return connection


def _open_pages_stream(server: HttpServer) -> socket.socket:
    return _open_stream(server, "GET /events HTTP/1.1", "Accept: text/event-stream")


def _open_subscription(server: HttpServer) -> socket.socket:
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    request = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    body = json.dumps(request).encode()
    return _open_stream(
        server,
        "POST /mcp HTTP/1.1",
        "Accept: text/event-stream, application/json",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        f"MCP-Protocol-Version: {version}",
        "Mcp-Method: subscriptions/listen",
        body=body,
    )


def test_stream_without_events_is_not_offered(server: HttpServer) -> None:
    response = server.send_raw_request(
        "GET /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Authorization: Bearer {server.token}",
        "Accept: text/event-stream",
    )
    assert parse_status(response) == 405
    assert "\r\nallow: POST\r\n" in response.replace("Allow", "allow")


@loop_over("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_server_stops_with_open_streams(repo: Repo, tmp_path: Path, signal_number: int) -> None:
    with serve_over_http(tmp_path / "home", "-C", repo.path, "--no-fsync") as http_server:
        streams = [_open_pages_stream(http_server), _open_subscription(http_server)]
        assert http_server.stop(signal_number) == (Exit.DONE, "")
        for stream in streams:
            while stream.recv(65_536):
                pass
            stream.close()
        assert http_server.read_log() == ""


def test_server_without_token_refuses_foreign_host_and_invalid_token(repo: Repo, tmp_path: Path) -> None:
    options = ("-C", repo.path, "--http", "localhost:0", "--no-token", "--read-only")
    with serve_over_http(tmp_path / "home", *options) as http_server:
        assert re.fullmatch(r"http://localhost:[0-9]+/\n", http_server.url_line)
        assert httpx2.get(f"{http_server.base_url}/", timeout=TIMEOUT_S).status_code == 200
        foreign_host = {"Host": "evil.example"}
        assert (
            httpx2.get(f"{http_server.base_url}/", headers=foreign_host, timeout=TIMEOUT_S).status_code == 421
        )
        # If a request contains a token, the token must be valid.
        assert post(http_server, PING, Authorization="Bearer x")[0] == 401


def test_artifact_has_web_pages_and_search(repo: Repo, tmp_path: Path) -> None:
    artifact, token_file = tmp_path / "site", tmp_path / "token"
    assert main(["build", str(repo.path), "--out", str(artifact)]) == Exit.DONE
    token_file.write_text("t" * 40)
    token_file.chmod(0o600)
    options = ("--index", artifact, "--read-only", "--token-file", token_file)
    with serve_over_http(tmp_path / "home", *options) as http_server:
        assert http_server.url_line == f"{http_server.base_url}/\n"
        headers = {"Authorization": f"Bearer {'t' * 40}"}
        assert httpx2.get(f"{http_server.base_url}/", headers=headers, timeout=TIMEOUT_S).status_code == 200
        for path in ("/library", "/doc/guide.md", "/search?q=herons"):
            response = httpx2.get(http_server.base_url + path, headers=headers, timeout=TIMEOUT_S)
            assert response.status_code == 200, path
            assert "Guide" in response.text
            assert "/edit/" not in response.text
        edit_response = httpx2.post(
            f"{http_server.base_url}/edit/guide.md", data={"text": "x"}, headers=headers, timeout=TIMEOUT_S
        )
        assert edit_response.status_code == 403
        tools = post(http_server, {**PING, "method": "tools/list"}, **headers)[1]["result"]["tools"]
        tool_names = {tool["name"] for tool in tools}
        assert not {"edit_document", "create_document", "create_proposal"} & tool_names
        wrong_token = {"Authorization": "Bearer x"}
        assert httpx2.get(http_server.base_url, headers=wrong_token, timeout=TIMEOUT_S).status_code == 401
        assert "t" * 40 not in http_server.read_log()


@pytest.mark.anyio
async def test_concurrent_writes_are_all_committed(server: HttpServer, repo: Repo) -> None:
    count_before = int(repo.git("rev-list", "--count", "main"))

    async def write(client: Client, number: int) -> None:
        task = {"operation": "add_task", "file": "guide.md", "slug": "tasks"}
        response = await client.call_tool("edit_document", {**task, "title": f"Many {number}"})
        assert not response.is_error

    async with (
        connect_over_http(server, "auto") as first_client,
        connect_over_http(server, "legacy") as second_client,
        anyio.create_task_group() as tasks,
    ):
        for number in range(10):
            tasks.start_soon(write, (first_client, second_client)[number % 2], number)
    assert int(repo.git("rev-list", "--count", "main")) == count_before + 10
    assert repo.git("show", "main:guide.md").count("Many ") == 10
