"""A plot of quality and latency over runs. This is the boundary module of matplotlib, an optional library."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from docyard.eval.report import compute_latency, compute_mean
from docyard.eval.run import LEVELS, EvalRun
from docyard.terminal.exits import CommandError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLOT_SUFFIXES = (".svg", ".png")
_PLOTTED_MEASURES = ("ndcg@10", "mrr")


def check_plotting() -> None:
    """Raise CommandError if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        from docyard.doctor.installation import format_extra_command

        raise CommandError("plots need matplotlib, which is not installed", fix=format_extra_command("eval"))


def draw_plot(runs: Sequence[EvalRun], file: Path) -> None:
    """Draw the measures of all cases above the search time, with one position for each run.

    The same runs produce the same bytes. `file` must end in .svg or .png. Raises OSError.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.hashsalt": "docyard", "svg.fonttype": "none"}):
        figure = Figure(figsize=(max(6.4, 0.5 * len(runs)), 6.4), layout="constrained")
        quality_axes, latency_axes = figure.subplots(2, 1, sharex=True)
        _draw_quality(quality_axes, runs)
        _draw_latency(latency_axes, runs)
        latency_axes.set_xticks(
            range(len(runs)), [_format_label(run) for run in runs], rotation=60, ha="right"
        )
        figure.suptitle(runs[-1].name)
        figure.savefig(file, metadata={"Date": None} if file.suffix.lower() == ".svg" else None)


def _draw_quality(axes: Axes, runs: Sequence[EvalRun]) -> None:
    for level in LEVELS:
        for measure in _PLOTTED_MEASURES:
            means = [compute_mean(run.cases, level, measure) for run in runs]
            if any(value is not None for value in means):
                heights = [float("nan") if value is None else value for value in means]
                axes.plot(range(len(runs)), heights, marker="o", label=f"{measure} by {level}")
    axes.set_ylim(0, 1)
    axes.set_ylabel("mean over the cases")
    axes.grid(alpha=0.3)
    axes.legend(loc="best")


def _draw_latency(axes: Axes, runs: Sequence[EvalRun]) -> None:
    latencies = [compute_latency(run.cases) for run in runs]
    for name in ("p50_ms", "p95_ms"):
        heights = [getattr(latency, name) if latency else float("nan") for latency in latencies]
        axes.plot(range(len(runs)), heights, marker="o", label=name.removesuffix("_ms"))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("one search, ms")
    axes.grid(alpha=0.3)
    axes.legend(loc="best")


def _format_label(run: EvalRun) -> str:
    return f"{run.at[:16].replace('T', ' ')}  {(run.commit or 'none')[:7]}"
