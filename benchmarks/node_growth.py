"""Growth of an index that nodes share in PostgreSQL, to about 3 million sections.

python -m benchmarks.node_growth LARGE

Each size is a number of copies of the corpus, in which half of the longer words are changed, so that both the
vocabulary and the lists of sections grow. The questions are those of one copy. A new process downloads the
index, and answers each question once. Stores the results, and draws nodes.svg if matplotlib is installed.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from benchmarks.child import measure
from benchmarks.corpus import Corpus, draw_queries, make_repository
from benchmarks.engines import postgres
from benchmarks.reports import page, plot
from benchmarks.reports.growth_report import report_growth
from benchmarks.stages import QUERY_COUNT

COPY_COUNTS = (1, 5, 10, 19)
COMMIT_COUNT = 10
_FRONT_MATTER = re.compile(rb"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
_LONG_WORD = re.compile(rb"[A-Za-z]{4,}")


def copy_corpus(corpus: Corpus, copies: int) -> Corpus:
    """Return copies of a corpus, each in a folder: the first as it is, the others with changed words."""
    return Corpus(
        {
            f"copy{number}/{path}": change_words(data, number) if number else data
            for number in range(copies)
            for path, data in corpus.documents.items()
        }
    )


def change_words(data: bytes, number: int) -> bytes:
    """Append letters of the number to half of the words of four and more letters, after the front matter.

    A word is changed everywhere in a copy or nowhere; another copy changes other words.
    """
    suffix = b"zq" + bytes(ord("a") + int(digit) for digit in str(number))
    front_matter = _FRONT_MATTER.match(data)
    start = front_matter.end() if front_matter else 0

    def change(match: re.Match[bytes]) -> bytes:
        word = match[0]
        return word + suffix if crc32(word.lower(), number) & 1 else word

    return data[:start] + _LONG_WORD.sub(change, data[start:])


def measure_point(corpus: Corpus, copies: int, queries: Sequence[str]) -> dict[str, Any]:
    """Measure the build of one size, a new node, and commits that a second node finds."""
    with (
        tempfile.TemporaryDirectory(prefix="docyard-nodes-") as home,
        postgres.run_server() as url,
    ):
        folder = Path(home)
        repository = folder / "repository"
        copied = copy_corpus(corpus, copies)
        make_repository(copied, repository)
        counts = {"files": len(copied.documents), "markdown_bytes": copied.size}
        del copied

        def measure_step(step: str, **arguments: Any) -> dict[str, Any]:
            return measure(
                "search.shared_index",
                folder,
                repository=repository,
                url=url,
                folder=folder / step,
                step=step,
                **arguments,
            )

        build = measure_step("build")
        node = measure_step("new_node", queries=queries)
        commits = measure_step("commits", commit_count=COMMIT_COUNT)
    return {
        "copies": copies,
        **counts,
        "sections": build["sections"],
        "build_s": build["build_s"],
        "build_peak_mb": build["peak_mb"],
        "index_bytes": build["bytes"],
        "first_ms": node["first_ms"],
        "query_p50_ms": node["once"]["p50_ms"],
        "query_p95_ms": node["once"]["p95_ms"],
        "warm_p50_ms": node["warm"]["p50_ms"],
        "warm_p95_ms": node["warm"]["p95_ms"],
        "resident_mb": node["resident_mb"],
        "index_commit_p50_ms": commits["index_commit"]["p50_ms"],
        "visible_p50_ms": commits["visible"]["p50_ms"],
    }


def measure_points(folder: Path, copy_counts: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the measurements of each size. Raises CorpusTooSmall, MeasurementFailed."""
    corpus = Corpus.read(folder)
    words = draw_queries(list(corpus.read_section_texts()), QUERY_COUNT)
    queries = [" ".join(query) for query in words]
    for copies in copy_counts:
        yield measure_point(corpus, copies, queries)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, store and plot; return 2 if the corpus is too small or a measurement failed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.node_growth",
        description="An index that nodes share, from one copy of a corpus to many.",
    )
    parser.add_argument("corpus", type=Path, help="a folder of Markdown")
    parser.add_argument("--copies", type=int, nargs="+", default=COPY_COUNTS, help="the sizes, in copies")
    options = parser.parse_args(arguments)
    points = measure_points(options.corpus, options.copies)
    return report_growth(page.NODES_NAME, points, plot.NODE_PANELS)


if __name__ == "__main__":
    sys.exit(main())
