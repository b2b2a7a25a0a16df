"""benchmarks/RESULTS.md, of which the part between two markers is written from stored results.

python -m benchmarks.reports.page     writes the part from benchmarks/results/*.json
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.child import ROOT
from benchmarks.reports.reference_measurements import find_comparable_class_name
from benchmarks.reports.report import VERDICTS, format_comparison, format_limit, format_number, format_value
from benchmarks.reports.report_rows import ReportRow, compute_report_rows, describe_run

PAGE = ROOT / "benchmarks" / "RESULTS.md"
RESULTS_FOLDER = ROOT / "benchmarks" / "results"
GROWTH_NAME = "growth"
NODES_NAME = "nodes"
BEGIN_MARKER = "<!-- measured: written by python -m benchmarks.reports.page -->"
END_MARKER = "<!-- end of the measured part -->"

Results = Mapping[str, Any]


class MissingMarkers(Exception):
    """The page lacks a marker, or the markers are in the wrong order."""


def store_results(results: Results, folder: Path, results_folder: Path = RESULTS_FOLDER) -> Path:
    """Store the results of a complete run in place of earlier results for the corpus; return the file.

    The file has the name of the reference corpus, if the corpus is about as large, else that of `folder`.
    """
    name = find_comparable_class_name(results) or re.sub(
        r"[^a-z0-9]+", "-", folder.resolve().name.lower()
    ).strip("-")
    file = results_folder / f"{name or 'corpus'}.json"
    results_folder.mkdir(exist_ok=True)
    file.write_text(json.dumps(results, indent=1) + "\n")
    return file


def write_page(page: Path = PAGE, results_folder: Path = RESULTS_FOLDER) -> Path:
    """Rewrite the measured part of the page from stored results; return the page. Raises MissingMarkers."""
    runs = {file.stem: json.loads(file.read_text()) for file in sorted(results_folder.glob("*.json"))}
    growth, nodes = runs.pop(GROWTH_NAME, None), runs.pop(NODES_NAME, None)
    sections = [format_corpus(name, results) for name, results in sorted(runs.items(), key=_get_corpus_bytes)]
    if growth:
        sections.append(format_growth(growth, has_plot=(page.parent / "growth.svg").exists()))
    if nodes:
        sections.append(format_nodes(nodes, has_plot=(page.parent / "nodes.svg").exists()))
    page.write_text(replace_measured_part(page.read_text(), "\n\n".join(sections)))
    return page


def replace_measured_part(text: str, content: str) -> str:
    """Return the text of a page with other content between its markers. Raises MissingMarkers."""
    before, begin, text_after_begin = text.partition(BEGIN_MARKER)
    _, end, after = text_after_begin.partition(END_MARKER)
    if not begin or not end:
        raise MissingMarkers(f"the page must contain the lines {BEGIN_MARKER} and {END_MARKER}")
    return f"{before}{begin}\n\n{content}\n\n{end}{after}"


def format_corpus(name: str, results: Results) -> str:
    """Return the section of a corpus: its environment, the count of met limits, and all rows."""
    groups = compute_report_rows(results)
    lines = [
        f"### {name}",
        "",
        *(f"{line}  " for line in describe_run(results)),
        _summarize_limits(groups),
        "",
    ]
    compared_systems = list(
        dict.fromkeys(name for rows in groups.values() for row in rows for name in row.comparison_values)
    )
    lines += [
        _format_row(["", "Docyard", *compared_systems, "must be", ""]),
        _format_row(["---"] * (len(compared_systems) + 4)),
    ]
    for group, rows in groups.items():
        lines.append(_format_row([f"**{group}**", *[""] * (len(compared_systems) + 3)]))
        for row in rows:
            cells = [
                row.name.strip(),
                format_value(row),
                *(format_comparison(row, system) for system in compared_systems),
            ]
            lines.append(_format_row([*cells, format_limit(row), _bold_if_upper(VERDICTS[row.is_met])]))
    lines += ["", _describe_equal_lists(results)]
    return "\n".join(lines).rstrip()


def format_growth(growth: Results, *, has_plot: bool) -> str:
    """Return the section of growth, with a row for each size."""
    columns = [
        "",
        "sections",
        "Markdown",
        "build",
        "peak memory",
        "index",
        "query p50",
        "query p95",
        "edit p50",
    ]
    lines = [
        "### Growth",
        "",
        f"{growth['machine']}; built with at most {growth['processes']} processes.",
        "",
    ]
    if has_plot:
        lines += ["![Build time, memory, query and edit time by the number of sections](growth.svg)", ""]
    lines += [_format_row(columns), _format_row(["---"] * len(columns))]
    for point in growth["points"]:
        cells = [
            point["name"],
            f"{point['sections']:,}",
            f"{format_number(point['bytes'] / 1e6)} MB",
            f"{format_number(point['build_s'])} s",
            f"{format_number(point['peak_mb'])} MB",
            f"{format_number(point['index_bytes'] / 1e6)} MB",
            *(f"{format_number(point[key])} ms" for key in ("query_p50_ms", "query_p95_ms", "edit_p50_ms")),
        ]
        lines.append(_format_row(cells))
    return "\n".join(lines)


def format_nodes(nodes: Results, *, has_plot: bool) -> str:
    """Return the section of an index that nodes share, with a row for each size."""
    columns = [
        "sections",
        "Markdown",
        "build",
        "index",
        "first question of a new node",
        "each question once, p50",
        "p95",
        "warm p50",
        "memory of a node",
        "a commit indexed",
        "found by another node",
    ]
    lines = ["### An index that nodes share in PostgreSQL", "", f"{nodes['machine']}.", ""]
    if has_plot:
        lines += ["![Build time, memory of a node, query and commit time by sections](nodes.svg)", ""]
    lines += [_format_row(columns), _format_row(["---"] * len(columns))]
    for point in nodes["points"]:
        cells = [
            f"{point['sections']:,}",
            f"{format_number(point['markdown_bytes'] / 1e6)} MB",
            f"{format_number(point['build_s'])} s",
            f"{format_number(point['index_bytes'] / 1e6)} MB",
            f"{format_number(point['first_ms'])} ms",
            *(f"{format_number(point[key])} ms" for key in ("query_p50_ms", "query_p95_ms", "warm_p50_ms")),
            f"{format_number(point['resident_mb'])} MB",
            *(f"{format_number(point[key])} ms" for key in ("index_commit_p50_ms", "visible_p50_ms")),
        ]
        lines.append(_format_row(cells))
    return "\n".join(lines)


def _get_corpus_bytes(run: tuple[str, Results]) -> int:
    return int(run[1]["corpus"]["bytes"])


def _summarize_limits(groups: Mapping[str, Sequence[ReportRow]]) -> str:
    rows_with_limit = [row for rows in groups.values() for row in rows if row.limit is not None]
    missed_names = [row.name.strip() for row in rows_with_limit if row.is_met is False]
    unmeasured_names = [row.name.strip() for row in rows_with_limit if row.is_met is None]
    text = f"{sum(row.is_met is True for row in rows_with_limit)} of {len(rows_with_limit)} limits met"
    if missed_names:
        text += f". Missed: {'; '.join(missed_names)}"
    if unmeasured_names:
        text += f". Not measured: {'; '.join(unmeasured_names)}"
    return text + "."


def _describe_equal_lists(results: Results) -> str:
    count = sum(results.get(name, {}).get("equal_list_count", 0) for name in ("queries", "edits", "artifact"))
    return f"{count:,} result lists were equal to those of other processes and builds." if count else ""


def _bold_if_upper(text: str) -> str:
    return f"**{text}**" if text.isupper() else text


def _format_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(write_page())
