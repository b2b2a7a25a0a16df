"""Tables of figures with their limits, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.reports.figures import Figure

VERDICTS = {None: "", True: "met", False: "MISSED"}


def format_figures_table(groups: Mapping[str, Sequence[Figure]]) -> str:
    """Return all figures as a table with columns for other engines, limits and verdicts."""
    others = list(dict.fromkeys(name for rows in groups.values() for row in rows for name in row.others))
    rows = []
    for group, figures in groups.items():
        rows.append([group, *[""] * (len(others) + 3)])
        for figure in figures:
            cells = ["  " + figure.name, format_value(figure)]
            cells += [compare_with(figure, name) for name in others]
            rows.append([*cells, format_limit(figure), VERDICTS[figure.is_met]])
    return format_table(["", "docyard", *(f"{name} (ratio)" for name in others), "must be", ""], rows)


def format_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows as text, in columns as wide as their longest cell."""
    lines = [columns, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def format_value(figure: Figure) -> str:
    """Return the value with its unit."""
    return "not measured" if figure.value is None else _format_with_unit(figure.value, figure.unit)


def compare_with(figure: Figure, engine: str) -> str:
    """Return the value of another engine, and the ratio of Docyard's value to it."""
    other = figure.others.get(engine)
    if other is None:
        return ""
    if figure.value is None or not other:
        return format_number(other)
    return f"{format_number(other)} ({format_number(figure.value / other)}x)"


def format_limit(figure: Figure) -> str:
    """Return the limit, with the target in brackets if this run's limit is higher."""
    if figure.limit is None or figure.target is None:
        return ""
    limit = f"≤ {_format_with_unit(figure.limit, figure.unit)}"
    return limit if figure.limit == figure.target else f"{limit} ({format_number(figure.target)})"


def format_number(value: float) -> str:
    """Format three significant digits, or an integer from 1,000 on."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _format_with_unit(value: float, unit: str) -> str:
    return f"{format_number(value)}{unit}" if unit == "x" else f"{format_number(value)} {unit}".rstrip()
