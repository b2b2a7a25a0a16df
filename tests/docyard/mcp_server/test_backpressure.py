"""Back-pressure over stdio: bounded memory, a response to every request, and a fast exit."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import anyio
import pytest
from mcp_types import CONNECTION_CLOSED, PARSE_ERROR

from docyard.mcp_server.input import INVALID_REQUEST, MAX_LINE_BYTES
from docyard.mcp_server.review_page import MAX_WAITING_CALLS
from docyard.mcp_server.stdio import MAX_OPEN_REQUESTS, InputFile, OpenRequests, OutputFile
from tests import fork_server
from tests.docyard.conftest import Git
from tests.stdio_client import (
    HANDSHAKE,
    REQUEST_META,
    ROOT,
    TIMEOUT_S,
    Message,
    RawClient,
    build_serve_command,
    build_server_environment,
    encode_line,
)

STUB_SERVER = str(Path(__file__).with_name("stub_server.py"))
MEMORY_LIMIT_MB = 200
GROWTH_LIMIT_MB = 40
EXIT_LIMIT_S = 10.0
STALL_TIMEOUT_S = 3.0  # the server disconnects a client that reads nothing for this time

needs_posix = pytest.mark.skipif(os.name != "posix", reason="needs non-blocking pipes and signals")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
each_version = pytest.mark.parametrize("is_stateless", [False, True], ids=["2025-11-25", "2026-07-28"])


def build_request(request_id: int, method: str, is_stateless: bool, **params: object) -> bytes:
    fields = {**params, "_meta": REQUEST_META} if is_stateless else params
    return encode_line({"id": request_id, "method": method, "params": fields})


def generate_mixed_lines(is_stateless: bool) -> Iterator[bytes]:
    """Yield lines without end: valid and invalid requests, repeated ids, notifications and cancellations."""
    search = {"name": "search_docs", "arguments": {"query": "backoff jitter"}}
    for number in count(1):
        yield build_request(number, "tools/call", is_stateless, **search)
        yield build_request(number, "tools/list", is_stateless)
        yield build_request(number, "ping", is_stateless)
        yield build_request(7, "tools/call", is_stateless, **search)
        yield build_request(number, "no/such/method", is_stateless)
        yield encode_line({"method": "notifications/odd"})
        yield encode_line({"method": "notifications/cancelled", "params": {"requestId": number}})
        yield b'{"jsonrpc":"2.0","id":%d,"method":\n' % number
        yield encode_line({"id": number, "method": "ping", "params": {"odd": "\ud800"}})


def generate_request_lines(is_stateless: bool) -> Iterator[bytes]:
    """Yield requests without end; the SDK answers each of them."""
    for line in generate_mixed_lines(is_stateless):
        if b'"id"' in line and line.endswith(b"}\n") and b"odd" not in line:
            yield line


@contextmanager
def start_client(command: Sequence[str], *, handshake: bool) -> Iterator[RawClient]:
    """Yield a client of a server that is killed after a timeout, so that a test fails instead of waiting."""
    server = RawClient(command, handshake=handshake)
    timer = threading.Timer(TIMEOUT_S, server.process.kill)
    timer.start()
    try:
        yield server
        server.close()
        assert server.process.returncode == 0
    finally:
        timer.cancel()
        server.process.kill()


class FloodClient:
    """A client that writes without waiting and reads only the first responses, and its server."""

    def __init__(self, repo: Path, is_stateless: bool) -> None:
        command = [sys.executable, "-m", "docyard", "serve", "-C", str(repo), "--no-fsync"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=build_server_environment(), cwd=ROOT
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin = self.process.stdin
        if not is_stateless:
            self.stdin.write(b"".join(HANDSHAKE))
        self.stdin.write(build_request(-1, "tools/list", is_stateless))
        self.stdin.flush()
        while json.loads(self.process.stdout.readline())["id"] != -1:
            pass
        self.peak_mb = self.start_mb = self.read_memory_mb()
        os.set_blocking(self.stdin.fileno(), False)

    def read_memory_mb(self) -> float:
        """Return the memory of the server in megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
        assert match is not None
        return int(match[1]) / 1024

    def send(self, lines: Iterator[bytes], max_lines: int, seconds: float, full_seconds: float) -> int:
        """Write up to `max_lines` lines; stop after `seconds`, or if the pipe is full for `full_seconds`."""
        deadline, descriptor = time.monotonic() + seconds, self.stdin.fileno()
        for sent_count in range(max_lines):
            remaining_bytes = memoryview(next(lines))
            full_since = time.monotonic()
            while remaining_bytes:
                try:
                    remaining_bytes = remaining_bytes[os.write(descriptor, remaining_bytes) :]
                    full_since = time.monotonic()
                except BlockingIOError:
                    self.peak_mb = max(self.peak_mb, self.read_memory_mb())
                    if time.monotonic() > min(deadline, full_since + full_seconds):
                        return sent_count
                    select.select([], [descriptor], [], 0.1)
        return max_lines

    def stop(self, stop: Callable[[FloodClient], None]) -> float:
        """Stop the server with the function `stop`, and return the seconds until its exit."""
        self.peak_mb = max(self.peak_mb, self.read_memory_mb())
        start = time.monotonic()
        stop(self)
        assert self.process.wait(TIMEOUT_S) == 0
        return time.monotonic() - start


