"""Several worker processes that serve one address, and the supervisor that starts them.

The supervisor accepts the connections and sends each to the next worker in turn. The system would distribute
them unevenly, and clients of the worker with the most connections would wait the longest. New connections
never wait for a worker that has ended; the supervisor starts such a worker again. It forwards SIGHUP, and
ends all workers at SIGTERM or Ctrl-C; each completes its running requests. If the supervisor is killed, the
workers end.
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
from multiprocessing.connection import wait
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
_RETRY_S = 0.05  # before a connection is sent again that no worker could take
_ACCEPT_DELAY_S = 1.0  # after a failure, such as too many open files, while the listener stays ready
_START = b"s"  # a worker reports that it can take connections
_CONNECTION = b"c"  # the supervisor sends a connection


class Worker(NamedTuple):
    """One worker as its process knows it: its number, the common port and token, and its supervisor.

    The first worker fetches sources and builds indexes for all. `supervisor` is a socket that does not block.
    """

    number: int
    port: int
    token: str | None
    supervisor: socket.socket

    @property
    def is_first(self) -> bool:
        """Return True for the worker that fetches and builds for all."""
        return self.number == 0

    def report_start(self) -> None:
        """Report that the worker can take connections."""
        with suppress(OSError):  # the supervisor has ended
            self.supervisor.send(_START)

    def take_connection(self) -> socket.socket:
        """Return the next connection that the supervisor has sent.

        Raises BlockingIOError if there is none now, and EOFError if the supervisor has ended.
        """
        data, descriptors, _, _ = socket.recv_fds(self.supervisor, len(_CONNECTION), 1)
        if not data:
            raise EOFError
        (descriptor,) = descriptors
        os.set_inheritable(descriptor, False)
        # The event loop disables Nagle's algorithm only if the protocol is named.
        return socket.socket(type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, fileno=descriptor)


_current_worker: Worker | None = None


def find_current_worker() -> Worker | None:
    """Return the worker that this process is; None in a process that serves alone."""
    return _current_worker


def check_support() -> None:
    """Raise CommandError if the system cannot send connections to other processes."""
    if not hasattr(socket, "send_fds") or not hasattr(signal, "pthread_sigmask"):
        raise CommandError(
            "this system cannot send connections to other processes (--workers)",
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
    """A process of a worker. `start_time` is in monotonic seconds."""

    process: BaseProcess
    channel: socket.socket
    start_time: float
    has_reported: bool = False
    takes_connections: bool = False

    def send(self, connection: socket.socket) -> bool:
        """Send a connection; return False if the worker cannot take it now."""
        try:
            socket.send_fds(self.channel, [_CONNECTION], [connection.fileno()])
        except OSError:  # many connections wait for the worker, or it has ended
            return False
        return True


class Supervisor:
    """The supervisor of `count` workers, which run the command `arguments` with a common token.

    It accepts connections from `listeners`, and closes them at the end.
    """

    def __init__(
        self, count: int, arguments: Sequence[str], listeners: Sequence[socket.socket], token: str | None
    ) -> None:
        self._arguments = [*arguments]
        self._count = count
        self._listeners = listeners
        self._token = token
        self._waiting_connection: socket.socket | None = None  # no worker could take it
        self._last_number = 0  # the worker with the last connection
        self._accept_time = 0.0  # monotonic seconds; no connection is accepted before
        self._running: dict[int, _RunningWorker] = {}
        self._delays: dict[int, float] = {}
        self._restart_times: dict[int, float] = {}
        self._started: set[int] = set()
        self._is_stopping = False

    def run(self, on_start: Callable[[], object]) -> int:
        """Serve until a signal; call `on_start` when all workers can take connections. Return the exit code.

        If a worker ends before its first start is complete, all end, and its exit code is returned. Must be
        called in the main thread.
        """
        for listener in self._listeners:
            listener.setblocking(False)
        with _receive_signals() as signals:
            try:
                for number in range(self._count):
                    self._start(number)
                return self._supervise(signals, on_start)
            finally:
                self._stop(signals)

    def _supervise(self, signals: socket.socket, on_start: Callable[[], object]) -> int:
        while True:
            channels = {
                worker.channel: number for number, worker in self._running.items() if not worker.has_reported
            }
            sentinels = {worker.process.sentinel: number for number, worker in self._running.items()}
            self._send_waiting_connection()
            listeners = self._listeners if self._can_accept() else ()
            for ready in wait([signals, *listeners, *channels, *sentinels], self._compute_wait_s()):
                if ready is signals:
                    if self._handle_signals(signals):
                        return Exit.DONE
                elif ready in channels:
                    was_complete = len(self._started) == self._count
                    self._record_start(channels[ready])
                    if not was_complete and len(self._started) == self._count:
                        on_start()
                elif isinstance(ready, socket.socket):
                    self._accept(ready)
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

    def _can_accept(self) -> bool:
        """Return True if a connection can be accepted; until then, the system queues connections."""
        return (
            self._waiting_connection is None
            and self._accept_time <= time.monotonic()
            and any(worker.takes_connections for worker in self._running.values())
        )

    def _accept(self, listener: socket.socket) -> None:
        """Accept a connection and send it to the next worker that can take it."""
        if self._waiting_connection is not None:
            return
        try:
            self._waiting_connection, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):  # the client has disconnected already
            return
        except OSError as error:
            log.error("a connection cannot be accepted: %s", StateText(error.strerror))
            self._accept_time = time.monotonic() + _ACCEPT_DELAY_S
            return
        self._send_waiting_connection()

    def _send_waiting_connection(self) -> None:
        if self._waiting_connection is None:
            return
        for step in range(1, self._count + 1):
            number = (self._last_number + step) % self._count
            worker = self._running.get(number)
            if worker is not None and worker.takes_connections and worker.send(self._waiting_connection):
                self._waiting_connection.close()
                self._waiting_connection, self._last_number = None, number
                return

    def _start(self, number: int) -> None:
        context = multiprocessing.get_context("spawn")
        own_channel, channel = socket.socketpair()
        own_channel.setblocking(False)
        channel.setblocking(False)
        port = self._listeners[0].getsockname()[1]
        worker = Worker(number, port, self._token, channel)
        process = context.Process(
            target=_run_worker, args=(worker, self._arguments), name=f"docyard-worker-{number}"
        )
        try:
            start_process(process)
        except OSError as error:
            own_channel.close()
            log.error("worker %s cannot be started: %s", number, StateText(error.strerror))
            self._schedule_restart(number, 0.0)
            return
        finally:
            channel.close()
        self._running[number] = _RunningWorker(process, own_channel, time.monotonic())

    def _record_start(self, number: int) -> None:
        worker = self._running[number]
        worker.has_reported = True
        with suppress(OSError):
            worker.takes_connections = worker.channel.recv(len(_START)) == _START
        if not worker.takes_connections:  # the process is ending, and its sentinel reports this
            return
        if number in self._started:
            log.warning("worker %s was started again", number)
        self._started.add(number)

    def _remove(self, number: int) -> int:
        """Remove a worker that has ended, and plan its next start. Return its exit code."""
        worker = self._running.pop(number)
        worker.process.join()
        worker.channel.close()
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
        now = time.monotonic()
        times = [*self._restart_times.values(), *([self._accept_time] if self._accept_time > now else ())]
        waits = [max(0.0, next_time - now) for next_time in times]
        if self._waiting_connection is not None:
            waits.append(_RETRY_S)
        return min(waits, default=None)

    def _stop(self, signals: socket.socket) -> None:
        """Refuse connections, and end the workers. After a time, or a second Ctrl-C, they are killed."""
        for unserved_socket in (*self._listeners, self._waiting_connection):
            if unserved_socket is not None:
                unserved_socket.close()
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
            worker.channel.close()
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
