"""benchmarks/RESULTS.md: the part between its two markers is written from stored results.

python -m benchmarks.reports.page     writes it from benchmarks/results/*.json
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.child import ROOT
from benchmarks.reports.figures import Figure, about, figures
from benchmarks.reports.report import VERDICTS, compare_with, format_limit, format_value, number
from benchmarks.reports.yardsticks import is_reference

PAGE = ROOT / "benchmarks" / "RESULTS.md"
RESULTS_FOLDER = ROOT / "benchmarks" / "results"
GROWTH = "growth"
BEGIN = "<!-- measured: written by python -m benchmarks.reports.page -->"
END = "<!-- end of what was measured -->"

Results = Mapping[str, Any]


class MissingMarkers(Exception):
    """The page does not have the two markers."""


def store_results(results: Results, folder: Path, results_folder: Path = RESULTS_FOLDER) -> Path:
    """Store the results of a whole run, replacing those of the same corpus; return the file."""
    name = is_reference(results) or re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    file = results_folder / f"{name or 'corpus'}.json"
    results_folder.mkdir(exist_ok=True)
    file.write_text(json.dumps(results, indent=1) + "\n")
    return file


def write(page: Path = PAGE, results_folder: Path = RESULTS_FOLDER) -> Path:
    """Rewrite the measured part of the page; return the page."""
    runs = {file.stem: json.loads(file.read_text()) for file in sorted(results_folder.glob("*.json"))}
    growth = runs.pop(GROWTH, None)
    parts = [corpus(name, results) for name, results in sorted(runs.items(), key=_size)]
    if growth:
        parts.append(growth_table(growth, has_plot=(page.parent / "growth.svg").exists()))
    page.write_text(replace_measured(page.read_text(), "\n\n".join(parts)))
    return page


def replace_measured(text: str, content: str) -> str:
    """Return a page with other text between its markers. Raises MissingMarkers."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise MissingMarkers(f"the page must contain the lines {BEGIN} and {END}")
    return f"{before}{begin}\n\n{content}\n\n{end}{after}"


def corpus(name: str, results: Results) -> str:
    """Return the section of one corpus: its environment, the count of met limits, and every figure."""
    groups = figures(results)
    lines = [f"### {name}", "", *(f"{line}  " for line in about(results)), _verdict(groups), ""]
    others = list(dict.fromkeys(other for rows in groups.values() for row in rows for other in row.others))
    lines += [_row(["", "Docyard", *others, "must be", ""]), _row(["---"] * (len(others) + 4))]
    for group, rows in groups.items():
        lines.append(_row([f"**{group}**", *[""] * (len(others) + 3)]))
        for row in rows:
            cells = [row.name.strip(), format_value(row), *(compare_with(row, other) for other in others)]
            lines.append(_row([*cells, format_limit(row), _bold(VERDICTS[row.is_met])]))
    lines += ["", _same_lists(results)]
    return "\n".join(lines).rstrip()


def growth_table(growth: Results, *, has_plot: bool) -> str:
    """Return the section of growth, one line for each size."""
    head = ["", "sections", "Markdown", "build", "peak memory", "index", "query p50", "query p95", "edit p50"]
    lines = [
        "### Growth",
        "",
        f"{growth['machine']}; built with {growth['processes']} processes at most.",
        "",
    ]
    if has_plot:
        lines += ["![Build time, memory, query and edit time by the number of sections](growth.svg)", ""]
    lines += [_row(head), _row(["---"] * len(head))]
    for point in growth["points"]:
        cells = [
            point["name"],
            f"{point['sections']:,}",
            f"{number(point['bytes'] / 1e6)} MB",
            f"{number(point['build_s'])} s",
            f"{number(point['peak_mb'])} MB",
            f"{number(point['index_bytes'] / 1e6)} MB",
            *(f"{number(point[key])} ms" for key in ("query_p50_ms", "query_p95_ms", "edit_p50_ms")),
        ]
        lines.append(_row(cells))
    return "\n".join(lines)


def _size(run: tuple[str, Results]) -> int:
    return int(run[1]["corpus"]["bytes"])


def _verdict(groups: Mapping[str, Sequence[Figure]]) -> str:
    limited = [row for rows in groups.values() for row in rows if row.limit is not None]
    missed = [row.name.strip() for row in limited if row.is_met is False]
    absent = [row.name.strip() for row in limited if row.is_met is None]
    text = f"{sum(row.is_met is True for row in limited)} of {len(limited)} limits met"
    if missed:
        text += f". Missed: {'; '.join(missed)}"
    if absent:
        text += f". Not measured: {'; '.join(absent)}"
    return text + "."


def _same_lists(results: Results) -> str:
    compared = sum(results.get(name, {}).get("same_lists", 0) for name in ("queries", "edits", "artifact"))
    return (
        f"{compared:,} lists were compared with those of other processes and builds: all the same."
        if compared
        else ""
    )


def _bold(text: str) -> str:
    return f"**{text}**" if text.isupper() else text


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(write())
