"""Several worker processes at one address: restarts, signals and ends."""

from __future__ import annotations

import http.client
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.timing import read_processor_seconds
from tests.acceptance.http_server import HttpServer, serve_over_http
from tests.documentation_sources import create_source_repositories, write_sources_file

WAIT_S = 30.0
MAX_UNANSWERED_S = 5.0
WORKER_COUNT = 2


def search(server: HttpServer, query: str = "installer", namespace: str = "tutorials") -> list[str]:
    """Return the addresses of the hits of a search over a new connection."""
    call = {"name": "search_documentation", "arguments": {"query": query, "namespace": namespace}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "MCP-Protocol-Version": "2025-06-18",
    }
    connection = http.client.HTTPConnection(server.host, server.port, timeout=WAIT_S)
    try:
        connection.request("POST", "/mcp", body, headers)
        result = json.loads(connection.getresponse().read())["result"]
        return [source["address"] for source in result["structuredContent"].get("sources", [])]
    finally:
        connection.close()


def list_workers(server: HttpServer) -> list[int]:
    """Return the ids of the processes that serve: the workers, or the server itself if it has none."""
    servers = _list_listening_processes(server.port)
    workers = [child for process in servers for child in _list_children(process) if _is_worker(child)]
    return sorted(workers or servers)


def _list_listening_processes(port: int) -> list[int]:
    """Return the ids of the processes that listen at a port, by the system's table of sockets."""
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(f":{port:04X}") and fields[3] == "0A":
            inodes.add(f"socket:[{fields[9]}]")
    return [
        int(process.name)
        for process in Path("/proc").iterdir()
        if process.name.isdigit() and inodes & set(_list_files(process))
    ]


def _list_files(process: Path) -> Iterator[str]:
    try:
        for file in (process / "fd").iterdir():
            yield os.readlink(file)
    except OSError:  # the process has ended
        return


