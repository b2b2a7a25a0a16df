"""The execution of tool calls in worker threads, with progress reports. A bug becomes an internal error."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import orjson
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED
from pydantic_core import PydanticSerializationError, to_json

from docyard.caller import may_review
from tools.after_commit import add_caveats, build_committed_answer
from tools.dispatcher import Dispatcher, UnknownTool
from tools.errors import build_internal_error
from tools.records.problem_reports import name_sender
from tools.records.searches import SearchRecord, record_searches
from tools.tool import Answer
from workspace.errors import WorkspaceError
from workspace.publishing.after_commit import record_commits
from workspace.writing.read_before_write import SeenTexts

if TYPE_CHECKING:
    from docyard.caller import Caller

T = TypeVar("T")


class WorkRejected(MCPError):
    """The work was not started, because the server is stopping; its request gets this error."""

    def __init__(self) -> None:
        super().__init__(
            code=CONNECTION_CLOSED,
            message="The server is stopping and did not start this request. Send it again after a restart.",
        )


class Workers:
    """A pool of `size` threads: `async with Workers(8) as workers: ...`. Its exit waits for running work."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._limiter = anyio.CapacityLimiter(size)
        self._thread_slots = threading.Semaphore(size)
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._wait_for_threads)

    def close(self) -> None:
        """Reject further work: `run` raises WorkRejected from now on. Running work finishes."""
        self._is_closed = True

    async def run(self, work: Callable[[], T]) -> T:
        """Run work in a thread and return its result, or raise its error, or WorkRejected.

        Work that has started always finishes; `run` waits for it even if the caller is cancelled.
        """

        def run_if_open() -> T:
            with self._thread_slots:
                if self._is_closed:
                    raise WorkRejected
                return work()

        return await anyio.to_thread.run_sync(run_if_open, limiter=self._limiter)

    def _wait_for_threads(self) -> None:
        # Uvicorn cancels asyncio tasks, which anyio cannot shield. Their threads must be awaited here.
        for _ in range(self._size):
            self._thread_slots.acquire()
        self._thread_slots.release(self._size)


_ORJSON_OPTIONS = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def build_result(answer: Answer) -> dict[str, Any]:
    """Return the protocol's result for an answer: its text and its data.

    If the answer has no text, the text is the data as compact JSON.
    """
    data = answer.data
    try:
        json_data = _encode_json(data)
    except PydanticSerializationError:
        # Lone surrogates are rare, and a search for them would cost as much as the encoding.
        data = escape_surrogates(data)
        json_data = _encode_json(data)
    text = json_data.decode() if answer.text is None else escape_surrogates(answer.text)
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": data,
        "isError": answer.is_error,
    }


def _encode_json(data: Any) -> bytes:
    """Encode data as JSON; use pydantic if the fast encoder fails, for example for long integers."""
    try:
        return orjson.dumps(data, option=_ORJSON_OPTIONS)
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
"""A progress function. Its arguments are the amount done, the total, and a message."""

_REPORT_INTERVAL_S = 0.1  # seconds between two reports to the client


