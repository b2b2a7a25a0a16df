"""How fast the machine is today, by what others take on it: limits in seconds and milliseconds hang on that.

The limits were set on one machine, on which SQLite FTS5 and a bare round trip took so much. Where they take
longer in this run, a limit grows by as much; where they take less, it stays as it is. Limits on ratios,
memory and sizes never grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import Any


class Yardstick(StrEnum):
    """What a limit grows with."""

    QUERY = "FTS5's query p50"
    BUILD = "FTS5's build"
    BOTH = "both (their geometric mean)"
    TRIP = "a bare round trip"
    CALL = "a bare server's call"


@dataclass(frozen=True, slots=True)
class Class:
    """A corpus for which there are limits, and what others took for it where these were set."""

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
    """Return the smallest class that a corpus fits into; None for one that is larger than all."""
    return next((one for one in (SMALL, LARGE) if results["corpus"]["bytes"] <= one.most_bytes), None)


def is_reference(results: Mapping[str, Any]) -> str | None:
    """The name of the class, if a corpus has about as many sections as the one that its limits are for."""
    group = class_of(results)
    if group and abs(results["corpus"]["sections"] / group.sections - 1) <= _ALIKE:
        return group.name
    return None


def scales(results: Mapping[str, Any]) -> dict[Yardstick, float]:
    """By what the limits grow in this run: they never shrink."""
    return {yardstick: max(1.0, time) for yardstick, time in times(results).items()}


def times(results: Mapping[str, Any]) -> dict[Yardstick, float]:
    """Return how much longer others took in this run than where the limits were set.

    FTS5 tells something only on a corpus that is about as large as the one that the limits are for.
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
