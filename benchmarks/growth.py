"""Time, memory and index size for three corpora: a small one, a large one, and three copies of the large.

python -m benchmarks.growth SMALL LARGE

Stores the results, rewrites the measured part of benchmarks/RESULTS.md, and draws growth.svg if matplotlib
is installed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.child import make_child_environment, measure
from benchmarks.corpus import Corpus
from benchmarks.reports import page
from benchmarks.reports.growth_report import report_growth
from benchmarks.search import full_index
from benchmarks.stages import BenchmarkContext

COPY_COUNT = 3
EDIT_COUNT = 30


def multiply_corpus(corpus: Corpus, copies: int) -> Corpus:
    """Return `copies` copies of a corpus, each in its own folder. The copies of a file differ."""
    return Corpus(
        {
            f"copy{number}/{path}": data + f"\n\nThis is in copy {number} only.\n".encode()
            for number in range(1, copies + 1)
            for path, data in corpus.documents.items()
        }
    )


def measure_point(name: str, corpus: Corpus) -> dict[str, Any]:
    """Measure the time, memory and index size of a build, and the times of queries and edits."""
    with tempfile.TemporaryDirectory(prefix="docyard-growth-") as folder:
        home = Path(folder)
        os.environ.update(make_child_environment(home))
        bench = BenchmarkContext.create(corpus, home)
        processes = max(full_index.PROCESS_COUNTS)
        index_folder = home / "index"
        build = measure(
            "search.full_index", home, repository=bench.repository, processes=processes, folder=index_folder
        )
        query = bench.measure("search.queries", queries=bench.queries)["top_ten"]
        edit = bench.measure("documents.edits", count=EDIT_COUNT, durable=False, queries=[])[
            "edit_and_search"
        ]
    return {
        "name": name,
        **bench.corpus_counts,
        "build_s": build["seconds"],
        "peak_mb": build["peak_mb"],
        "index_bytes": build["bytes"],
        "query_p50_ms": query["p50_ms"],
        "query_p95_ms": query["p95_ms"],
        "edit_p50_ms": edit["p50_ms"],
    }


def measure_points(small: Path, large: Path) -> Iterator[dict[str, Any]]:
    """Yield the measurements of the three sizes in ascending order.

    Raises CorpusTooSmall, MeasurementFailed.
    """
    yield measure_point("small", Corpus.read(small))
    corpus = Corpus.read(large)
    yield measure_point("large", corpus)
    yield measure_point(f"large, {COPY_COUNT} times", multiply_corpus(corpus, COPY_COUNT))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, store and plot; return 2 if a corpus is too small or a measurement failed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.growth",
        description="Build time, memory, index size, query and edit time of three sizes of corpus.",
    )
    parser.add_argument("small", type=Path, help="a folder of Markdown")
    parser.add_argument(
        "large", type=Path, help="a larger folder of Markdown; three copies of it are measured too"
    )
    folders = parser.parse_args(arguments)
    points = measure_points(folders.small, folders.large)
    return report_growth(page.GROWTH_NAME, points, processes=max(full_index.PROCESS_COUNTS))


if __name__ == "__main__":
    sys.exit(main())