class Reporter(Protocol):
    """The receiver of progress: the session of one request."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...


class ServerClosing(Exception):
    """The server is closing, so the result of the running work is no longer needed."""


class ToolCall(NamedTuple):
    """A call of a tool. `caller` is the sender of the HTTP request; None over standard input and output."""

    name: str
    arguments: Mapping[str, Any] | list[Any]
    client: str
    caller: Caller | None


class CallOutcome(NamedTuple):
    """The outcome of a call: "ok" or the code of its error, the commit that it made, and its searches."""

    code: str
    duration_ms: float
    commit: str | None
    searches: Sequence[SearchRecord]


class CallObserver(Protocol):
    """The limits and the records of a server. Both methods are called in a worker thread."""

    def refuse(self, call: ToolCall) -> Answer | None:
        """Return the answer to a call that exceeds a limit; None if the call may run."""

    def observe(self, call: ToolCall, outcome: CallOutcome) -> None:
        """Record a call. Never raises, and never waits for a database."""


class ToolCalls:
    """The tool calls of one server, run in its workers.

    `seen_texts` contains the texts that the client of a stdio server has read; it is None over HTTP.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        workers: Workers,
        seen_texts: SeenTexts | None = None,
        observer: CallObserver | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._workers = workers
        self._seen_texts = seen_texts
        self._observer = observer
        self._close_event = threading.Event()

    @property
    def is_closing(self) -> bool:
        """Return True if `close` was called."""
        return self._close_event.is_set()

    def close(self) -> None:
        """Stop background work at its next report of progress. Running calls finish."""
        self._close_event.set()

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | list[Any],
        client: str,
        reporter: Reporter | None,
        caller: Caller | None = None,
        max_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Return the result of one call. The call finishes even if the client disconnects.

        `caller` is the sender of the request, `max_tokens` the limit that its URL names. Raises
        UnknownTool, WorkRejected. Any other exception is a bug: the result is then an internal error with a
        reference to the log.
        """
        call = ToolCall(name, arguments, client, caller)
        if reporter is None:
            result = await self._run_in_worker(partial(self._call_tool, call, None, max_tokens))
        else:
            async with _forward_progress(reporter) as progress:
                result = await self._run_in_worker(partial(self._call_tool, call, progress, max_tokens))
        # Raised here, because a task group would wrap the error in an exception group.
        if isinstance(result, UnknownTool | WorkRejected):
            raise result
        return result

    async def _run_in_worker(
        self, run: Callable[[], dict[str, Any] | UnknownTool]
    ) -> dict[str, Any] | UnknownTool | WorkRejected:
        try:
            return await self._workers.run(run)
        except WorkRejected as error:
            return error

    async def run_background(self, work: Callable[[Progress], object]) -> None:
        """Run work that no client requested. When the server closes, the work is stopped or not started."""

        def raise_if_closing(amount: float, total: float | None = None, message: str | None = None) -> None:
            if self._close_event.is_set():
                raise ServerClosing

        def run() -> None:
            try:
                work(raise_if_closing)
            except ServerClosing:
                log.debug("background work was stopped")
            except WorkspaceError as error:  # a later call reports it to its client
                log.warning("background work failed: %s", error)
            except Exception:
                log.exception("background work failed")

        if not self._close_event.is_set():
            await anyio.to_thread.run_sync(run)

    def _call_tool(
        self, call: ToolCall, progress: Progress | None, max_tokens: int | None
    ) -> dict[str, Any] | UnknownTool:
        observer = self._observer
        if observer is None:
            return self._run_tool(call, progress, max_tokens)[0]
        refusal = observer.refuse(call)
        if refusal is not None:
            return build_result(refusal)
        start = time.perf_counter()
        principal = None if call.caller is None else call.caller.principal
        with record_searches() as searches, name_sender(None if principal is None else principal.key):
            result, commit = self._run_tool(call, progress, max_tokens)
        duration_ms = (time.perf_counter() - start) * 1_000
        observer.observe(call, CallOutcome(_read_outcome(result), duration_ms, commit, searches))
        return result

    def _run_tool(
        self, call: ToolCall, progress: Progress | None, max_tokens: int | None
    ) -> tuple[dict[str, Any] | UnknownTool, str | None]:
        """Return the result of a call, and the commit that it made."""
        with record_commits() as record:
            try:
                answer = self._dispatcher.call(
                    call.name,
                    call.arguments,
                    client=call.client,
                    progress=progress,
                    seen_texts=self._seen_texts,
                    person=None if call.caller is None else call.caller.person,
                    may_review=may_review(call.caller),
                    max_tokens=max_tokens,
                )
                try:
                    return build_result(answer), record.commit
                except Exception as error:
                    if record.commit is None:
                        raise
                    partial_answer = build_committed_answer(record, error, self._dispatcher.offers)
                    return build_result(add_caveats(partial_answer, record)), record.commit
            except UnknownTool as error:
                return error, None
            except Exception:
                reference = secrets.token_hex(4)
                log.exception("%s failed, reference %s", call.name, reference)
                return build_result(build_internal_error(call.name, reference)), record.commit


def _read_outcome(result: dict[str, Any] | UnknownTool) -> str:
    """Return "ok", or the code of the error in a result."""
    if isinstance(result, UnknownTool):
        return "UNKNOWN_TOOL"
    return str(result["structuredContent"].get("code", "ERROR")) if result["isError"] else "ok"


@asynccontextmanager
async def _forward_progress(reporter: Reporter) -> AsyncIterator[Progress]:
    """Yield a progress function for a worker thread, which never blocks and drops excess reports."""
    sender, reports = anyio.create_memory_object_stream[tuple[float, float | None, str | None]](1)
    token = anyio.lowlevel.current_token()
    last_time, last_amount = 0.0, -1.0

    def send_or_drop(report: tuple[float, float | None, str | None]) -> None:
        with suppress(anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            sender.send_nowait(report)

    def report_progress(amount: float, total: float | None = None, message: str | None = None) -> None:
        nonlocal last_time, last_amount
        now = time.monotonic()
        # The protocol requires increasing values.
        if amount > last_amount and (now - last_time >= _REPORT_INTERVAL_S or amount == total):
            last_time, last_amount = now, amount
            anyio.from_thread.run_sync(send_or_drop, (amount, total, message), token=token)

    async def forward() -> None:
        async for amount, total, message in reports:
            try:
                await reporter.report_progress(amount, total, message)
            except Exception:  # the call must continue, because it may have committed already
                log.debug("progress could not be reported", exc_info=True)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(forward)
        try:
            yield report_progress
        finally:
            sender.close()
