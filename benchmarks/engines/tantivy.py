"""tantivy for comparison, if installed: it indexes five fields of each section, with its English stemmer."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.corpus import SectionText
from benchmarks.timing import compute_p50_p95_ms, measure_seconds, measure_warm_seconds

PAGE_SIZE = 10
BUILD_COUNT = 3
FIELDS = ("title", "headings", "body", "path", "tags")


def is_installed() -> bool:
    """Return True if tantivy is installed."""
    return find_spec("tantivy") is not None


def measure(
    section_texts: Sequence[SectionText], queries: Sequence[Sequence[str]], folder: Path
) -> dict[str, Any]:
    """Measure the build, the size of the index in bytes, and queries over all fields."""
    import tantivy

    builder = tantivy.SchemaBuilder().add_text_field("id", stored=True, tokenizer_name="raw")
    for field in FIELDS:
        builder = builder.add_text_field(field, tokenizer_name="en_stem")
    schema = builder.build()

    def build() -> None:
        writer = index.writer(num_threads=1)
        for section_text in section_texts:
            writer.add_document(tantivy.Document(**section_text._asdict()))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()

    def search(query: Sequence[str]) -> list[str]:
        hits = searcher.search(index.parse_query(" OR ".join(query), list(FIELDS)), PAGE_SIZE).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]

    build_times = []
    for number in range(BUILD_COUNT):
        index_folder = folder / f"tantivy-{number}"
        index_folder.mkdir()
        index = tantivy.Index(schema, path=str(index_folder))
        build_times.append(measure_seconds(build))
    searcher = index.searcher()
    times = measure_warm_seconds(search, queries)
    size = sum(file.stat().st_size for file in index_folder.iterdir())
    return {"seconds": median(build_times), "bytes": size, "query": compute_p50_p95_ms(times)}
