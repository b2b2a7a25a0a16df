"""Measurements over a folder of Markdown, compared with SQLite FTS5 and, if installed, tantivy.

python -m benchmarks FOLDER [--only STAGE,STAGE] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks.child import MeasurementFailed, make_child_environment
from benchmarks.corpus import Corpus, CorpusTooSmall
from benchmarks.reports.page import store_results, write_page
from benchmarks.reports.report import format_report_table
from benchmarks.reports.report_rows import compute_report_rows, describe_run, select_measured_rows
from benchmarks.search.result_lists import ResultListsDiffer
from benchmarks.stages import STAGES, BenchmarkContext


def run(root: Path, stages: Sequence[str], report_stage: Callable[[str], None]) -> dict[str, Any]:
    """Run the stages and return the measurements by subject. Remove all temporary files.

    The environment variables of `make_child_environment` are set in this process too.

    Raises CorpusTooSmall, MeasurementFailed, ResultListsDiffer.
    """
    with tempfile.TemporaryDirectory(prefix="docyard-bench-") as folder:
        home = Path(folder)
        os.environ.update(make_child_environment(home))
        report_stage("Making a repository")
        bench = BenchmarkContext.create(Corpus.read(root), home)
        results = bench.describe() | {"stage_seconds": {}}
        for name in stages:
            title, stage = STAGES[name]
            report_stage(title)
            start = time.perf_counter()
            results |= stage(bench)
            results["stage_seconds"][name] = round(time.perf_counter() - start, 1)
    return results


@contextmanager
def _show_progress(steps: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the title of the current stage: in a bar on a terminal, else as a line."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda title: print(f"{title} …", file=sys.stderr, flush=True)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=steps)
        yield lambda title: bar.update(task, advance=1, description=title)


def _parse_stages(text: str) -> list[str]:
    names = text.split(",")
    unknown_names = [name for name in names if name not in STAGES]
    if unknown_names:
        raise argparse.ArgumentTypeError(
            f"unknown stage {unknown_names[0]!r}; the stages are {', '.join(STAGES)}"
        )
    return [name for name in STAGES if name in names]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table; return 1 if a limit was missed, 2 if there is no table.

    No table is printed if the folder has too little Markdown, a measurement failed, or result lists differ.
    Store the results of a run without `--only`, and rewrite benchmarks/RESULTS.md from all stored results.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measurements over a folder of Markdown, compared with SQLite FTS5 (and tantivy).",
    )
    parser.add_argument("folder", type=Path, help="a folder of Markdown")
    parser.add_argument(
        "--only", type=_parse_stages, metavar="STAGES", help=f"stages to run, of {','.join(STAGES)}"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all measurements to this file")
    options = parser.parse_args(arguments)
    if not any(options.folder.rglob("*.md")):
        print(f"{options.folder} contains no *.md file.", file=sys.stderr)
        return 2
    stages = options.only or list(STAGES)
    try:
        with _show_progress(len(stages) + 1) as report_stage:
            results = run(options.folder, stages, report_stage)
    except (CorpusTooSmall, MeasurementFailed, ResultListsDiffer) as error:
        print(error, file=sys.stderr)
        return 2
    groups = (
        select_measured_rows(compute_report_rows(results)) if options.only else compute_report_rows(results)
    )
    print("\n".join(describe_run(results)), end="\n\n")
    print(format_report_table(groups))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if not options.only:
        store_results(results, options.folder)
        print(f"\nRewrote {write_page()}.")
    return 1 if any(row.is_met is False for rows in groups.values() for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
