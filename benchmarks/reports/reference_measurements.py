"""Scaling of time limits by the speed of the machine, measured by SQLite FTS5 and a minimal MCP server.

The limits were set on a reference machine. If FTS5 or the minimal server takes longer in this run, a limit
grows by the same factor. If they take less time, the limit does not change. Limits on ratios, memory and
sizes never change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import Any


class ReferenceMeasurement(StrEnum):
    """A reference measurement by which a limit is scaled. The values are shown in reports."""

    QUERY = "query p50 of FTS5"
    BUILD = "build by FTS5"
    QUERY_AND_BUILD = "geometric mean of query and build"
    PING = "ping of a minimal server"
    CALL = "tool call of a minimal server"


@dataclass(frozen=True, slots=True)
class CorpusClass:
    """A class of corpora with the same limits: those of at most `max_bytes`.

    Each class has a reference corpus. `sections` is the number of sections of this corpus. `build_s` and
    `query_ms` are the times of FTS5 for this corpus on the reference machine; the query time is the median.
    """

    name: str
    max_bytes: int
    sections: int
    build_s: float
    query_ms: float


SMALL = CorpusClass("small", 7_000_000, 14_259, build_s=0.25, query_ms=2.5)
LARGE = CorpusClass("large", 60_000_000, 158_042, build_s=2.6, query_ms=33.0)
PING_MS = 0.43
"""The median time of a ping of the minimal server on the reference machine."""

CALL_MS = 0.7
"""The median time of a first tool call of the minimal server on the reference machine."""

_SIZE_TOLERANCE = 0.1


def find_corpus_class(results: Mapping[str, Any]) -> CorpusClass | None:
    """Return the smallest class for the size of the corpus; None if no class is large enough."""
    return next(
        (
            corpus_class
            for corpus_class in (SMALL, LARGE)
            if results["corpus"]["bytes"] <= corpus_class.max_bytes
        ),
        None,
    )


def find_comparable_class_name(results: Mapping[str, Any]) -> str | None:
    """Return the name of the class whose reference corpus has about as many sections; None without one."""
    corpus_class = find_corpus_class(results)
    if corpus_class and abs(results["corpus"]["sections"] / corpus_class.sections - 1) <= _SIZE_TOLERANCE:
        return corpus_class.name
    return None


def compute_limit_factors(results: Mapping[str, Any]) -> dict[ReferenceMeasurement, float]:
    """Return the factors of the limits in this run, all at least 1."""
    return {reference: max(1.0, ratio) for reference, ratio in compute_reference_ratios(results).items()}


def compute_reference_ratios(results: Mapping[str, Any]) -> dict[ReferenceMeasurement, float]:
    """Return the ratios of the reference times in this run to those on the reference machine.

    FTS5 is comparable only if the corpus is about as large as the reference corpus.
    """
    ratios: dict[ReferenceMeasurement, float] = {}
    corpus_class, fts5 = find_corpus_class(results), results.get("fts5")
    if corpus_class and fts5 and find_comparable_class_name(results):
        build_ratio, query_ratio = (
            fts5["seconds"] / corpus_class.build_s,
            fts5["query"]["p50_ms"] / corpus_class.query_ms,
        )
        ratios |= {
            ReferenceMeasurement.BUILD: build_ratio,
            ReferenceMeasurement.QUERY: query_ratio,
            ReferenceMeasurement.QUERY_AND_BUILD: sqrt(build_ratio * query_ratio),
        }
    if "round_trips" in results:
        ratios[ReferenceMeasurement.PING] = results["round_trips"]["minimal_server_ping"]["p50_ms"] / PING_MS
    if "first_queries" in results:
        ratios[ReferenceMeasurement.CALL] = (
            results["first_queries"]["minimal_server"]["first"]["p50_ms"] / CALL_MS
        )
    return ratios
