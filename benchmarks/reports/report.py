"""Tables of report rows with their limits, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.reports.report_rows import ReportRow

VERDICTS = {None: "", True: "met", False: "MISSED"}


def format_report_table(groups: Mapping[str, Sequence[ReportRow]]) -> str:
    """Return all rows as a table with columns for compared engines and servers, limits and verdicts."""
    compared_systems = list(
        dict.fromkeys(name for rows in groups.values() for row in rows for name in row.comparison_values)
    )
    lines = []
    for group, rows in groups.items():
        lines.append([group, *[""] * (len(compared_systems) + 3)])
        for row in rows:
            cells = ["  " + row.name, format_value(row)]
            cells += [format_comparison(row, system) for system in compared_systems]
            lines.append([*cells, format_limit(row), VERDICTS[row.is_met]])
    return format_table(
        ["", "docyard", *(f"{name} (ratio)" for name in compared_systems), "must be", ""], lines
    )


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text, in columns as wide as their longest cell."""
    lines = [columns, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def format_value(row: ReportRow) -> str:
    """Return the value with its unit, or `not measured`."""
    return "not measured" if row.value is None else _format_with_unit(row.value, row.unit)


def format_comparison(row: ReportRow, system: str) -> str:
    """Return the value of another engine or server, and the ratio of the value of Docyard to that value.

    The result is empty if the value was not measured.
    """
    compared_value = row.comparison_values.get(system)
    if compared_value is None:
        return ""
    if row.value is None or not compared_value:
        return format_number(compared_value)
    return f"{format_number(compared_value)} ({format_number(row.value / compared_value)}x)"


def format_limit(row: ReportRow) -> str:
    """Return the limit, with the target in brackets if this run's limit is higher; empty without a limit."""
    if row.limit is None or row.target is None:
        return ""
    limit = f"≤ {_format_with_unit(row.limit, row.unit)}"
    return limit if row.limit == row.target else f"{limit} ({format_number(row.target)})"


def format_number(value: float) -> str:
    """Format three significant digits, or an integer from 1,000 on."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _format_with_unit(value: float, unit: str) -> str:
    return f"{format_number(value)}{unit}" if unit == "x" else f"{format_number(value)} {unit}".rstrip()
