"""Searches over HTTP by many clients at once, with one process and with one for each processor.

Each client has one connection, sends a question with the default arguments, and the next one when it has the
answer. No question is sent twice to a server, and each is recorded with its words. A minimal server of the
SDK, whose answers have the same size, is measured before and after. The clients run in this process, and use
the same processors as the servers.

The speed of a shared machine changes within seconds. Each server is therefore measured in several windows,
each between pings of a minimal server over stdio, which say how much slower the machine was in the window.
Results are medians of the windows.
"""

from __future__ import annotations

import os
import random
import re
import selectors
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.child import MeasurementFailed
from benchmarks.corpus import SEED, SectionText, draw_queries
from benchmarks.memory import list_process_tree
from benchmarks.reports.reference_measurements import PING_MS
from benchmarks.serving.http_calls import build_call
from benchmarks.serving.pages import run_http_server
from benchmarks.serving.sources import build_indexes, make_command, write_sources_file
from benchmarks.serving.startup import MINIMAL_SERVER_COMMAND, measure_ping_times
from benchmarks.serving.stdio import StdioServer
from benchmarks.timing import compute_p50_p95_p99_ms, read_processor_seconds

CLIENT_COUNT = 32
PROCESS_COUNTS = (1, os.cpu_count() or 1)
_WARM_UP_S = 3.0
WINDOW_COUNT = 7
_WINDOW_S = 3.0
_MAX_QUESTIONS = 40_000
_WORD = re.compile(r"[A-Za-z]{3}")
_CONTENT_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_HEAD_END = b"\r\n\r\n"
_TIMEOUT_S = 30.0
Address = tuple[str, int]
"""The host and the port of a server."""

Request = bytes
"""A request after its line `Host`."""

_RECORDS = '[analytics]\ndatabase = "searches.sqlite"\nmode = "text"\n'


def measure_load(
    repository: Path, home: Path, section_texts: Sequence[SectionText]
) -> dict[str, dict[str, float]]:
    """Return the calls of each server in a second, their times, and the processor time of the clients.

    `machine_factor` is how many times as long as on the reference machine a ping took. Values that begin with
    `scaled` are multiplied or divided by the factor of their window. `minimal` is the better one of its two
    measurements. Raises CorpusTooSmall, MeasurementFailed.
    """
    file = write_sources_file(home / "load.toml", [repository])
    with file.open("a") as stream:
        stream.write(_RECORDS)
    build_indexes(file)
    questions = draw_questions(section_texts)
    results: dict[str, dict[str, float]] = {}
    for count in dict.fromkeys(PROCESS_COUNTS):
        command = (*make_command(file, "--http"), "--workers", str(count))
        server = LoadedServer(command, home)
        results[f"processes_{count}"] = measure_servers([server], questions, "search_documentation")
    size = int(results["processes_1"]["answer_bytes"] / 2.2)  # an answer has its data twice, once as text
    minimal = ("-m", "benchmarks.serving.minimal_http_server", str(size))
    runs = [measure_servers([LoadedServer(minimal, home)], questions, "nothing") for _ in range(2)]
    results["minimal"] = max(runs, key=lambda run: run["calls_per_second"])
    results["most_processes"] = results[f"processes_{max(PROCESS_COUNTS)}"]
    return results


