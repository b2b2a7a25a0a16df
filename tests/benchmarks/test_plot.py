"""The plot of growth is a small, reproducible SVG with text elements."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reports import plot

pytestmark = pytest.mark.skipif(not plot.is_matplotlib_installed(), reason="matplotlib is not installed")

POINT_KEYS = ("build_s", "peak_mb", "query_p50_ms", "query_p95_ms", "edit_p50_ms")


@pytest.mark.slow
def test_same_figures_give_identical_small_svg(tmp_path: Path) -> None:
    points = [
        {"sections": size} | dict.fromkeys(POINT_KEYS, size / 1_000) for size in (14_000, 158_000, 474_000)
    ]
    files = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for file in files:
        plot.draw_growth(points, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert len(files[0].read_bytes()) < 60_000
    assert ">thousand sections</text>" in files[0].read_text()
