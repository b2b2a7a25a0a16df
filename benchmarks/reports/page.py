"""benchmarks/RESULTS.md: what lies between its two marks is written from the runs that are kept.

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
from benchmarks.reports.report import VERDICTS, allowed, beside, measured, number
from benchmarks.reports.yardsticks import is_reference

PAGE = ROOT / "benchmarks" / "RESULTS.md"
KEPT = ROOT / "benchmarks" / "results"
GROWTH = "growth"
BEGIN = "<!-- measured: written by python -m benchmarks.reports.page -->"
END = "<!-- end of what was measured -->"

Results = Mapping[str, Any]


class NoPlace(Exception):
    """A page without the two marks."""


def keep(results: Results, folder: Path, kept: Path = KEPT) -> Path:
    """Keep a whole run, in the place of an earlier one over the same corpus; returns its file."""
    name = is_reference(results) or re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")
    file = kept / f"{name or 'corpus'}.json"
    kept.mkdir(exist_ok=True)
    file.write_text(json.dumps(results, indent=1) + "\n")
    return file


def write(page: Path = PAGE, kept: Path = KEPT) -> Path:
    """Write the measured part of the page anew; returns the page."""
    runs = {file.stem: json.loads(file.read_text()) for file in sorted(kept.glob("*.json"))}
    growth = runs.pop(GROWTH, None)
    parts = [corpus(name, results) for name, results in sorted(runs.items(), key=_size)]
    if growth:
        parts.append(growth_table(growth, has_plot=(page.parent / "growth.svg").exists()))
    page.write_text(replaced(page.read_text(), "\n\n".join(parts)))
    return page


def replaced(text: str, measured: str) -> str:
    """Return a page with other text between its marks. Raises NoPlace."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NoPlace(f"There are no two lines {BEGIN} and {END} in the page.")
    return f"{before}{begin}\n\n{measured}\n\n{end}{after}"


def corpus(name: str, results: Results) -> str:
    """Return one corpus: what was measured with, how many limits were kept, and every figure."""
    groups = figures(results)
    lines = [f"### {name}", "", *(f"{line}  " for line in about(results)), _verdict(groups), ""]
    others = list(dict.fromkeys(other for rows in groups.values() for row in rows for other in row.beside))
    lines += [_row(["", "Docyard", *others, "must be", ""]), _row(["---"] * (len(others) + 4))]
    for group, rows in groups.items():
        lines.append(_row([f"**{group}**", *[""] * (len(others) + 3)]))
        for row in rows:
            cells = [row.name.strip(), measured(row), *(beside(row, other) for other in others)]
            lines.append(_row([*cells, allowed(row), _bold(VERDICTS[row.is_met])]))
    lines += ["", _same_lists(results)]
    return "\n".join(lines).rstrip()


def growth_table(growth: Results, *, has_plot: bool) -> str:
    """Return what grows with a corpus, one line for each size."""
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
    text = f"{sum(row.is_met is True for row in limited)} of {len(limited)} limits kept"
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