@contextmanager
def start_flood(repo: Path, is_stateless: bool) -> Iterator[FloodClient]:
    client = FloodClient(repo, is_stateless)
    try:
        yield client
    finally:
        client.process.kill()
        client.process.wait()
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.stdin.close()


def close_input(client: FloodClient) -> None:
    client.stdin.close()


def terminate(client: FloodClient) -> None:
    client.process.send_signal(signal.SIGTERM)


def interrupt(client: FloodClient) -> None:
    client.process.send_signal(signal.SIGINT)


@pytest.mark.process
@needs_linux
@each_version
@pytest.mark.parametrize(
    ("lines", "stop"),
    [
        (generate_request_lines, close_input),
        (generate_mixed_lines, terminate),
        pytest.param(generate_request_lines, interrupt, marks=pytest.mark.slow),
        pytest.param(generate_request_lines, terminate, marks=pytest.mark.slow),
        pytest.param(generate_mixed_lines, close_input, marks=pytest.mark.slow),
    ],
)
def test_client_that_never_reads_is_disconnected_with_bounded_memory(
    repo: Path,
    is_stateless: bool,
    lines: Callable[[bool], Iterator[bytes]],
    stop: Callable[[FloodClient], None],
) -> None:
    with start_flood(repo, is_stateless) as client:
        sent_count = client.send(lines(is_stateless), 3_000, seconds=20, full_seconds=0.5)
        assert sent_count < 3_000, "the server still reads"
        assert client.stop(stop) < EXIT_LIMIT_S
        assert client.peak_mb < min(MEMORY_LIMIT_MB, client.start_mb + GROWTH_LIMIT_MB)


@needs_linux
@pytest.mark.slow
@each_version
@pytest.mark.parametrize("method", ["tools/call", "tools/list", "ping", "mixed"])
def test_73000_unread_requests_use_bounded_memory(repo: Path, is_stateless: bool, method: str) -> None:
    search = {"name": "search_docs", "arguments": {"query": "backoff jitter"}}
    params: Message = search if method == "tools/call" else {}
    lines = (
        generate_mixed_lines(is_stateless)
        if method == "mixed"
        else (build_request(number, method, is_stateless, **params) for number in count(1))
    )
    with start_flood(repo, is_stateless) as client:
        client.send(lines, 73_000, seconds=40, full_seconds=40)
        print(f"{client.start_mb:.0f} MB before, {client.peak_mb:.0f} MB at most", end=", ")
        seconds = client.stop(close_input)
        print(f"ended in {seconds:.1f} s")
        assert seconds < EXIT_LIMIT_S
        assert client.peak_mb < MEMORY_LIMIT_MB


