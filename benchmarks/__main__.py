"""Measurements over a folder of Markdown, beside SQLite FTS5 and, where it is installed, tantivy.

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
from benchmarks.reports.page import keep, write
from benchmarks.reports.report import figures_table
from benchmarks.search.lists import ListsDiffer
from benchmarks.stages import STAGES, Bench


def run(root: Path, stages: Sequence[str], tell: Callable[[str], None]) -> dict[str, Any]:
    """Return what was measured, by subject. Everything that was made for it is removed.

    Raises TooSmall, MeasurementFailed, ListsDiffer.
    """
    with tempfile.TemporaryDirectory(prefix="docyard-bench-") as folder:
        home = Path(folder)
        os.environ.update(environment(home))
        tell("Making a repository")
        bench = Bench.of(Corpus.read(root), home)
        results = bench.about() | {"took_s": {}}
        for name in stages:
            title, stage = STAGES[name]
            tell(title)
            start = time.perf_counter()
            results |= stage(bench)
            results["took_s"][name] = round(time.perf_counter() - start, 1)
    return results


@contextmanager
def _progress(steps: int) -> Iterator[Callable[[str], None]]:
    """A bar with the name of what is going on, where a person is looking; else a line for each stage."""
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
    """Measure and prints a table; returns 1 if a limit was missed, 2 if nothing could be measured.

    A whole run is kept, and benchmarks/RESULTS.md is written again with it.
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measurements over a folder of Markdown, beside SQLite FTS5 (and tantivy, if installed).",
    )
    parser.add_argument("folder", type=Path, help="a folder of Markdown")
    parser.add_argument("--only", type=_stages, metavar="STAGES", help=f"some of {','.join(STAGES)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was measured there too")
    arguments = parser.parse_args(words)
    if not any(arguments.folder.rglob("*.md")):
        print(f"There is no *.md file in {arguments.folder}.", file=sys.stderr)
        return 2
    stages = arguments.only or list(STAGES)
    try:
        with _progress(len(stages) + 1) as tell:
            results = run(arguments.folder, stages, tell)
    except (TooSmall, MeasurementFailed, ListsDiffer) as error:
        print(error, file=sys.stderr)
        return 2
    found = without_gaps(figures(results)) if arguments.only else figures(results)
    print("\n".join(about(results)), end="\n\n")
    print(figures_table(found))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    if not arguments.only:
        keep(results, arguments.folder)
        print(f"\n{write()} is written anew.")
    return 1 if any(figure.is_met is False for group in found.values() for figure in group) else 0


if __name__ == "__main__":
    sys.exit(main())
