"""The thread that records behind the answers. A database that cannot be used never delays or fails a call."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy.exc import DataError, IntegrityError, SQLAlchemyError

from docyard.database.database import Database
from docyard.database.errors import DatabaseUnavailable
from docyard.database.ids import read_clock_ms
from docyard.records.opt_outs import OptOuts, read_opt_outs
from docyard.records.questions import HashKeys, get_question_format
from docyard.records.retention import Retention
from docyard.records.rows import RecordedCall, RecordTarget, RowBuilder, write_rows
from docyard.telemetry.logs import StateText
from index.postgres.options import FILE_ENGINE, EngineOptions
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.mcp_server.calls import CallOutcome, ToolCall
    from docyard.settings.settings import RecordsSection
    from tools.tool import Answer

BATCH_INTERVAL_S = 0.25
"""The longest time that a call waits to be recorded, which a killed process loses."""

QUEUE_LIMIT = 20_000
"""The number of calls that wait for the database; further ones are dropped and counted."""

_BATCH_CALLS = 2_000
_MAX_RETRY_S = 5.0
_CLOSE_TIMEOUT_S = 3.0
# A server or namespace was deleted meanwhile, or the database cannot store a text.
_REFUSALS = (IntegrityError, DataError, UnicodeEncodeError)
_READING_TOOL = "get_doc"
_NAMESPACE_FIELDS = ("docyard_namespace", "namespace")
_MAX_ADDRESS_CHARACTERS = 2_000

log = logging.getLogger("docyard")


class RecorderNumbers(NamedTuple):
    """The numbers of calls that were recorded, dropped, and are waiting; whether the database fails now."""

    recorded: int
    dropped: int
    waiting: int
    is_failing: bool


class Recorder:
    """Records the calls of all servers of a process, from `start` to `close`.

    A process that is forked must create its own. `observe_server` returns the observer of one server.
    `on_drop` is called with the number of dropped calls.
    """

    def __init__(
        self,
        database: Database,
        settings: RecordsSection,
        queue_limit: int = QUEUE_LIMIT,
        prepare: Callable[[], object] = lambda: None,
        *,
        engine: EngineOptions = FILE_ENGINE,
    ) -> None:
        """Create a recorder. `prepare` is called by its thread before each access to the database.

        Nodes that share the database of `engine` hash questions with the same key.
        """
        self._prepare = prepare
        self._database = database
        self._mode = settings.mode
        self._builder = RowBuilder(
            get_question_format(settings.mode, HashKeys(engine)),
            has_words=settings.mode == "text",
            store_embeddings=settings.store_embeddings,
        )
        self._retention = Retention(settings.retention_days)
        self._queue_limit = queue_limit
        self._queue: deque[RecordedCall] = deque()
        self._pending: list[RecordedCall] = []
        self._recorded_count = 0
        self._dropped_count = 0
        self.on_drop: Callable[[int], object] = lambda count: None
        self._failure: str | None = None
        self._close_requested = threading.Event()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="docyard-records", daemon=True)

    @property
    def is_recording(self) -> bool:
        """Return True unless the mode is `off`."""
        return self._mode != "off"

    @property
    def numbers(self) -> RecorderNumbers:
        """The numbers for metrics."""
        waiting = len(self._queue) + len(self._pending)
        return RecorderNumbers(self._recorded_count, self._dropped_count, waiting, self._failure is not None)

    def start(self) -> None:
        """Start the thread. Old records are deleted at start and daily, also in mode `off`."""
        self._thread.start()

    def close(self) -> None:
        """Record the calls that wait, and stop the thread."""
        self._close_requested.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_TIMEOUT_S)

    def observe_server(self, get_target: Callable[[], RecordTarget]) -> ServerRecorder:
        """Return the observer of a server.

        `get_target` is called by the thread that writes. It may raise DatabaseUnavailable, and is then called
        again later.
        """
        return ServerRecorder(self, get_target)

    def put(self, call: RecordedCall) -> None:
        """Have a call recorded; drop it if too many are waiting."""
        if not self.is_recording:
            return
        with self._lock:
            is_full = len(self._queue) + len(self._pending) >= self._queue_limit
            if not is_full:
                self._queue.append(call)
        if is_full:
            self._drop(1)

    def _run(self) -> None:
        wait_s = BATCH_INTERVAL_S
        while True:
            is_closing = self._close_requested.wait(wait_s)
            has_worked = self._work()
            if is_closing and (not has_worked or not self._queue):
                return
            wait_s = BATCH_INTERVAL_S if has_worked else min(wait_s * 2, _MAX_RETRY_S)
            if has_worked and (len(self._queue) >= _BATCH_CALLS or self._retention.is_due):
                wait_s = 0.01  # calls and searches need the processor, too

    def _work(self) -> bool:
        """Write a batch of calls, and delete a batch of old records; return False if the database fails."""
        try:
            if self._queue or self._pending or self._retention.is_due:
                self._prepare()
            self._write_batch()
            if self._retention.is_due and not self._close_requested.is_set():
                with self._database.begin() as connection:
                    self._retention.delete_batch(connection)
        except (DatabaseUnavailable, SQLAlchemyError, WorkspaceError) as error:
            self._report_failure(error)
            return False
        except Exception:
            log.exception("records were lost because of a bug")
            self._drop(len(self._pending))
            self._pending = []
            return True
        if self._failure is not None:
            log.warning("searches are recorded again")
            self._failure = None
        return True

    def _write_batch(self) -> None:
        with self._lock:
            while self._queue and len(self._pending) < _BATCH_CALLS:
                self._pending.append(self._queue.popleft())
        if not self._pending:
            return
        try:
            self._write(self._pending)
        except _REFUSALS:
            while self._pending:
                try:
                    self._write(self._pending[:1])
                except _REFUSALS:
                    self._drop(1)
                del self._pending[0]
        self._pending = []

    def _write(self, calls: list[RecordedCall]) -> None:
        with self._database.connect() as connection:
            opt_outs: OptOuts = read_opt_outs(connection)
        batch = self._builder.build(calls, opt_outs)
        with self._database.begin() as connection:
            write_rows(connection, batch)
        self._recorded_count += len(batch.calls)

    def _drop(self, count: int) -> None:
        with self._lock:
            self._dropped_count += count
        self.on_drop(count)

    def _report_failure(self, error: Exception) -> None:
        """Log a failure, once until the database works again or fails otherwise."""
        reason = error.message if isinstance(error, WorkspaceError) else type(error).__name__
        if reason != self._failure:
            log.warning("searches are not recorded: %s", StateText(reason))
            self._failure = reason


class ServerRecorder:
    """The observer of the calls of one server, which records them."""

    def __init__(self, recorder: Recorder, get_target: Callable[[], RecordTarget]) -> None:
        self._recorder = recorder
        self._get_target = get_target

    def refuse(self, call: ToolCall) -> Answer | None:
        """Return None: records limit nothing."""
        return None

    def observe(self, call: ToolCall, outcome: CallOutcome) -> None:
        """Have a call recorded. The content of its answer, and other arguments, are not."""
        principal = None if call.caller is None else call.caller.principal
        has_read = outcome.code == "ok" and call.name.endswith(_READING_TOOL)
        self._recorder.put(
            RecordedCall(
                self._get_target,
                read_clock_ms(),
                None if principal is None else principal.key,
                call.client,
                call.name,
                outcome.code,
                outcome.duration_ms,
                tuple(outcome.searches),
                _read_section(call.arguments) if has_read else None,
            )
        )


def _read_section(arguments: Mapping[str, Any] | list[Any]) -> tuple[str, str] | None:
    """Return the namespace and the address that a call reads."""
    if not isinstance(arguments, Mapping) or not isinstance(address := arguments.get("chunk_id"), str):
        return None
    names = [name for field in _NAMESPACE_FIELDS if isinstance(name := arguments.get(field), str)]
    namespace = names[0] if names else ""
    return namespace, address[:_MAX_ADDRESS_CHARACTERS].removeprefix(f"doc:///{namespace}/")