@pytest.mark.process
@needs_linux
@each_version
def test_endless_notifications_use_bounded_memory(repo: Path, is_stateless: bool) -> None:
    lines = (encode_line({"method": "notifications/odd", "params": {"number": number}}) for number in count())
    with start_flood(repo, is_stateless) as client:
        assert client.send(lines, 3_000, seconds=60, full_seconds=30) == 3_000
        assert client.stop(close_input) < EXIT_LIMIT_S
        assert client.peak_mb < min(MEMORY_LIMIT_MB, client.start_mb + GROWTH_LIMIT_MB)


@needs_linux
@pytest.mark.slow
def test_endless_oversized_lines_use_bounded_memory(repo: Path) -> None:
    lines = (b"x" * (MAX_LINE_BYTES + 1_000_000) + b"\n" for _ in range(6))
    with start_flood(repo, False) as client:
        assert client.send(lines, 6, seconds=60, full_seconds=30) == 6
        assert client.stop(close_input) < EXIT_LIMIT_S
        assert client.peak_mb < MEMORY_LIMIT_MB


@pytest.mark.process
@needs_posix
@each_version
def test_slow_reader_gets_every_response(repo: Path, is_stateless: bool) -> None:
    server = RawClient(build_serve_command(repo), handshake=not is_stateless)
    request_ids = list(range(1, 301))

    def send_requests() -> None:
        for number in request_ids:
            server.send(build_request(number, "tools/list", is_stateless).rstrip())
        server.close_input()

    thread = threading.Thread(target=send_requests)
    thread.start()
    response_ids = []
    with suppress(EOFError):
        while message := server.receive():
            assert message["result"]["tools"]
            response_ids.append(message["id"])
            time.sleep(0.01)
    thread.join(TIMEOUT_S)
    assert sorted(response_ids) == request_ids
    assert server.process.wait(TIMEOUT_S) == 0


@pytest.mark.process
@each_version
def test_hundred_concurrent_requests_get_responses(repo: Path, is_stateless: bool) -> None:
    with start_client(build_serve_command(repo), handshake=not is_stateless) as server:
        search = {"name": "search_docs", "arguments": {"query": "backoff jitter"}}
        server.send(
            b"".join(
                build_request(number, "tools/call", is_stateless, **search) for number in range(1, 101)
            ).rstrip()
        )
        responses = [server.receive() for _ in range(100)]
        assert sorted(response["id"] for response in responses) == list(range(1, 101))
        assert all(response["result"]["structuredContent"]["hits"] for response in responses)


@pytest.mark.process
@each_version
def test_cancelled_requests_do_not_count_toward_limit(tmp_path: Path, is_stateless: bool) -> None:
    """Check that cancelled requests, which the SDK never answers, are removed from the count."""
    with start_client(
        [*fork_server.build_python_command(), STUB_SERVER, str(tmp_path)], handshake=not is_stateless
    ) as server:
        if is_stateless:
            server.exchange(json.loads(build_request(0, "tools/list", True)))
        for number in range(1, MAX_OPEN_REQUESTS + 9):
            server.send(build_request(number, "tools/call", is_stateless, name="slow", arguments={}).rstrip())
            server.send(
                encode_line({"method": "notifications/cancelled", "params": {"requestId": number}}).rstrip()
            )
        server.send(build_request(1_000, "tools/call", is_stateless, name="whoami", arguments={}).rstrip())
        response = server.receive()
        assert (response["id"], response["result"]["structuredContent"]) == (1_000, {"client": "raw client"})


@pytest.mark.process
def test_cancellation_is_read_at_request_limit(tmp_path: Path) -> None:
    with start_client(
        [*fork_server.build_python_command(), STUB_SERVER, str(tmp_path)], handshake=True
    ) as server:
        for number in range(1, MAX_OPEN_REQUESTS + 1):
            server.send(build_request(number, "tools/call", False, name="slow", arguments={}).rstrip())
        server.send(
            encode_line(
                {"method": "notifications/cancelled", "params": {"requestId": MAX_OPEN_REQUESTS}}
            ).rstrip()
        )
        response_ids = {server.receive()["id"] for _ in range(MAX_OPEN_REQUESTS - 1)}
        assert response_ids == set(range(1, MAX_OPEN_REQUESTS))
        assert server.request(1_000, "ping")["result"] == {}