def is_running(process: int) -> bool:
    """Return True if a process runs, and has not only ended without being waited for."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def _list_children(process: int) -> list[int]:
    try:
        return [*map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())]
    except OSError:  # the process has ended
        return []


def _is_worker(process: int) -> bool:
    try:
        return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(0.05)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpServer]:
    create_source_repositories(tmp_path)
    options = ("--sources", write_sources_file(tmp_path), "--no-token", "--workers", str(WORKER_COUNT))
    with serve_over_http(tmp_path / "home", *options) as server:
        yield server


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system has no table of sockets")
def test_killed_worker_is_replaced_and_searches_are_answered(server: HttpServer) -> None:
    workers = list_workers(server)
    assert len(workers) == WORKER_COUNT
    assert "install.md#steps" in search(server)
    for number, worker in enumerate(
        workers
    ):  # the first one, which fetches and builds for all, is among them
        os.kill(worker, signal.SIGKILL)
        kill_time = time.monotonic()
        for _ in range(20):
            while True:
                try:
                    assert search(server)
                    break
                except (OSError, http.client.HTTPException):  # a connection to the killed worker
                    assert time.monotonic() < kill_time + MAX_UNANSWERED_S
        wait_until(lambda count=number + 1: server.read_log().count("was started again") == count)
    assert len(list_workers(server)) == WORKER_COUNT
    assert not set(workers) & set(list_workers(server))
    assert server.read_log().count("is started again") == WORKER_COUNT
    assert server.stop() == (0, "")
    assert list_workers(server) == []


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system has no table of sockets")
def test_workers_end_with_a_killed_supervisor(server: HttpServer) -> None:
    workers = list_workers(server)
    assert len(workers) == WORKER_COUNT
    server.process.kill()
    wait_until(lambda: not any(map(is_running, workers)))


@pytest.mark.process
def test_hangup_reaches_all_workers(server: HttpServer, tmp_path: Path) -> None:
    write_sources_file(tmp_path, '[sources.guides]\nrepo = "guides"\n')
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.read_log().count("was read again") == WORKER_COUNT)
    for _ in range(20):
        assert search(server, namespace="guides")


@pytest.mark.process
def test_all_workers_answer_with_the_token_of_the_printed_url(tmp_path: Path) -> None:
    create_source_repositories(tmp_path)
    file = write_sources_file(tmp_path)
    with serve_over_http(tmp_path / "home", "--sources", file, "--workers", "2") as server:
        assert server.token
        for _ in range(10):
            connection = http.client.HTTPConnection(server.host, server.port, timeout=WAIT_S)
            connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {server.token}"})
            assert connection.getresponse().status == 200
            connection.close()


@pytest.mark.process
def test_worker_that_cannot_start_ends_the_server(tmp_path: Path) -> None:
    file = write_sources_file(tmp_path, "[sources.a]\nreppo = 1\n")
    with pytest.raises(AssertionError, match="reppo"):  # no URL is printed
        HttpServer(
            ["--sources", str(file), "--http", "127.0.0.1:0", "--no-token", "--workers", "2"],
            tmp_path / "home",
        )


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-C", "."], "--workers needs --sources or --index"),
        (["--index", ".", "--read-only"], "--workers with --index needs --no-token"),
    ],
)
def test_workers_are_refused_for_one_process(options: list[str], message: str, tmp_path: Path) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "docyard", "serve", *options, "--http", "127.0.0.1:0", "--workers", "2"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
        check=False,
    )
    assert process.returncode == 2
    assert message in process.stderr


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system has no table of sockets")
def test_each_worker_gets_as_many_connections(server: HttpServer) -> None:
    connections = [http.client.HTTPConnection(server.host, server.port, timeout=WAIT_S) for _ in range(10)]
    counts_before = {worker: count_sockets(worker) for worker in list_workers(server)}
    for connection in connections:
        connection.request("GET", "/healthz")
        assert connection.getresponse().read()
    counts = [count_sockets(worker) - count for worker, count in counts_before.items()]
    for connection in connections:
        connection.close()
    assert counts == [5, 5]


def count_sockets(process: int) -> int:
    """Return the number of open sockets of a process."""
    return sum(file.startswith("socket:") for file in _list_files(Path(f"/proc/{process}")))


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system has no table of sockets")
def test_new_connections_pass_a_stopped_worker_whose_queue_is_full(server: HttpServer) -> None:
    stopped_worker, worker = list_workers(server)
    os.kill(stopped_worker, signal.SIGSTOP)
    connections = []
    try:
        while count_sockets(worker) < 300:  # half of the first ones, and all after the queue is full
            assert len(connections) < 1_500
            connections.append(socket.create_connection((server.host, server.port), WAIT_S))
        assert any(answers_health_check(connection) for connection in connections[-2:])
    finally:
        os.kill(stopped_worker, signal.SIGCONT)
        for connection in connections:
            connection.close()
    assert search(server)


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system has no table of sockets")
def test_connections_wait_while_the_supervisor_can_open_no_file(server: HttpServer) -> None:
    [supervisor] = _list_listening_processes(server.port)
    soft_limit, hard_limit = resource.prlimit(supervisor, resource.RLIMIT_NOFILE)
    resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (6, hard_limit))  # all are in use
    start_seconds = read_processor_seconds([supervisor])
    connection = socket.create_connection((server.host, server.port), WAIT_S)
    assert not answers_health_check(connection)
    assert read_processor_seconds([supervisor]) - start_seconds < 0.5
    resource.prlimit(supervisor, resource.RLIMIT_NOFILE, (soft_limit, hard_limit))
    connection.settimeout(WAIT_S)
    assert connection.recv(10)
    connection.close()
    assert "a connection cannot be accepted" in server.read_log()


def answers_health_check(connection: socket.socket) -> bool:
    """Return True if a worker answers over a connection soon."""
    connection.settimeout(2)
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    try:
        return bool(connection.recv(10))
    except TimeoutError:
        return False
