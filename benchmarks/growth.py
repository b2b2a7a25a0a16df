"""Growth of time, memory and index with a corpus: small, large, and large three times.

python -m benchmarks.growth SMALL LARGE     stores and plots it, and writes benchmarks/RESULTS.md
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.child import MeasurementFailed, environment, measure
from benchmarks.corpus import Corpus, TooSmall
from benchmarks.reports import page, plot
from benchmarks.reports.figures import machine
from benchmarks.search import full_index
from benchmarks.stages import Bench

COPIES = 3
EDITS = 30


def several(corpus: Corpus, copies: int) -> Corpus:
    """Return `copies` of a corpus, each in its own folder, without two files of the same bytes."""
    return Corpus(
        {
            f"copy{number}/{path}": data + f"\n\nThis is in copy {number} only.\n".encode()
            for number in range(1, copies + 1)
            for path, data in corpus.documents.items()
        }
    )


def point(name: str, corpus: Corpus) -> dict[str, Any]:
    """Measure a corpus: seconds, MB, bytes and milliseconds."""
    with tempfile.TemporaryDirectory(prefix="docyard-growth-") as folder:
        home = Path(folder)
        os.environ.update(environment(home))
        bench = Bench.of(corpus, home)
        processes = max(full_index.PROCESSES)
        place = home / "index"
        built = measure(
            "search.full_index", home, repository=bench.repository, processes=processes, folder=place
        )
        query = bench.measure("search.queries", queries=bench.queries)["best"]
        edit = bench.measure("documents.edits", count=EDITS, durable=False, queries=[])["whole"]
    return {
        "name": name,
        **bench.corpus,
        "build_s": built["seconds"],
        "peak_mb": built["peak_mb"],
        "index_bytes": built["bytes"],
        "query_p50_ms": query["p50_ms"],
        "query_p95_ms": query["p95_ms"],
        "edit_p50_ms": edit["p50_ms"],
    }


def points(small: Path, large: Path) -> Iterator[dict[str, Any]]:
    """Yield the three sizes, the smallest first. Raises TooSmall, MeasurementFailed."""
    yield point("small", Corpus.read(small))
    corpus = Corpus.read(large)
    yield point("large", corpus)
    yield point(f"large, {COPIES} times", several(corpus, COPIES))


def main(words: Sequence[str] | None = None) -> int:
    """Measure, store and plot; return 2 if nothing could be measured."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth",
        description="Build time, memory, index size, query and edit time of three sizes of corpus.",
    )
    parser.add_argument("small", type=Path, help="a folder of Markdown")
    parser.add_argument("large", type=Path, help="a larger one, which is also measured three times over")
    folders = parser.parse_args(words)
    found = []
    try:
        for one in points(folders.small, folders.large):
            print(json.dumps(one), flush=True)
            found.append(one)
    except (TooSmall, MeasurementFailed) as error:
        print(error, file=sys.stderr)
        return 2
    results = {"machine": machine(), "processes": max(full_index.PROCESSES), "points": found}
    page.RESULTS_FOLDER.mkdir(exist_ok=True)
    (page.RESULTS_FOLDER / f"{page.GROWTH}.json").write_text(json.dumps(results, indent=1) + "\n")
    if plot.is_installed():
        plot.draw(found, page.PAGE.parent / "growth.svg")
    print(f"{page.write()} was rewritten.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
