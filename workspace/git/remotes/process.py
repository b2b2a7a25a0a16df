"""A child process for libgit2's network calls, which is killed at a deadline.

libgit2's network calls cannot be cancelled, and an SSH handshake restarts at its timeout. A thread would keep
its socket open, and could still push or move a ref after its failure had been reported. The process reports
progress and is killed at its deadline, which a `ProcessPoolExecutor` cannot do.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pygit2

from workspace.child_processes import configure_child, start_process
from workspace.errors import WorkspaceError
from workspace.git.remotes.exchange import Exchange, Peer, Progress, RemoteTooSlow, RemoteUnreachable
from workspace.git.repository import open_repository
from workspace.git.store import sync_written_objects

_GRACE_S = 1.0
"""The time after the deadline in which the process can end an exchange, before it is killed."""

_START_TIMEOUT_S = 60.0
"""The time in which a process must begin a call."""

_PROGRESS_INTERVAL_S = 0.1
"""The minimum time between two reports of progress."""

_EXPECTED_ERRORS = (pygit2.GitError, KeyError, ValueError, OSError)

T = TypeVar("T")
Call = Callable[[pygit2.Repository, Peer, Exchange], T]
"""An exchange with a remote; a module function, or a `partial` of one, because it is pickled."""


class _ExchangeStarted(NamedTuple):
    """The message by which the process reports that an exchange begins."""


class _ProgressReport(NamedTuple):
    completed: float
    total: float | None


class _CallFailure(NamedTuple):
    error: WorkspaceError


class _CallResult(NamedTuple):
    result: Any


class RemoteProcess:
    """A process for the exchanges of one repository, from the first exchange to `end`.

    With `durable`, its writes are synced to disk. A process whose exchange has failed is killed at once, and
    the next exchange starts another one. So no socket and no thread of a failed exchange remains.
    """

    def __init__(self, repository: Path, *, durable: bool) -> None:
        self._repository = repository
        self._durable = durable
        self._child: _Child | None = None

    def run(self, peer: Peer, call: Call[T], progress: Progress | None = None) -> T:
        """Run a call in the process and return its result, within the time limit of the peer.

        Raises:
            RemoteTooSlow, RemoteTooLarge, RemoteDenied, HostNotTrusted, RemoteUnreachable: the call failed.
            WorkspaceError: the call raised another error, such as DamagedRepository.
            OSError: the system cannot start another process.
        """
        try:
            result: T = _receive_result(self.start().pipe, peer, call, progress)
        except (EOFError, ConnectionError):
            self.end()
            raise RemoteUnreachable(peer.name, "the process of the exchange has ended") from None
        except BaseException:
            self.end()
            raise
        return result

    def start(self) -> _Child:
        """Start the process, unless it runs, without waiting for it. Raises OSError."""
        if self._child is None:
            self._child = _Child()
            self._child.pipe.send((self._repository, self._durable))
        return self._child

    def end(self) -> None:
        """End the process; none of its work continues when this returns."""
        if self._child is not None:
            self._child.end()
            self._child = None


class _Child:
    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, child_pipe = context.Pipe()
        self._process = context.Process(target=_serve, args=(child_pipe,), daemon=True)
        with child_pipe:
            try:
                start_process(self._process)
            except BaseException:
                self.pipe.close()
                raise

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self.pipe.close()


def _receive_result(pipe: Connection, peer: Peer, call: Call[T], progress: Progress | None) -> Any:
    pipe.send((peer, call))
    deadline = time.monotonic() + _START_TIMEOUT_S
    while pipe.poll(max(0.0, deadline - time.monotonic())):
        match pipe.recv():
            case _ExchangeStarted():
                deadline = time.monotonic() + peer.seconds + _GRACE_S
            case _ProgressReport(completed, total):
                if progress is not None:
                    progress(completed, total, None)
            case _CallFailure(error):
                raise error
            case _CallResult(result):
                return result
    raise RemoteTooSlow(peer.name, peer.seconds)


def _serve(pipe: Connection) -> None:
    configure_child()
    with suppress(EOFError):  # the parent has closed the pipe
        path, durable = pipe.recv()
        with sync_written_objects(durable):
            while True:
                peer, call = pipe.recv()
                pipe.send(_ExchangeStarted())
                pipe.send(_run_call(path, peer, call, _ProgressWriter(pipe)))


def _run_call(path: Path, peer: Peer, call: Call[Any], progress: Progress) -> _CallResult | _CallFailure:
    timeout_ms = round(min(peer.answer_seconds, peer.seconds) * 1000)
    pygit2.settings.server_connect_timeout = timeout_ms
    pygit2.settings.server_timeout = timeout_ms
    try:
        return _CallResult(call(open_repository(path), peer, Exchange(peer, progress)))
    except WorkspaceError as error:
        return _CallFailure(error)
    except _EXPECTED_ERRORS as error:
        return _CallFailure(peer.build_error(error))


class _ProgressWriter:
    """A writer of progress reports to a pipe, at a limited rate."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._next_report_time = 0.0

    def __call__(self, completed: float, total: float | None, message: str | None) -> None:
        now = time.monotonic()
        if now >= self._next_report_time or completed == total:
            self._next_report_time = now + _PROGRESS_INTERVAL_S
            self._pipe.send(_ProgressReport(completed, total))
