"""The limits, the records and the metrics of a server with a configuration file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from docyard import __version__, environment
from docyard.http.operations import Operations
from docyard.limits.addresses import AddressLimit
from docyard.limits.buckets import Buckets, Levels
from docyard.limits.limiter import LimitedServer, Limiter
from docyard.limits.observer import LimitingObserver
from docyard.mcp_server.metrics_observer import MetricsObserver
from docyard.records.recorder import Recorder

if TYPE_CHECKING:
    from docyard.database.database import Database
    from docyard.http.health import PartState
    from docyard.mcp_server.calls import CallObserver
    from docyard.records.rows import RecordTarget
    from docyard.settings.file import ServerSettings
    from index.postgres.options import EngineOptions
    from tools.tool import Tool


class Monitoring:
    """The limits, the records and the metrics of one process: start it, and close it at the end.

    `prepare` is called by the recording thread before each access to the database.
    """

    def __init__(
        self,
        settings: ServerSettings,
        database: Database,
        engine: EngineOptions,
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        self._settings = settings
        self._buckets = Buckets(_open_levels())
        self._limiter = Limiter(settings.limits, self._buckets)
        self._recorder = Recorder(database, settings.records, engine=engine, prepare=prepare)
        self._metrics = None
        if settings.telemetry.metrics:
            from docyard.telemetry.metrics import Metrics

            self._metrics = Metrics(__version__, environment.find_metrics_folder())
            self._recorder.on_drop = self._metrics.count_dropped_records

    def start(self) -> None:
        """Start to record."""
        self._recorder.start()

    def close(self) -> None:
        """Record the calls that wait, and stop."""
        self._recorder.close()

    def observe_server(
        self,
        organization: str,
        find_tool: Callable[[str], Tool | None],
        list_namespaces: Callable[[], Collection[str]],
        get_target: Callable[[], RecordTarget],
    ) -> CallObserver:
        """Return the observer of the calls of one server.

        `list_namespaces` returns the namespaces that its callers may read. `get_target` returns the ids of
        the server in the records.
        """
        observers: list[CallObserver] = []
        if self._metrics is not None:
            observers.append(MetricsObserver(self._metrics, find_tool))
        if self._recorder.is_recording:
            observers.append(self._recorder.observe_server(get_target))
        server = LimitedServer(organization, find_tool, list_namespaces)
        return LimitingObserver(self._limiter, server, observers)

    def build_operations(self, parts: Mapping[str, Callable[[], PartState]]) -> Operations:
        """Return the operation of the server. `parts` return their states for `/readyz`."""
        from docyard.http.health import Readiness

        requests_per_minute = self._settings.limits.requests_per_minute
        token = self._settings.operator.token
        return Operations(
            Readiness(parts),
            self._metrics,
            AddressLimit(requests_per_minute, self._buckets) if requests_per_minute is not None else None,
            self._settings.http.trusted_proxies,
            None if token is None else token.get_secret_value(),
        )


def _open_levels() -> Levels | None:
    """Return the levels of buckets that all workers share; None for a single process."""
    folder = environment.find_metrics_folder()
    if folder is None:
        return None
    from docyard.limits.shared_levels import SharedLevels

    return SharedLevels(folder)
