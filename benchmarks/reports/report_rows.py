"""The rows of the report with measured values, and their limits in this run."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.reports.reference_measurements import (
    SMALL,
    ReferenceMeasurement,
    compute_limit_factors,
    compute_reference_ratios,
    find_corpus_class,
)
from benchmarks.reports.row_definitions import GROUPS, Results, RowDefinition, ValueReader

_PACKAGES = ("docyard", "mcp", "whoosh", "numpy", "pygit2", "tantivy")


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A measured value, the values of other engines or of a minimal server, and the limit.

    `value` is None if it was not measured. `target` is the limit on the reference machine. `limit` is the
    target, multiplied by the factor of the reference measurement.
    """

    name: str
    unit: str
    value: float | None
    target: float | None = None
    limit: float | None = None
    comparison_values: dict[str, float] = field(default_factory=dict)

    @property
    def is_met(self) -> bool | None:
        """Return True if the value meets the limit; None without a limit or a value."""
        return None if self.limit is None or self.value is None else self.value <= self.limit

    def as_data(self) -> dict[str, Any]:
        """Return the row as JSON data."""
        return {**asdict(self), "met": self.is_met}


def compute_report_rows(results: Results) -> dict[str, list[ReportRow]]:
    """Return the rows of each group, in order, including those without a value."""
    factors = compute_limit_factors(results)
    return {
        group: [_compute_row(definition, results, factors) for definition in definitions]
        for group, definitions in GROUPS.items()
    }


def select_measured_rows(groups: Mapping[str, list[ReportRow]]) -> dict[str, list[ReportRow]]:
    """Return the rows that have a value, and the groups that have such rows."""
    measured_groups = {
        group: [row for row in rows if row.value is not None] for group, rows in groups.items()
    }
    return {group: rows for group, rows in measured_groups.items() if rows}


def describe_run(results: Results) -> list[str]:
    """Return lines about the corpus, the machine, the versions, and the speed of the machine."""
    corpus = results["corpus"]
    return [
        f"{corpus['files']:,} files, {corpus['bytes'] / 1e6:.1f} MB, {corpus['sections']:,} sections",
        results["machine"],
        ", ".join(results["versions"]),
        _describe_speed(results),
    ]


def describe_machine() -> str:
    """Return the number of cores, the Python version and the operating system."""
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"


def list_package_versions() -> list[str]:
    """Return the versions of SQLite and of the installed packages that affect the measurements."""
    lines = [f"SQLite {sqlite3.sqlite_version}"]
    for name in _PACKAGES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return lines


def _describe_speed(results: Results) -> str:
    ratios = ", ".join(
        f"{reference} {ratio:.2f}x" for reference, ratio in compute_reference_ratios(results).items()
    )
    if not ratios:
        return "Time limits are those of the reference machine."
    return f"Times relative to the reference machine: {ratios}. Time limits are multiplied by ratios above 1."


def _compute_row(
    definition: RowDefinition, results: Results, factors: Mapping[ReferenceMeasurement, float]
) -> ReportRow:
    corpus_class = find_corpus_class(results)
    target = definition.limits[0 if corpus_class is SMALL else 1] if corpus_class else None
    limit = target * factors.get(definition.reference, 1.0) if target and definition.reference else target
    readers = {
        "FTS5": definition.read_fts5,
        "tantivy": definition.read_tantivy,
        "minimal server": definition.read_minimal_server,
    }
    comparison_values = {name: _read_value(reader, results) for name, reader in readers.items() if reader}
    return ReportRow(
        name=definition.name,
        unit=definition.unit,
        value=_read_value(definition.read_value, results),
        target=target,
        limit=limit,
        comparison_values={name: value for name, value in comparison_values.items() if value is not None},
    )


def _read_value(read_value: ValueReader, results: Results) -> float | None:
    try:
        return read_value(results)
    except KeyError:
        return None