@pytest.mark.process
def test_open_streams_do_not_count_toward_limit(repo: Path) -> None:
    with start_client(build_serve_command(repo), handshake=False) as server:
        for number in range(1, 2 * MAX_OPEN_REQUESTS + 1):
            notifications = {"toolsListChanged": True}
            server.send(
                build_request(number, "subscriptions/listen", True, notifications=notifications).rstrip()
            )
            assert server.receive()["method"] == "notifications/subscriptions/acknowledged"
        assert server.exchange(json.loads(build_request(1_000, "tools/list", True)))["id"] == 1_000
        server.send(encode_line({"method": "notifications/cancelled", "params": {"requestId": 1}}).rstrip())
        assert server.exchange(json.loads(build_request(1_001, "tools/list", True)))["id"] == 1_001


def wait_for_file(path: Path) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.process
@needs_posix
def test_running_call_finishes_after_closed_output_and_signal(tmp_path: Path) -> None:
    server = RawClient([*fork_server.build_python_command(), STUB_SERVER, str(tmp_path)])
    for number in range(1, MAX_OPEN_REQUESTS + 1):
        server.send(build_request(number, "tools/call", False, name="slow", arguments={}).rstrip())
    wait_for_file(tmp_path / "begun")
    server.close_output()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(EXIT_LIMIT_S) == 0
    assert (tmp_path / "done").exists()


@pytest.mark.process
@needs_posix
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_running_writes_get_responses_after_signal(repo: Path, git: Git, signal_number: int) -> None:
    commit_count = int(git("rev-list", "--count", "HEAD"))
    with start_client(build_serve_command(repo), handshake=True) as server:
        for request_id in range(1, MAX_OPEN_REQUESTS + 9):
            fields = {"title": f"Note {request_id}", "initial_content": "Text.", "doc_type": "document"}
            server.send(
                build_request(
                    request_id, "tools/call", False, name="create_document", arguments=fields
                ).rstrip()
            )
        responses = [server.receive()]
        server.process.send_signal(signal_number)
        start = time.monotonic()
        responses += server.receive_all()
        assert time.monotonic() - start < EXIT_LIMIT_S
    responses = [response for response in responses if "id" in response]
    successes = [response for response in responses if "result" in response]
    assert all(not response["result"]["isError"] for response in successes)
    assert int(git("rev-list", "--count", "HEAD")) - commit_count == len(successes) < MAX_OPEN_REQUESTS
    error_codes = [response["error"]["code"] for response in responses if "error" in response]
    assert set(error_codes) == {CONNECTION_CLOSED}
    assert len({response["id"] for response in responses}) == len(responses)


@pytest.mark.process
@needs_posix
@each_version
def test_signal_finishes_running_calls_and_starts_no_others(tmp_path: Path, is_stateless: bool) -> None:
    with start_client(
        [*fork_server.build_python_command(), STUB_SERVER, str(tmp_path)], handshake=not is_stateless
    ) as server:
        token = {"progressToken": 1}
        for request_id in range(1, 13):
            line = json.loads(
                build_request(request_id, "tools/call", is_stateless, name="slow", arguments={})
            )
            line["params"].setdefault("_meta", {}).update(token if request_id > 8 else {})
            server.send(json.dumps(line).encode())
        wait_for_file(tmp_path / "begun")
        time.sleep(0.2)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        # This request is sent after the signal, so it is not read.
        server.send(build_request(13, "ping", is_stateless).rstrip())
        responses = server.receive_all()
    assert sorted(response["id"] for response in responses if "result" in response) == list(range(1, 9))
    error_codes = {response["id"]: response["error"]["code"] for response in responses if "error" in response}
    assert error_codes == dict.fromkeys(range(9, 13), CONNECTION_CLOSED)


@pytest.mark.process
@needs_posix
@pytest.mark.parametrize("stop", [terminate, interrupt])
def test_idle_server_exits_fast_after_signal(repo: Path, stop: Callable[[FloodClient], None]) -> None:
    with start_flood(repo, False) as client:
        assert client.stop(stop) < EXIT_LIMIT_S


