"""A plot of build time, memory, query time and edit time by the number of sections, as a reproducible SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Point = Mapping[str, Any]

GROWTH_PANELS = (
    ("build, s", {"": "build_s"}),
    ("peak memory of the build, MB", {"": "peak_mb"}),
    ("ten best hits of an OR query, ms", {"p50": "query_p50_ms", "p95": "query_p95_ms"}),
    ("edit, commit and search, ms", {"p50": "edit_p50_ms"}),
)
"""The title of each panel, and the keys of its values by the label of the line."""

NODE_PANELS = (
    ("build in PostgreSQL, s", {"": "build_s"}),
    ("memory of a node, MB", {"": "resident_mb"}),
    ("each question once, ms", {"p50": "query_p50_ms", "p95": "query_p95_ms"}),
    ("a commit, ms", {"indexed": "index_commit_p50_ms", "found by another node": "visible_p50_ms"}),
)
"""The panels of an index that nodes share."""


def is_matplotlib_installed() -> bool:
    """Return True if matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_growth(
    points: Sequence[Point],
    file: Path,
    panels: Sequence[tuple[str, Mapping[str, str]]] = GROWTH_PANELS,
) -> None:
    """Write the plot of four panels to a file.

    All axes begin at zero, so that a straight line shows proportional growth.
    """
    import matplotlib

    matplotlib.use("svg")
    # Text elements, and no dates or random ids, so that equal points give an equal file.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "docyard"})
    matplotlib.rcParams.update({"font.size": 9, "font.sans-serif": ["DejaVu Sans"]})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(8, 5), layout="constrained")
    sections = [point["sections"] / 1_000 for point in points]
    for panel, (title, lines) in zip(axes.flat, panels, strict=True):
        for label, key in lines.items():
            panel.plot(sections, [point[key] for point in points], marker="o", label=label)
        panel.set_title(title)
        panel.set_xlabel("thousand sections")
        panel.set_xlim(left=0)
        panel.set_ylim(bottom=0)
        panel.locator_params(nbins=4)
        panel.grid(alpha=0.3)
        if any(lines):
            panel.legend()
    figure.savefig(file, metadata={"Date": None})
    pyplot.close(figure)
