"""A real server and clients that connect, send or read in the worst way."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from docyard.http.timeouts import BACKLOG, MAX_CONNECTIONS
from docyard.mcp_server.http import MAX_BODY_BYTES, MAX_LARGE_BODIES
from tests.acceptance.http_server import HttpServer, serve_over_http
from tests.documentation_sources import create_source_repositories, write_sources_file
from tests.docyard.http.test_supervisor import MAX_UNANSWERED_S, list_workers, search

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell sizes"),
]

IDLE_CONNECTION_COUNT = 10_000
BODY_BYTES = 100_000_000
MAX_GROWTH_BYTES = 64_000_000
CHUNK = b"x" * 65_536


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    folder = tmp_path_factory.mktemp("sources")
    create_source_repositories(folder)
    options = ("--sources", write_sources_file(folder), "--no-token")
    with serve_over_http(folder / "home", *options) as server:
        search(server)
        yield server


def find_process(server: HttpServer) -> Path:
    """Return the folder of the server's process; the tests may have started it through another one."""
    (process_id,) = list_workers(server)
    return Path(f"/proc/{process_id}")


def read_size(server: HttpServer) -> int:
    """Return the bytes of memory that the server's process uses."""
    status = (find_process(server) / "status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1_024


def count_files(server: HttpServer) -> int:
    return len(list((find_process(server) / "fd").iterdir()))


def connect(server: HttpServer) -> socket.socket:
    return socket.create_connection((server.host, server.port), timeout=30)


def build_head(server: HttpServer, *lines: str) -> bytes:
    common_lines = (
        "POST /mcp HTTP/1.1",
        f"Host: {server.host}:{server.port}",
        "Content-Type: application/json",
        "Accept: application/json",
        "MCP-Protocol-Version: 2025-06-18",
    )
    return "\r\n".join((*common_lines, *lines, "", "")).encode()


def search_quickly(server: HttpServer) -> None:
    start_time = time.monotonic()
    assert search(server)
    assert time.monotonic() - start_time < MAX_UNANSWERED_S


@pytest.mark.slow
def test_idle_connections_take_no_place_of_others(server: HttpServer) -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed_count = IDLE_CONNECTION_COUNT + 100
    if limits[1] != resource.RLIM_INFINITY and limits[1] < needed_count:
        pytest.skip("this process may not open so many connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(needed_count, limits[0]), limits[1]))
    file_count, size = count_files(server), read_size(server)
    try:
        with ExitStack() as stack:
            for _ in range(IDLE_CONNECTION_COUNT):
                stack.enter_context(connect(server))
            search_quickly(server)
            assert count_files(server) <= file_count + MAX_CONNECTIONS + BACKLOG
            assert read_size(server) <= size + MAX_GROWTH_BYTES
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize("is_chunked", [False, True])
def test_huge_body_is_refused_without_memory_for_it(server: HttpServer, is_chunked: bool) -> None:
    size = read_size(server)
    head = build_head(server, "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {BODY_BYTES}")
    chunk = b"%x\r\n%b\r\n" % (len(CHUNK), CHUNK) if is_chunked else CHUNK
    sent_count = 0
    with connect(server) as client:
        client.sendall(head)
        client.setblocking(False)
        response = b""
        deadline = time.monotonic() + 30
        while not response and time.monotonic() < deadline:
            try:
                sent_count += client.send(chunk[sent_count % len(chunk) :])
            except (BlockingIOError, ConnectionError):
                time.sleep(0.01)
            try:
                response = client.recv(65_536)
            except BlockingIOError:
                continue
    assert response.startswith(b"HTTP/1.1 413")
    assert sent_count < 4 * MAX_BODY_BYTES  # the rest was never read
    assert read_size(server) <= size + MAX_GROWTH_BYTES
    search_quickly(server)


def test_responses_that_are_not_read_take_little_memory(server: HttpServer) -> None:
    call = {"name": "search_documentation", "arguments": {"query": "retry", "namespace": "*"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
    request = build_head(server, f"Content-Length: {len(body)}") + body
    size = read_size(server)
    with ExitStack() as stack:
        for _ in range(20):
            client = stack.enter_context(connect(server))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.setblocking(False)
            for _ in range(200):
                try:
                    client.send(request)
                except BlockingIOError:
                    break
        time.sleep(2)
        search_quickly(server)
        assert read_size(server) <= size + MAX_GROWTH_BYTES


def test_slow_senders_delay_no_other_client(server: HttpServer) -> None:
    head = build_head(server, "Content-Length: 1000")
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(200)]
        for position in range(5):
            for client in clients:
                client.send(head[position : position + 1])
            search_quickly(server)


def test_stream_of_a_client_that_disconnects_is_released(server: HttpServer) -> None:
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    request = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    body = json.dumps(request).encode()
    head = (
        build_head(server, "Mcp-Method: subscriptions/listen", f"Content-Length: {len(body)}")
        .replace(b"2025-06-18", version.encode())
        .replace(b"Accept: ", b"Accept: text/event-stream, ")
    )
    file_count = count_files(server)
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(50)]
        for client in clients:
            client.sendall(head + body)
        for client in clients:
            assert client.recv(65_536).startswith(b"HTTP/1.1 200")
        assert count_files(server) >= file_count + len(clients)
        search_quickly(server)
    deadline = time.monotonic() + 10
    while count_files(server) > file_count + 5:
        assert time.monotonic() < deadline, "streams were not released"
        time.sleep(0.05)


def test_many_large_bodies_that_do_not_end_are_refused(server: HttpServer) -> None:
    size, refused_count = read_size(server), 48
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(MAX_LARGE_BODIES + refused_count)]
        responses = []
        for client in clients:
            client.sendall(build_head(server, f"Content-Length: {MAX_BODY_BYTES}"))
            with suppress(ConnectionError):
                client.sendall(b"x" * (MAX_BODY_BYTES - 1))
                client.settimeout(0.01)
            with suppress(TimeoutError, ConnectionError):
                responses.append(client.recv(65_536))
        assert sum(response.startswith(b"HTTP/1.1 503") for response in responses) >= refused_count - 5
        assert read_size(server) <= size + 1.5 * MAX_LARGE_BODIES * MAX_BODY_BYTES
        search_quickly(server)
    time.sleep(0.5)
    with connect(server) as client:
        client.sendall(build_head(server, f"Content-Length: {len(CHUNK) + 9}") + b"x" * (len(CHUNK) + 9))
        assert client.recv(65_536).startswith(b"HTTP/1.1 400")