@pytest.mark.process
@needs_linux
def test_second_signal_ends_server_without_reader(repo: Path) -> None:
    with start_flood(repo, False) as client:
        lines = (build_request(number, "tools/list", False) for number in count(1))
        client.send(lines, MAX_OPEN_REQUESTS, seconds=20, full_seconds=20)
        assert client.process.stdout is not None
        unread_size, previous_size = bytearray(4), b""
        while previous_size != unread_size or not any(unread_size):  # the pipe is not full yet
            previous_size = bytes(unread_size)
            time.sleep(0.5)
            fcntl.ioctl(client.process.stdout, termios.FIONREAD, unread_size)

        def terminate_twice(client: FloodClient) -> None:
            terminate(client)
            time.sleep(0.3)
            assert client.process.poll() is None
            terminate(client)

        # Without the second signal, the server would wait for its client for this time.
        assert client.stop(terminate_twice) < STALL_TIMEOUT_S


def test_only_one_module_sends_requests_to_the_client() -> None:
    """Check that only calls of limited number wait for a response of the client, behind other requests."""
    senders = re.compile(r"\b(elicit\w*|create_message|list_roots|send_request|send_raw_request|send_ping)\(")
    calls = [
        path.name
        for folder in ("docyard/mcp_server", "tools")
        for path in (ROOT / folder).rglob("*.py")
        if senders.search(path.read_text())
    ]
    assert calls == ["review_page.py"]
    assert MAX_WAITING_CALLS <= MAX_OPEN_REQUESTS // 2


@pytest.mark.process
def test_requests_from_file_are_answered_to_file(repo: Path, tmp_path: Path) -> None:
    requests, output = tmp_path / "requests", tmp_path / "answers"
    requests.write_bytes(
        b"".join(build_request(number, "tools/list", True) for number in range(100)).rstrip()
    )
    with requests.open("rb") as input_file, output.open("wb") as target:
        process = subprocess.run(
            build_serve_command(repo),
            stdin=input_file,
            stdout=target,
            stderr=subprocess.PIPE,
            env=build_server_environment(),
            timeout=60,
        )
    assert (process.returncode, process.stderr) == (0, b"")
    responses = [json.loads(line) for line in output.read_bytes().splitlines()]
    assert sorted(response["id"] for response in responses) == list(range(100))
    assert all(response["result"]["tools"] for response in responses)


@pytest.mark.anyio
async def test_request_over_total_byte_limit_waits() -> None:
    open_requests = OpenRequests()
    await open_requests.add(1, MAX_LINE_BYTES - 10)
    await open_requests.add(2, 10)
    with anyio.move_on_after(0.01) as scope:
        await open_requests.add(3, 1)
    assert scope.cancelled_caught
    await open_requests.remove(1)
    with anyio.fail_after(TIMEOUT_S):
        await open_requests.add(4, MAX_LINE_BYTES - 10)
        for request_id in (2, 4, "none"):
            await open_requests.remove(request_id)
        await open_requests.wait_until_all_answered()
        await open_requests.add(5, 2 * MAX_LINE_BYTES)  # a single request is never too large


@pytest.mark.anyio
async def test_valid_lines_arrive_complete_and_invalid_ones_return_errors(
    descriptors: tuple[int, int],
) -> None:
    server_end, client_end = descriptors
    output_reader, output_writer = os.pipe()
    output = OutputFile(output_writer, lambda: None)
    input_file = InputFile(server_end, output, OpenRequests())
    ping = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}'
    with anyio.fail_after(TIMEOUT_S):
        os.write(client_end, b"\xef\xbb\xbf" + ping % 1 + b"\r\n\n" + (ping % 2)[:9])
        assert json.loads(await input_file.readline())["id"] == 1
        os.write(client_end, (ping % 2)[9:] + b"\nodd\n" + ping % 3)
        os.close(client_end)
        assert [json.loads(await input_file.readline())["id"] for _ in range(2)] == [2, 3]
        assert await input_file.readline() == ""
        await input_file.close_event.wait()
    output.close()
    assert json.loads(os.read(output_reader, 10_000))["error"]["code"] == PARSE_ERROR
    for end in (output_reader, output_writer):
        os.close(end)


