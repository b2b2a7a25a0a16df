"""Speed of the machine, measured by SQLite FTS5 and a bare server, by which time limits are scaled.

The limits were set on a reference machine. If FTS5 or the bare server takes longer in this run, a limit
grows by the same factor; if they take less, it does not change. Limits on ratios, memory and sizes never
grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import Any


class Yardstick(StrEnum):
    """A reference measurement by which a limit is scaled."""

    QUERY = "FTS5's query p50"
    BUILD = "FTS5's build"
    BOTH = "both (their geometric mean)"
    TRIP = "a bare round trip"
    CALL = "a bare server's call"


@dataclass(frozen=True, slots=True)
class Class:
    """A reference corpus with limits, and the times of FTS5 for it on the reference machine."""

    name: str
    most_bytes: int
    sections: int
    build_s: float
    query_ms: float


SMALL = Class("small", 7_000_000, 14_259, build_s=0.25, query_ms=2.5)
LARGE = Class("large", 60_000_000, 158_042, build_s=2.6, query_ms=33.0)
TRIP_MS = 0.43
CALL_MS = 0.7

_ALIKE = 0.1


def class_of(results: Mapping[str, Any]) -> Class | None:
    """Return the smallest class that a corpus fits into; None if it is larger than all."""
    return next((one for one in (SMALL, LARGE) if results["corpus"]["bytes"] <= one.most_bytes), None)


def is_reference(results: Mapping[str, Any]) -> str | None:
    """Return the name of the class if the corpus has about as many sections as its reference corpus."""
    group = class_of(results)
    if group and abs(results["corpus"]["sections"] / group.sections - 1) <= _ALIKE:
        return group.name
    return None


def scales(results: Mapping[str, Any]) -> dict[Yardstick, float]:
    """Return the factors by which limits grow in this run; they never shrink."""
    return {yardstick: max(1.0, time) for yardstick, time in times(results).items()}


def times(results: Mapping[str, Any]) -> dict[Yardstick, float]:
    """Return the ratio of reference times in this run to those on the reference machine.

    FTS5 is comparable only on a corpus that is about as large as the reference corpus.
    """
    found: dict[Yardstick, float] = {}
    group, fts5 = class_of(results), results.get("fts5")
    if group and fts5 and is_reference(results):
        build, query = fts5["seconds"] / group.build_s, fts5["query"]["p50_ms"] / group.query_ms
        found |= {
            Yardstick.BUILD: build,
            Yardstick.QUERY: query,
            Yardstick.BOTH: sqrt(build * query),
        }
    if "trips" in results:
        found[Yardstick.TRIP] = results["trips"]["bare_ping"]["p50_ms"] / TRIP_MS
    if "asks" in results:
        found[Yardstick.CALL] = results["asks"]["bare"]["first"]["p50_ms"] / CALL_MS
    return found
