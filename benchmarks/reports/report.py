"""Figures with their limits, as a table for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.reports.figures import Figure

VERDICTS = {None: "", True: "met", False: "MISSED"}


def figures_table(groups: Mapping[str, Sequence[Figure]]) -> str:
    """All figures, with a column for each engine beside us, one for the limits and one for the verdicts."""
    others = list(dict.fromkeys(name for rows in groups.values() for row in rows for name in row.beside))
    lines = []
    for group, figures in groups.items():
        lines.append([group, *[""] * (len(others) + 3)])
        for figure in figures:
            cells = ["  " + figure.name, measured(figure)]
            cells += [beside(figure, name) for name in others]
            lines.append([*cells, allowed(figure), VERDICTS[figure.is_met]])
    return table(["", "docyard", *(f"{name} (docyard is)" for name in others), "must be", ""], lines)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows in columns as wide as they need to be."""
    lines = [columns, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def measured(figure: Figure) -> str:
    """Return the value with its unit."""
    return "not measured" if figure.value is None else _with_unit(figure.value, figure.unit)


def beside(figure: Figure, name: str) -> str:
    """Return what another took, and how many times as much that is of ours."""
    other = figure.beside.get(name)
    if other is None:
        return ""
    if figure.value is None or not other:
        return number(other)
    return f"{number(other)} ({number(figure.value / other)}x)"


def allowed(figure: Figure) -> str:
    """Return the limit; with the target in brackets, if this run's limit is a higher one."""
    if figure.limit is None or figure.target is None:
        return ""
    limit = f"≤ {_with_unit(figure.limit, figure.unit)}"
    return limit if figure.limit == figure.target else f"{limit} ({number(figure.target)})"


def number(value: float) -> str:
    """Three digits, or as many as an integer has."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _with_unit(value: float, unit: str) -> str:
    return f"{number(value)}{unit}" if unit == "x" else f"{number(value)} {unit}".rstrip()
