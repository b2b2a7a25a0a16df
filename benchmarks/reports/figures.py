"""Figures: the rows of the report with measured values, and their limits in this run."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.reports.rows import GROUPS, Results, Row, Value
from benchmarks.reports.yardsticks import SMALL, Yardstick, class_of, scales, times

_PACKAGES = ("docyard", "mcp", "whoosh", "numpy", "pygit2", "tantivy")


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value, the values of other engines, and its limit.

    `value` is None if it was not measured. `limit` is the target multiplied by the run's scale.
    """

    name: str
    unit: str
    value: float | None
    target: float | None = None
    limit: float | None = None
    others: dict[str, float] = field(default_factory=dict)

    @property
    def is_met(self) -> bool | None:
        """Return True if the limit was met; None without a limit or a value."""
        return None if self.limit is None or self.value is None else self.value <= self.limit

    def as_data(self) -> dict[str, Any]:
        """Return the figure as JSON."""
        return {**asdict(self), "met": self.is_met}


def figures(results: Results) -> dict[str, list[Figure]]:
    """Return the figures of each group, in order, also those without a value."""
    scale = scales(results)
    return {group: [_figure(row, results, scale) for row in rows] for group, rows in GROUPS.items()}


def without_gaps(groups: Mapping[str, list[Figure]]) -> dict[str, list[Figure]]:
    """Return the figures with a value, and the groups that have any."""
    found = {group: [row for row in rows if row.value is not None] for group, rows in groups.items()}
    return {group: rows for group, rows in found.items() if rows}


def about(results: Results) -> list[str]:
    """Return lines about the corpus, the machine, the versions, and the speed of the machine."""
    corpus = results["corpus"]
    return [
        f"{corpus['files']:,} files, {corpus['bytes'] / 1e6:.1f} MB, {corpus['sections']:,} sections",
        results["machine"],
        ", ".join(results["versions"]),
        _times(results),
    ]


def machine() -> str:
    """Return a general description of this machine."""
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"


def versions() -> list[str]:
    """Return the versions of the measured packages."""
    found = [f"SQLite {sqlite3.sqlite_version}"]
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


def _times(results: Results) -> str:
    found = ", ".join(f"{yardstick} {time:.2f}x" for yardstick, time in times(results).items())
    if not found:
        return "Limits in time are those of the machine on which they were set."
    return f"By the machine on which limits were set: {found}. Limits in time grow with what is above 1."


def _figure(row: Row, results: Results, scale: Mapping[Yardstick, float]) -> Figure:
    group = class_of(results)
    target = row.limits[0 if group is SMALL else 1] if group else None
    grown = target * scale.get(row.yardstick, 1.0) if target and row.yardstick else target
    readers = {"FTS5": row.fts5, "tantivy": row.tantivy, "bare mcp": row.bare}
    found = {name: _value(reader, results) for name, reader in readers.items() if reader}
    return Figure(
        name=row.name,
        unit=row.unit,
        value=_value(row.value, results),
        target=target,
        limit=grown,
        others={name: value for name, value in found.items() if value is not None},
    )


def _value(value: Value, results: Results) -> float | None:
    try:
        return value(results)
    except KeyError:
        return None