@pytest.mark.anyio
@pytest.mark.parametrize("key", ["id", "\\u0069d", "i\\u0064"])
@pytest.mark.parametrize("value", ["null", "1.5"])
async def test_request_with_invalid_id_returns_error(
    descriptors: tuple[int, int], key: str, value: str
) -> None:
    server_end, client_end = descriptors
    output_reader, output_writer = os.pipe()
    os.set_blocking(output_reader, False)
    output = OutputFile(output_writer, lambda: None)
    input_file = InputFile(server_end, output, OpenRequests())
    os.write(client_end, f'{{"jsonrpc":"2.0","{key}":{value},"method":"ping"}}\n'.encode())
    os.write(client_end, b'{"jsonrpc":"2.0","method":"notifications/odd","params":{"a":"\\u00e9"}}\n')
    with anyio.fail_after(TIMEOUT_S):
        assert "notifications/odd" in await input_file.readline()
    output.close()
    error = json.loads(os.read(output_reader, 10_000))
    assert (error["id"], error["error"]["code"]) == (None, INVALID_REQUEST)
    for end in (output_reader, output_writer):
        os.close(end)


@needs_posix
@pytest.mark.anyio
async def test_closed_input_is_detected_before_all_lines_are_read(descriptors: tuple[int, int]) -> None:
    server_end, client_end = descriptors
    output_reader, output_writer = os.pipe()
    output = OutputFile(output_writer, lambda: None)
    input_file = InputFile(server_end, output, OpenRequests())
    os.write(client_end, b'{"jsonrpc":"2.0","method":"notifications/odd"}\n' * 9)
    await anyio.sleep(0.05)
    assert not input_file.close_event.is_set()
    os.close(client_end)
    with anyio.fail_after(TIMEOUT_S):
        await input_file.close_event.wait()
        for _ in range(9):
            assert await input_file.readline()
        assert await input_file.readline() == ""
    output.close()
    for end in (output_reader, output_writer):
        os.close(end)


@pytest.mark.anyio
@pytest.mark.parametrize("size", [1, 4_096, 70_000, 500_000])
async def test_cancelled_write_finishes_before_next(descriptors: tuple[int, int], size: int) -> None:
    client_end, server_end = descriptors
    output = OutputFile(server_end, lambda: None)
    with anyio.move_on_after(0.02):
        await output.write("1" * size + "\n")

    def read_lines() -> None:
        with open(client_end, "rb", closefd=False) as stream:
            lines.extend((stream.readline(), stream.readline()))

    lines: list[bytes] = []
    thread = threading.Thread(target=read_lines)
    thread.start()
    with anyio.fail_after(TIMEOUT_S):
        await output.write("2\n")
    await anyio.to_thread.run_sync(thread.join)
    assert lines == [b"1" * size + b"\n", b"2\n"]
    output.close()


@pytest.mark.anyio
async def test_broken_output_is_reported_and_later_lines_are_dropped(descriptors: tuple[int, int]) -> None:
    client_end, server_end = descriptors
    broken_event = anyio.Event()
    output = OutputFile(server_end, broken_event.set)
    os.close(client_end)
    with anyio.fail_after(TIMEOUT_S):
        await output.write("x" * 100_000)
        await broken_event.wait()
        await output.write("later")
    output.close()


@pytest.mark.process
@pytest.mark.anyio
async def test_unread_output_is_reported_as_stalled(descriptors: tuple[int, int]) -> None:
    client_end, server_end = descriptors
    output = OutputFile(server_end, lambda: None)
    with anyio.fail_after(TIMEOUT_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(output.write, "x" * 1_000_000)
            start = time.monotonic()
            await output.wait_until_stalled()
            assert STALL_TIMEOUT_S - 0.1 < time.monotonic() - start < EXIT_LIMIT_S
            tasks.cancel_scope.cancel()
    os.close(client_end)
    output.close()
