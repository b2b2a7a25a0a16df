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

from benchmarks.child import MeasurementFailed, environment
from benchmarks.corpus import Corpus, TooSmall
from benchmarks.reports.figures import about, figures, without_gaps
from benchmarks.reports.page import store_results, write
from benchmarks.reports.report import figures_table
from benchmarks.search.lists import ListsDiffer
from benchmarks.stages import STAGES, Bench


def run(root: Path, stages: Sequence[str], report_stage: Callable[[str], None]) -> dict[str, Any]:
    """Return the measurements by subject. All temporary files are removed.

    Raises TooSmall, MeasurementFailed, ListsDiffer.
    """
    with tempfile.TemporaryDirectory(prefix="docyard-bench-") as folder:
        home = Path(folder)
        os.environ.update(environment(home))
        report_stage("Making a repository")
        bench = Bench.of(Corpus.read(root), home)
        results = bench.about() | {"took_s": {}}
        for name in stages:
            title, stage = STAGES[name]
            report_stage(title)
            start = time.perf_counter()
            results |= stage(bench)
            results["took_s"][name] = round(time.perf_counter() - start, 1)
    return results


@contextmanager
def _progress(steps: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the current stage: in a bar on a terminal, else as a line."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda name: print(f"{name} …", file=sys.stderr, flush=True)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=steps)
        yield lambda name: bar.update(task, advance=1, description=name)


def _stages(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in STAGES]
    if unknown:
        raise argparse.ArgumentTypeError(f"no stage {unknown[0]!r}; there are {', '.join(STAGES)}")
    return [name for name in STAGES if name in names]


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print a table; return 1 if a limit was missed, 2 if nothing could be measured.

    The results of a whole run are stored, and benchmarks/RESULTS.md is rewritten from them.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measurements over a folder of Markdown, compared with SQLite FTS5 (and tantivy).",
    )
    parser.add_argument("folder", type=Path, help="a folder of Markdown")
    parser.add_argument("--only", type=_stages, metavar="STAGES", help=f"some of {','.join(STAGES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all measurements to this file")
    arguments = parser.parse_args(words)
    if not any(arguments.folder.rglob("*.md")):
        print(f"There is no *.md file in {arguments.folder}.", file=sys.stderr)
        return 2
    stages = arguments.only or list(STAGES)
    try:
        with _progress(len(stages) + 1) as report_stage:
            results = run(arguments.folder, stages, report_stage)
    except (TooSmall, MeasurementFailed, ListsDiffer) as error:
        print(error, file=sys.stderr)
        return 2
    found = without_gaps(figures(results)) if arguments.only else figures(results)
    print("\n".join(about(results)), end="\n\n")
    print(figures_table(found))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    if not arguments.only:
        store_results(results, arguments.folder)
        print(f"\n{write()} was rewritten.")
    return 1 if any(figure.is_met is False for group in found.values() for figure in group) else 0


if __name__ == "__main__":
    sys.exit(main())
