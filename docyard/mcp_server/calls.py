"""One call of a tool: in a worker to its end, with progress, and with an apology for a bug.

Threads for what may wait for the disk.

A tool's answer as a result of the protocol: text for models that read, structure for programs.
"""

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


class NotBegun(MCPError):
    """The work was not begun, since the server is stopping. It is the answer to a request that needed it."""

    def __init__(self) -> None:
        super().__init__(
            code=CONNECTION_CLOSED,
            message="The server is stopping and did not begin this request. Send it again after a restart.",
        )


class Workers:
    """Up to `size` threads: `async with Workers(8) as workers: ...`. The end waits for what was begun."""

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
        """Begin nothing more; what runs ends. From then on `run` raises NotBegun."""
        self._is_closed = True

    async def run(self, work: Callable[[], T]) -> T:
        """Do work in a thread and return its result, or raise what it raises, or NotBegun.

        Once begun it runs to its end, and so does the wait for it, even if the caller is cancelled.
        """

        def begin() -> T:
            with self._running:
                if self._is_closed:
                    raise NotBegun
                return work()

        return await anyio.to_thread.run_sync(begin, limiter=self._limiter)

    def _wait(self) -> None:
        # Uvicorn cancels tasks of asyncio, which anyio cannot shield: then nobody waits for their threads.
        for _ in range(self._size):
            self._running.acquire()
        self._running.release(self._size)


_PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def result_of(answer: Answer) -> dict[str, Any]:
    """The result that carries an answer: its text, else its data as compact JSON, and the data itself."""
    data = answer.data
    try:
        json = _json(data)
    except (
        PydanticSerializationError
    ):  # few answers hold what UTF-8 cannot, and looking costs as much as writing
        data = encodable(data)
        json = _json(data)
    text = json.decode() if answer.text is None else encodable(answer.text)
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": data,
        "isError": answer.is_error,
    }


def compact(data: Any) -> str:
    """Return JSON without spaces, letters of every script as they are."""
    return _json(data).decode()


def _json(data: Any) -> bytes:
    """Write JSON, quickly if it is plain; what is not, such as long integers, as pydantic does."""
    try:
        return orjson.dumps(data, option=_PLAIN)
    except TypeError:
        return to_json(data, inf_nan_mode="null")


def encodable(value: Any) -> Any:
    """The same value with each lone surrogate written as an escape, since UTF-8 has no bytes for it."""
    match value:
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return value.encode("utf-8", "backslashreplace").decode()
            return value
        case dict():
            return {encodable(key): encodable(item) for key, item in value.items()}
        case list() | tuple():
            return [encodable(item) for item in value]
        case _:
            return value


log = logging.getLogger("docyard")


Progress = Callable[[float, float | None, str | None], None]


"""What long work calls as it goes on: how much is done, of how much, and a few words."""


_REPORT_INTERVAL = 0.1  # seconds between two reports to the client


class Reporter(Protocol):
    """Where progress goes: the session of one request."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...


class ServerClosing(Exception):
    """Raised out of a progress report, to stop work that nobody waits for any more."""


class Calls:
    """Runs the calls of one server in its workers.

    `sight` is the memory of the one client that a server over stdio has; over HTTP there is none.
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
        """Return the result of one call as it is sent, which runs to its end even if the client hangs up.

        `person` is whose token came with it. Errors: UnknownTool, NotBegun. Any other exception is
        a bug, answered with an apology and a reference.
        """
        if reporter is None:
            result = await self._begin(partial(self._run, name, arguments, client, None, person))
        else:
            async with _reporting(reporter) as progress:
                run = partial(self._run, name, arguments, client, progress, person)
                result = await self._begin(run)
        if isinstance(
            result, UnknownTool | NotBegun
        ):  # raised here, since it would leave a task group in a group
            raise result
        return result

    async def _begin(
        self, run: Callable[[], dict[str, Any] | UnknownTool]
    ) -> dict[str, Any] | UnknownTool | NotBegun:
        try:
            return await self._workers.run(run)
        except NotBegun as error:
            return error

    async def background(self, work: Callable[[Progress], object]) -> None:
        """Run work that no client asked for. It stops when the server closes, and never begins after that."""

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
                    return result_of(answer)
                except Exception as error:
                    if record.commit is None:
                        raise
                    left = committed_answer(record, error, self._toolbox.offers)
                    return result_of(with_caveats(left, record))
        except UnknownTool as error:
            return error
        except Exception:
            reference = secrets.token_hex(4)
            log.exception("%s failed, reference %s", name, reference)
            return result_of(apology(name, reference))


def apology(name: str, reference: str) -> Answer:
    """Return the answer to a call that met a bug: it tells nothing of the inside but where to look."""
    message = (
        f"Sorry, {name} failed because of a fault in docyard itself, not in the call. "
        f"The server's log has the details under {reference}."
    )
    return Answer(
        {"error": message, "code": "INTERNAL_ERROR", "reference": reference}, message, is_error=True
    )


@asynccontextmanager
async def _reporting(reporter: Reporter) -> AsyncIterator[Progress]:
    """A progress function for a worker thread: it never waits for the client, and drops what is too much."""
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
