"""Measurements of increasing sizes: printed as they come, then stored, drawn, and written to RESULTS.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.child import MeasurementFailed
from benchmarks.corpus import CorpusTooSmall
from benchmarks.reports import page, plot
from benchmarks.reports.report_rows import describe_machine


def report_growth(
    name: str,
    points: Iterable[Mapping[str, Any]],
    panels: Sequence[tuple[str, Mapping[str, str]]] = plot.GROWTH_PANELS,
    **details: Any,
) -> int:
    """Store the points with the machine and `details`; return 2 if a measurement failed, else 0.

    The files have the `name`. The plot is drawn only if matplotlib is installed.
    """
    measured_points = []
    try:
        for point in points:
            print(json.dumps(point), flush=True)
            measured_points.append(point)
    except (CorpusTooSmall, MeasurementFailed) as error:
        print(error, file=sys.stderr)
        return 2
    results = {"machine": describe_machine(), **details, "points": measured_points}
    page.RESULTS_FOLDER.mkdir(exist_ok=True)
    (page.RESULTS_FOLDER / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")
    if plot.is_matplotlib_installed():
        plot.draw_growth(measured_points, page.PAGE.parent / f"{name}.svg", panels)
    print(f"Rewrote {page.write_page()}.")
    return 0
