"""tantivy for comparison, if installed: given sections, five fields, its English stemmer."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.corpus import Text
from benchmarks.timing import seconds, spread, warm_seconds

PAGE = 10
BUILDS = 3
FIELDS = ("title", "headings", "body", "path", "tags")


def is_installed() -> bool:
    """Return True if tantivy is installed."""
    return find_spec("tantivy") is not None


def measure(texts: Sequence[Text], queries: Sequence[Sequence[str]], folder: Path) -> dict[str, Any]:
    """Measure the build, the bytes of the index, and queries over all fields."""
    import tantivy

    builder = tantivy.SchemaBuilder().add_text_field("id", stored=True, tokenizer_name="raw")
    for field in FIELDS:
        builder = builder.add_text_field(field, tokenizer_name="en_stem")
    schema = builder.build()

    def build() -> None:
        writer = index.writer(num_threads=1)
        for text in texts:
            writer.add_document(tantivy.Document(**text._asdict()))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()

    def search(query: Sequence[str]) -> list[str]:
        hits = searcher.search(index.parse_query(" OR ".join(query), list(FIELDS)), PAGE).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]

    builds = []
    for number in range(BUILDS):
        place = folder / f"tantivy-{number}"
        place.mkdir()
        index = tantivy.Index(schema, path=str(place))
        builds.append(seconds(build))
    searcher = index.searcher()
    times = warm_seconds(search, queries)
    size = sum(file.stat().st_size for file in place.iterdir())
    return {"seconds": median(builds), "bytes": size, "query": spread(times)}
