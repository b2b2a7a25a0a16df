"""The metrics of a server, in the format of Prometheus.

The labels are bounded: names of tools that the server has, codes of errors, methods and status codes. No
label has the name of an organization, a namespace, a document, a caller or a question.

Several workers write to files in one folder, which `/metrics` of any worker adds up; a worker that has ended
keeps its numbers. The folder is chosen by `environment.set_metrics_folder`, before this module is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

if TYPE_CHECKING:
    from tools.records.searches import SearchRecord

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

_DURATION_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
_OUTCOME = re.compile(r"ok|[A-Z][A-Z0-9_]{1,63}")
_METHODS = frozenset(("GET", "HEAD", "POST", "DELETE", "OPTIONS"))
_SEARCH_TYPES = frozenset(("bm25", "vector", "hybrid"))
_OTHER = "other"


class Metrics:
    """The metrics of one process. `folder` is that of several workers; None if there is one process."""

    def __init__(self, version: str, folder: Path | None = None) -> None:
        self._folder = folder
        self._registry = registry = CollectorRegistry()
        self._calls = Counter(
            "docyard_calls", "Calls of tools, by outcome.", ("tool", "outcome"), registry=registry
        )
        self._call_durations = Histogram(
            "docyard_call_duration_seconds",
            "Durations of calls that were not refused.",
            ("tool",),
            buckets=_DURATION_BUCKETS_S,
            registry=registry,
        )
        self._searches = Counter(
            "docyard_searches",
            "Questions, and whether they had results.",
            ("type", "found"),
            registry=registry,
        )
        self._search_durations = Histogram(
            "docyard_search_duration_seconds",
            "Durations of the searches for one question.",
            buckets=_DURATION_BUCKETS_S,
            registry=registry,
        )
        self._requests = Counter(
            "docyard_http_requests", "Requests over HTTP.", ("route", "method", "status"), registry=registry
        )
        self._request_durations = Histogram(
            "docyard_http_response_start_seconds",
            "Seconds from a request to the start of its response.",
            ("route",),
            buckets=_DURATION_BUCKETS_S,
            registry=registry,
        )
        self._dropped_records = Counter(
            "docyard_dropped_records",
            "Records of searches and calls that were not stored.",
            registry=registry,
        )
        build = Gauge(
            "docyard_build_info", "The version.", ("version",), registry=registry, multiprocess_mode="max"
        )
        build.labels(version).set(1)
        if folder is None:
            ProcessCollector(namespace="docyard", registry=registry)

    def count_call(
        self, tool: str | None, outcome: str, duration_s: float, searches: Iterable[SearchRecord] = ()
    ) -> None:
        """Count a call, and its searches. `tool` is None if the client named a tool that does not exist."""
        name = tool or "unknown"
        self._calls.labels(name, outcome if _OUTCOME.fullmatch(outcome) else _OTHER).inc()
        if outcome != "RATE_LIMITED":
            self._call_durations.labels(name).observe(duration_s)
        for search in searches:
            search_type = search.search_type if search.search_type in _SEARCH_TYPES else _OTHER
            is_found = any(search.result_counts.values())
            self._searches.labels(search_type, "yes" if is_found else "no").inc()
            self._search_durations.observe(search.duration_ms / 1_000)

    def count_request(self, route: str, method: str, status: int, duration_s: float) -> None:
        """Count a request. `route` is one of few names, never a path."""
        self._requests.labels(route, method if method in _METHODS else _OTHER, str(status)).inc()
        self._request_durations.labels(route).observe(duration_s)

    def count_dropped_records(self, number: int) -> None:
        """Count records that were not stored."""
        self._dropped_records.inc(number)

    def render(self) -> bytes:
        """Return the metrics of all workers as text."""
        registry = self._registry
        if self._folder is not None:
            registry = CollectorRegistry()
            MultiProcessCollector(registry, path=str(self._folder))  # type: ignore[no-untyped-call]
        return generate_latest(registry)
