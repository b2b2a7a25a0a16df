"""Tool calls: run in worker threads, with progress, and with an internal error for a bug."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import orjson
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED
from pydantic_core import PydanticSerializationError, to_json

from tools.after_commit import committed_answer, with_caveats
from tools.registry import Toolbox, UnknownTool
from tools.tool import Answer
from workspace.errors import WorkspaceError
from workspace.publishing.after_commit import record_commits
from workspace.writing.read_before_write import SeenTexts

if TYPE_CHECKING:
    from workspace.policy.tokens import Person

T = TypeVar("T")


class WorkRejected(MCPError):
    """The work was not started, because the server is stopping; its request gets this error."""

    def __init__(self) -> None:
        super().__init__(
            code=CONNECTION_CLOSED,
            message="The server is stopping and did not begin this request. Send it again after a restart.",
        )


class Workers:
    """Up to `size` threads: `async with Workers(8) as workers: ...`. The end waits for running work."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._limiter = anyio.CapacityLimiter(size)
        self._running = threading.Semaphore(size)
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._wait)

    def close(self) -> None:
        """Start no further work; running work ends. From then on `run` raises WorkRejected."""
        self._is_closed = True

    async def run(self, work: Callable[[], T]) -> T:
        """Run work in a thread and return its result, or raise its error, or WorkRejected.

        Work that has started runs to its end, and `run` waits for it even if the caller is cancelled.
        """

        def begin() -> T:
            with self._running:
                if self._is_closed:
                    raise WorkRejected
                return work()

        return await anyio.to_thread.run_sync(begin, limiter=self._limiter)

    def _wait(self) -> None:
        # Uvicorn cancels tasks of asyncio, which anyio cannot shield: then nobody waits for their threads.
        for _ in range(self._size):
            self._running.acquire()
        self._running.release(self._size)


_PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def build_result(answer: Answer) -> dict[str, Any]:
    """Return the result for an answer: its text, else its data as compact JSON, and the data itself."""
    data = answer.data
    try:
        json = _json(data)
    except (
        PydanticSerializationError
    ):  # few answers hold what UTF-8 cannot, and looking costs as much as writing
        data = escape_surrogates(data)
        json = _json(data)
    text = json.decode() if answer.text is None else escape_surrogates(answer.text)
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": data,
        "isError": answer.is_error,
    }


def format_compact_json(data: Any) -> str:
    """Return JSON without spaces and without escapes of letters."""
    return _json(data).decode()


def _json(data: Any) -> bytes:
    """Write JSON: with the fast encoder if possible, else with pydantic (such as long integers)."""
    try:
        return orjson.dumps(data, option=_PLAIN)
    except TypeError:
        return to_json(data, inf_nan_mode="null")


def escape_surrogates(value: Any) -> Any:
    """Return the value with each lone surrogate as an escape, since UTF-8 cannot encode it."""
    match value:
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return value.encode("utf-8", "backslashreplace").decode()
            return value
        case dict():
            return {escape_surrogates(key): escape_surrogates(item) for key, item in value.items()}
        case list() | tuple():
            return [escape_surrogates(item) for item in value]
        case _:
            return value


log = logging.getLogger("docyard")
Progress = Callable[[float, float | None, str | None], None]
"""A progress function: the amount done, the total, and a message."""

_REPORT_INTERVAL = 0.1  # seconds between two reports to the client


