"""Measurements over a folder of Markdown, beside SQLite FTS5 and, where it is installed, tantivy.

python -m benchmarks FOLDER [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks import fts5, startup, tantivy
from benchmarks.child import MeasurementFailed, environment, measure
from benchmarks.corpus import Corpus, TooSmall, draw_queries, make_repository
from benchmarks.figures import about, figures
from benchmarks.report import figures_table

QUERIES = 200
EDITS = 50
STAGES = 10


def run(root: Path, stage: Callable[[str], None]) -> dict[str, Any]:
    """What was measured, by subject. Everything that was made for it is removed."""
    with tempfile.TemporaryDirectory(prefix="docyard-bench-") as folder:
        home = Path(folder)
        os.environ.update(environment(home))
        repository = home / "repository"
        results: dict[str, Any] = {}

        stage("Reading the corpus")
        corpus = Corpus.read(root)
        texts = list(corpus.texts())
        drawn = draw_queries(texts, QUERIES)
        queries = [" ".join(words) for words in drawn]
        results["corpus"] = {"files": len(corpus.documents), "bytes": corpus.size, "sections": len(texts)}
        stage("Making a repository")
        make_repository(corpus, repository)
        stage("SQLite FTS5")
        results["beside"] = {"FTS5": fts5.measure(texts, drawn, home)}
        if tantivy.is_installed():
            stage("tantivy")
            results["beside"]["tantivy"] = tantivy.measure(texts, drawn, home)
        del texts, corpus
        stage("Full index")
        results["index"] = measure("indexing", home, repository=repository)
        stage("Queries")
        results["query"] = measure("querying", home, repository=repository, queries=queries)
        stage("Starting servers")
        results["start"] = startup.measure_start(repository, home)
        results["definitions_bytes"] = startup.definitions_bytes(repository)
        stage("Round trips over stdio")
        results["trips"] = startup.measure_round_trips(repository, home, queries)
        stage("Edits")
        for name, durable in (("edit", False), ("durable_edit", True)):
            results[name] = measure("editing", home, repository=repository, count=EDITS, durable=durable)
        stage("A work tree of 10,000 files")
        results["checkout"] = measure("checkout", home, folder=home, count=EDITS)
    return results


@contextmanager
def _stages() -> Iterator[Callable[[str], None]]:
    """A bar with the name of what is going on, where a person is looking."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=STAGES)
        yield lambda name: bar.update(task, advance=1, description=name)


def main() -> int:
    """Measures and prints a table; returns 1 if a target was missed, 2 if nothing could be measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measurements over a folder of Markdown, beside SQLite FTS5 (and tantivy, if installed).",
    )
    parser.add_argument("folder", type=Path, help="a folder of Markdown")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was measured there too")
    arguments = parser.parse_args()
    if not any(arguments.folder.rglob("*.md")):
        print(f"There is no *.md file in {arguments.folder}.", file=sys.stderr)
        return 2
    try:
        with _stages() as stage:
            results = run(arguments.folder, stage)
    except (TooSmall, MeasurementFailed) as error:
        print(error, file=sys.stderr)
        return 2
    found = figures(results)
    print("\n".join(about(results)), end="\n\n")
    print(figures_table(found))
    if arguments.json:
        data = {"about": about(results), "figures": [one.as_data() for one in found], "measured": results}
        arguments.json.write_text(json.dumps(data, indent=2) + "\n")
    return 1 if any(figure.is_met is False for figure in found) else 0


if __name__ == "__main__":
    sys.exit(main())
