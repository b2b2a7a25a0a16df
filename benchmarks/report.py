"""Figures with their targets, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing that was measured, what others took for the same, and what it may be at most."""

    name: str
    value: float
    unit: str
    beside: dict[str, float] = field(default_factory=dict)
    target: float | None = None

    @property
    def is_met(self) -> bool | None:
        """Whether the target was reached; None if there is none."""
        return None if self.target is None else self.value <= self.target

    def as_data(self) -> dict[str, Any]:
        """The figure as JSON."""
        return {**asdict(self), "met": self.is_met}


def figures_table(figures: Sequence[Figure]) -> str:
    """All figures, with a column for each engine that was beside us and one for the targets."""
    others = list(dict.fromkeys(name for figure in figures for name in figure.beside))
    rows = []
    for figure in figures:
        cells = [figure.name, _number(figure.value), figure.unit]
        for name in others:
            value = figure.beside.get(name)
            cells.append("" if value is None else f"{_number(value)} ({_ratio(figure.value, value)})")
        cells.append("" if figure.target is None else f"≤ {_number(figure.target)}")
        cells.append({None: "", True: "met", False: "MISSED"}[figure.is_met])
        rows.append(cells)
    return table(["", "docyard", "", *(f"{name} (docyard is)" for name in others), "target", ""], rows)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows in columns as wide as they need to be."""
    lines = [columns, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _ratio(value: float, other: float) -> str:
    return f"{_number(value / other)}x" if other else "-"