class Reporter(Protocol):
    """The receiver of progress: the session of one request."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...


class ServerClosing(Exception):
    """Raised by a progress report to stop work whose result is no longer needed."""


class ToolCalls:
    """Runs the calls of one server in its workers.

    `sight` holds the texts that the only client of a stdio server has read; over HTTP there is none.
    """

    def __init__(self, toolbox: Toolbox, workers: Workers, sight: SeenTexts | None = None) -> None:
        self._toolbox = toolbox
        self._workers = workers
        self._sight = sight
        self._closing = threading.Event()

    @property
    def is_closing(self) -> bool:
        """Return True if `close` was called."""
        return self._closing.is_set()

    def close(self) -> None:
        """Ask background work to stop at its next report of progress. Calls run to their end."""
        self._closing.set()

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | list[Any],
        client: str,
        reporter: Reporter | None,
        person: Person | None = None,
    ) -> dict[str, Any]:
        """Return the result of one call. It runs to its end even if the client disconnects.

        `person` is the owner of its token. Errors: UnknownTool, WorkRejected. Any other exception is a bug;
        the result is an internal error with a reference.
        """
        if reporter is None:
            result = await self._begin(partial(self._run, name, arguments, client, None, person))
        else:
            async with _build_progress(reporter) as progress:
                run = partial(self._run, name, arguments, client, progress, person)
                result = await self._begin(run)
        if isinstance(
            result, UnknownTool | WorkRejected
        ):  # raised here, since it would leave a task group in a group
            raise result
        return result

    async def _begin(
        self, run: Callable[[], dict[str, Any] | UnknownTool]
    ) -> dict[str, Any] | UnknownTool | WorkRejected:
        try:
            return await self._workers.run(run)
        except WorkRejected as error:
            return error

    async def background(self, work: Callable[[Progress], object]) -> None:
        """Run work that no client requested. It stops when the server closes, and then no more starts."""

        def check(done: float, total: float | None = None, message: str | None = None) -> None:
            if self._closing.is_set():
                raise ServerClosing

        def run() -> None:
            try:
                work(check)
            except ServerClosing:
                log.debug("background work was stopped")
            except WorkspaceError as error:  # whoever asks will be told
                log.warning("background work: %s", error.message)
            except Exception:
                log.exception("background work failed")

        if not self._closing.is_set():
            await anyio.to_thread.run_sync(run)

    def _run(
        self,
        name: str,
        arguments: Mapping[str, Any] | list[Any],
        client: str,
        progress: Progress | None,
        person: Person | None,
    ) -> dict[str, Any] | UnknownTool:
        try:
            with record_commits() as record:
                answer = self._toolbox.call(
                    name, arguments, client=client, progress=progress, sight=self._sight, person=person
                )
                try:
                    return build_result(answer)
                except Exception as error:
                    if record.commit is None:
                        raise
                    left = committed_answer(record, error, self._toolbox.offers)
                    return build_result(with_caveats(left, record))
        except UnknownTool as error:
            return error
        except Exception:
            reference = secrets.token_hex(4)
            log.exception("%s failed, reference %s", name, reference)
            return build_result(build_internal_error(name, reference))


def build_internal_error(name: str, reference: str) -> Answer:
    """Return the result of a call that met a bug: only a reference to the log, no internals."""
    message = (
        f"Sorry, {name} failed because of a fault in docyard itself, not in the call. "
        f"The server's log has the details under {reference}."
    )
    return Answer(
        {"error": message, "code": "INTERNAL_ERROR", "reference": reference}, message, is_error=True
    )


@asynccontextmanager
async def _build_progress(reporter: Reporter) -> AsyncIterator[Progress]:
    """Return a progress function for a worker thread. It never blocks; excess reports are dropped."""
    offered, reports = anyio.create_memory_object_stream[tuple[float, float | None, str | None]](1)
    token = anyio.lowlevel.current_token()
    last_time, last_done = 0.0, -1.0

    def offer(report: tuple[float, float | None, str | None]) -> None:
        with suppress(anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            offered.send_nowait(report)

    def progress(done: float, total: float | None = None, message: str | None = None) -> None:
        nonlocal last_time, last_done
        now = time.monotonic()
        # The protocol asks for values that increase.
        if done > last_done and (now - last_time >= _REPORT_INTERVAL or done == total):
            last_time, last_done = now, done
            anyio.from_thread.run_sync(offer, (done, total, message), token=token)

    async def forward() -> None:
        async for done, total, message in reports:
            try:
                await reporter.report_progress(done, total, message)
            except Exception:  # what the call does counts, and may be committed already
                log.debug("progress could not be reported", exc_info=True)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(forward)
        try:
            yield progress
        finally:
            offered.close()