def draw_questions(section_texts: Sequence[SectionText]) -> list[str]:
    """Return different questions, of headings and of words of a section in turn. Raises CorpusTooSmall."""
    titles = list({text.title: None for text in section_texts if _WORD.search(text.title)})
    random.Random(SEED).shuffle(titles)
    count = min(_MAX_QUESTIONS // 2, len(section_texts))
    words = [" ".join(query) for query in draw_queries(section_texts, count)]
    pairs = zip(titles, words, strict=False)
    return list(dict.fromkeys(question for pair in pairs for question in pair))


class LoadedServer(NamedTuple):
    """A server to measure: its command, the folder of its user's files, and variables of its environment."""

    command: Sequence[str]
    home: Path
    variables: Mapping[str, str] = {}


def measure_servers(servers: Sequence[LoadedServer], questions: Sequence[str], tool: str) -> dict[str, float]:
    """Return the medians of the windows, in which the clients are divided between the servers.

    Raises MeasurementFailed.
    """
    with ExitStack() as stack:
        connections = [stack.enter_context(run_http_server(*server)) for server in servers]
        ping_server = stack.enter_context(StdioServer(MINIMAL_SERVER_COMMAND, servers[0].home))
        ping_server.initialize()
        addresses = [(connection.host, connection.port) for connection in connections]
        requests = _build_requests(questions, tool)
        _send_requests(addresses, requests, _WARM_UP_S)
        windows = [_measure_window(addresses, requests, ping_server) for _ in range(WINDOW_COUNT)]
    return {name: median(window[name] for window in windows) for name in windows[0]}


def _measure_window(
    addresses: Sequence[Address], requests: Iterator[Request], ping_server: StdioServer
) -> dict[str, float]:
    ping_times = measure_ping_times(ping_server)
    measurements = _send_requests(addresses, requests, _WINDOW_S)
    ping_times += measure_ping_times(ping_server)
    factor = median(ping_times) * 1e3 / PING_MS
    return measurements | {
        "machine_factor": factor,
        "scaled_calls_per_second": measurements["calls_per_second"] * factor,
        "scaled_p99_ms": measurements["p99_ms"] / factor,
    }


def _build_requests(questions: Sequence[str], tool: str) -> Iterator[Request]:
    for question in questions:
        headers, body = build_call(tool, {"query": question})
        headers["Content-Length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        yield f"{lines}\r\n".encode() + body


@dataclass(slots=True)
class _Client:
    """One connection, and the response that it is receiving. `size` is 0 until its head is complete."""

    address: Address
    connection: socket.socket
    received: bytearray = field(default_factory=bytearray)
    sent_at: float = 0.0
    size: int = 0

    def send(self, request: Request) -> None:
        host, port = self.address
        self.sent_at, self.size = time.perf_counter(), 0
        self.received.clear()
        self.connection.sendall(f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\n".encode() + request)

    def receive(self) -> bool:
        """Read what has arrived; return True if the response is complete. Raises MeasurementFailed."""
        data = self.connection.recv(262_144)
        if not data:
            raise MeasurementFailed("the server closed the connection of a client")
        self.received += data
        if not self.size and (end := self.received.find(_HEAD_END)) >= 0:
            length = _CONTENT_LENGTH.search(self.received, 0, end + 2)
            if length is None or not self.received.startswith(b"HTTP/1.1 200"):
                raise MeasurementFailed(f"POST /mcp: {bytes(self.received[:200])!r}")
            self.size = end + len(_HEAD_END) + int(length[1])
        return 0 < self.size <= len(self.received)


def _send_requests(
    addresses: Sequence[Address], requests: Iterator[Request], seconds: float
) -> dict[str, float]:
    """Send requests for some seconds, or until there are no more; return the measurements.

    Raises MeasurementFailed if a response is not a result.
    """
    times: list[float] = []
    answer_bytes = 0
    with selectors.DefaultSelector() as selector:
        clients = [
            _Client(address, socket.create_connection(address, _TIMEOUT_S))
            for address in islice(cycle(addresses), CLIENT_COUNT)
        ]
        for client in clients:
            selector.register(client.connection, selectors.EVENT_READ, client)
        servers = [pid for pid in list_process_tree(os.getpid()) if pid != os.getpid()]
        start, start_cpu, start_server_cpu = (
            time.perf_counter(),
            time.process_time(),
            read_processor_seconds(servers),
        )
        for client, request in zip(clients, requests, strict=False):
            client.send(request)
        while (now := time.perf_counter()) < start + seconds:
            ready = selector.select(_TIMEOUT_S)
            if not ready:
                raise MeasurementFailed(f"the server sent nothing for {_TIMEOUT_S:.0f} s")
            for key, _ in ready:
                client = key.data
                if not client.receive():
                    continue
                times.append(time.perf_counter() - client.sent_at)
                answer_bytes += client.size
                if b'"isError":true' in client.received:
                    raise MeasurementFailed(f"POST /mcp: {bytes(client.received[-500:])!r}")
                if (request := next(requests, None)) is None:
                    seconds = 0.0
                    break
                client.send(request)
        cpu = time.process_time() - start_cpu
        server_cpu = read_processor_seconds(servers) - start_server_cpu
        for client in clients:
            client.connection.close()
    duration = max(time.perf_counter(), now) - start
    return {
        "calls_per_second": len(times) / duration,
        "client_cpu_share": cpu / duration,
        "server_cpu_ms": server_cpu * 1e3 / max(len(times), 1),
        "answer_bytes": answer_bytes / max(len(times), 1),
        **compute_p50_p95_p99_ms(times),
    }
