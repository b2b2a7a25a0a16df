"""The plot: equal output for equal runs, and the error without matplotlib."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docyard.doctor.installation import format_extra_command
from docyard.eval.plot import check_plotting, draw_plot
from docyard.terminal.exits import CommandError
from tests.docyard.eval.test_runs import make_outcome, make_run

RUNS = [
    make_run(make_outcome("a", 2, chunk_rank=1), make_outcome("b", 1), at="2026-01-01T00:00:00Z"),
    make_run(make_outcome("a", None, ms=None), at="2026-01-02T00:00:00Z"),
    make_run(make_outcome("a", 1, chunk_rank=3), at="2026-01-03T00:00:00Z", commit=None),
]


@pytest.mark.slow
def test_plot_of_same_runs_is_identical(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    first_file, second_file, png_file = tmp_path / "a.svg", tmp_path / "b.svg", tmp_path / "c.png"
    for file in (first_file, second_file, png_file):
        draw_plot(RUNS, file)
    assert first_file.read_bytes() == second_file.read_bytes()
    texts = {element.text for element in ElementTree.parse(first_file).iter() if element.text}
    assert {"ndcg@10 by page", "mrr by chunk", "p95", "2026-01-01 00:00  ccccccc", "cases.yaml"} <= texts
    assert png_file.read_bytes().startswith(b"\x89PNG")


def test_missing_matplotlib_returns_error_with_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docyard.eval.plot.find_spec", lambda name: importlib.util.find_spec(f"no_{name}"))
    with pytest.raises(CommandError, match="matplotlib") as error_info:
        check_plotting()
    assert error_info.value.fix == format_extra_command("eval")
    assert "docyard[eval]" in error_info.value.fix
