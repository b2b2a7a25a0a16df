"""Figures with their limits, as a table for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.reports.figures import Figure

VERDICTS = {None: "", True: "met", False: "MISSED"}


def figures_table(groups: Mapping[str, Sequence[Figure]]) -> str:
    """Return all figures as a table with columns for other engines, limits and verdicts."""
    others = list(dict.fromkeys(name for rows in groups.values() for row in rows for name in row.others))
    lines = []
    for group, figures in groups.items():
        lines.append([group, *[""] * (len(others) + 3)])
        for figure in figures:
            cells = ["  " + figure.name, format_value(figure)]
            cells += [compare_with(figure, name) for name in others]
            lines.append([*cells, format_limit(figure), VERDICTS[figure.is_met]])
    return table(["", "docyard", *(f"{name} (docyard is)" for name in others), "must be", ""], lines)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows in columns as wide as they need to be."""
    lines = [columns, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def format_value(figure: Figure) -> str:
    """Return the value with its unit."""
    return "not measured" if figure.value is None else _with_unit(figure.value, figure.unit)


def compare_with(figure: Figure, name: str) -> str:
    """Return the value of another engine, and the ratio of ours to it."""
    other = figure.others.get(name)
    if other is None:
        return ""
    if figure.value is None or not other:
        return number(other)
    return f"{number(other)} ({number(figure.value / other)}x)"


def format_limit(figure: Figure) -> str:
    """Return the limit, with the target in brackets if this run's limit is higher."""
    if figure.limit is None or figure.target is None:
        return ""
    limit = f"≤ {_with_unit(figure.limit, figure.unit)}"
    return limit if figure.limit == figure.target else f"{limit} ({number(figure.target)})"


def number(value: float) -> str:
    """Format three digits, or all digits of a larger integer."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _with_unit(value: float, unit: str) -> str:
    return f"{number(value)}{unit}" if unit == "x" else f"{number(value)} {unit}".rstrip()
