"""Several worker processes that serve one address, and the supervisor that starts them.

Each worker listens on sockets of its own with SO_REUSEPORT. So the system distributes the connections, and
new ones never wait for a worker that has ended. The supervisor starts such a worker again. It forwards
SIGHUP, and ends all workers at SIGTERM or Ctrl-C; each completes its running requests. If the supervisor is
killed, the workers end.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from docyard.telemetry.logs import StateText
from docyard.terminal.exits import CommandError, Exit
from workspace.child_processes import configure_child, start_process

log = logging.getLogger("docyard")

MAX_WORKERS = 64
_MAX_DELAY_S = 2.0  # before a worker is started again
_MIN_DELAY_S = 0.1
_STABLE_TIME_S = 10.0  # a worker that has run for this time is started again at once
_STOP_TIMEOUT_S = 25.0  # longer than the time in which a server completes its requests


class Worker(NamedTuple):
    """One worker as its process knows it: its number, the common port and token, and its supervisor.

    The first worker fetches sources and builds indexes for all.
    """

    number: int
    port: int
    token: str | None
    supervisor: Connection

    @property
    def is_first(self) -> bool:
        """Return True for the worker that fetches and builds for all."""
        return self.number == 0

    def report_start(self) -> None:
        """Report that the worker accepts connections."""
        with suppress(OSError):  # the supervisor has ended
            self.supervisor.send_bytes(b"started")


_current_worker: Worker | None = None


def find_current_worker() -> Worker | None:
    """Return the worker that this process is; None in a process that serves alone."""
    return _current_worker


def check_support() -> None:
    """Raise CommandError if the system cannot distribute connections to several processes."""
    if not hasattr(socket, "SO_REUSEPORT") or not hasattr(signal, "pthread_sigmask"):
        raise CommandError(
            "this system cannot distribute connections to several processes (--workers)",
            fix="Omit --workers, or serve on Linux or macOS.",
        )


def _run_worker(worker: Worker, arguments: Sequence[str]) -> None:
    """Run the command of the supervisor as a worker. A new process calls this."""
    global _current_worker
    configure_child()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until the service handles it
    _current_worker = worker
    from docyard.cli.main import main

    sys.exit(main(arguments))


@dataclass(slots=True)
class _RunningWorker:
    """A process of a worker. `start_time` and `restart_time` are monotonic seconds."""

    process: BaseProcess
    connection: Connection
    start_time: float
    has_reported: bool = False


class Supervisor:
    """The supervisor of `count` workers, which run the command `arguments` with a common port and token."""

    def __init__(self, count: int, arguments: Sequence[str], port: int, token: str | None) -> None:
        self._arguments = [*arguments]
        self._count = count
        self._port = port
        self._token = token
        self._running: dict[int, _RunningWorker] = {}
        self._delays: dict[int, float] = {}
        self._restart_times: dict[int, float] = {}
        self._started: set[int] = set()
        self._is_stopping = False

    def run(self, on_start: Callable[[], object]) -> int:
        """Serve until a signal; call `on_start` when all workers accept connections. Return the exit code.

        If a worker ends before its first start is complete, all end, and its exit code is returned. Must be
        called in the main thread.
        """
        with _receive_signals() as signals:
            try:
                for number in range(self._count):
                    self._start(number)
                return self._supervise(signals, on_start)
            finally:
                self._stop(signals)

    def _supervise(self, signals: socket.socket, on_start: Callable[[], object]) -> int:
        while True:
            connections = {
                worker.connection: number
                for number, worker in self._running.items()
                if not worker.has_reported
            }
            sentinels = {worker.process.sentinel: number for number, worker in self._running.items()}
            for ready in wait([signals, *connections, *sentinels], self._compute_wait_s()):
                if ready is signals:
                    if self._handle_signals(signals):
                        return Exit.DONE
                elif isinstance(ready, Connection):
                    was_complete = len(self._started) == self._count
                    self._record_start(connections[ready])
                    if not was_complete and len(self._started) == self._count:
                        on_start()
                elif isinstance(ready, int):
                    number = sentinels[ready]
                    code = self._remove(number)
                    if number not in self._started:
                        return code if code > 0 else Exit.CANNOT_RUN
            for number, restart_time in [*self._restart_times.items()]:
                if restart_time <= time.monotonic():
                    del self._restart_times[number]
                    self._start(number)

    def _handle_signals(self, signals: socket.socket) -> bool:
        """Forward SIGHUP; return True if a signal ends the server."""
        numbers = signals.recv(4096)
        if any(number in (signal.SIGTERM, signal.SIGINT) for number in numbers):
            return True
        if signal.SIGHUP in numbers:
            for worker in self._running.values():
                _send_signal(worker.process, signal.SIGHUP)
        return False

    def _start(self, number: int) -> None:
        context = multiprocessing.get_context("spawn")
        receiver, sender = context.Pipe(duplex=False)
        worker = Worker(number, self._port, self._token, sender)
        process = context.Process(
            target=_run_worker, args=(worker, self._arguments), name=f"docyard-worker-{number}"
        )
        try:
            start_process(process)
        except OSError as error:
            receiver.close()
            log.error("worker %s cannot be started: %s", number, StateText(error.strerror))
            self._schedule_restart(number, 0.0)
            return
        finally:
            sender.close()
        self._running[number] = _RunningWorker(process, receiver, time.monotonic())

    def _record_start(self, number: int) -> None:
        worker = self._running[number]
        try:
            worker.connection.recv_bytes()
        except (EOFError, OSError):  # the process is ending, and its sentinel reports this
            worker.has_reported = True
            return
        worker.has_reported = True
        if number in self._started:
            log.warning("worker %s was started again", number)
        self._started.add(number)

    def _remove(self, number: int) -> int:
        """Remove a worker that has ended, and plan its next start. Return its exit code."""
        worker = self._running.pop(number)
        worker.process.join()
        worker.connection.close()
        code = worker.process.exitcode or 0
        if number in self._started:
            log.error("worker %s has ended (exit code %s) and is started again", number, code)
            self._schedule_restart(number, time.monotonic() - worker.start_time)
        return code

    def _schedule_restart(self, number: int, running_time_s: float) -> None:
        delay = 0.0 if running_time_s >= _STABLE_TIME_S else self._delays.get(number, _MIN_DELAY_S)
        self._delays[number] = min(max(2 * delay, _MIN_DELAY_S), _MAX_DELAY_S)
        self._restart_times[number] = time.monotonic() + delay

    def _compute_wait_s(self) -> float | None:
        if not self._restart_times:
            return None
        return max(0.0, min(self._restart_times.values()) - time.monotonic())

    def _stop(self, signals: socket.socket) -> None:
        """End the workers. After a time, or a second Ctrl-C, they are killed."""
        for worker in self._running.values():
            worker.process.terminate()
        end_time = time.monotonic() + _STOP_TIMEOUT_S
        remaining = {worker.process.sentinel: worker.process for worker in self._running.values()}
        while remaining and (time_left := end_time - time.monotonic()) > 0:
            for ready in wait([signals, *remaining], time_left):
                if ready is signals:
                    if signal.SIGINT in signals.recv(4096):
                        end_time = 0.0
                elif isinstance(ready, int):
                    del remaining[ready]
        for process in remaining.values():
            process.kill()
        for worker in self._running.values():
            worker.process.join()
            worker.connection.close()
        self._running.clear()


def _send_signal(process: BaseProcess, number: int) -> None:
    assert process.pid is not None
    with suppress(ProcessLookupError):
        os.kill(process.pid, number)


@contextmanager
def _receive_signals() -> Iterator[socket.socket]:
    """Yield a socket that receives the number of each signal as a byte."""
    receiver, sender = socket.socketpair()
    receiver.setblocking(False)
    sender.setblocking(False)
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    old_handlers = {number: signal.signal(number, lambda number, frame: None) for number in numbers}
    old_descriptor = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
    try:
        yield receiver
    finally:
        signal.set_wakeup_fd(old_descriptor)
        for number, handler in old_handlers.items():
            signal.signal(number, handler)
        receiver.close()
        sender.close()
