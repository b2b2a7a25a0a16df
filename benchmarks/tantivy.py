"""tantivy beside us, where it is installed: from sections that are ready, with its English stemmer."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.corpus import Text
from benchmarks.timing import seconds, spread, warm_seconds

PAGE = 10


def is_installed() -> bool:
    """Whether there is a tantivy to measure."""
    return find_spec("tantivy") is not None


def measure(texts: Sequence[Text], queries: Sequence[Sequence[str]], folder: Path) -> dict[str, Any]:
    """Seconds to build, the bytes of the index, and queries."""
    import tantivy

    place = folder / "tantivy"
    place.mkdir()
    schema = (
        tantivy.SchemaBuilder()
        .add_text_field("id", stored=True, tokenizer_name="raw")
        .add_text_field("title", tokenizer_name="en_stem")
        .add_text_field("body", tokenizer_name="en_stem")
        .build()
    )
    index = tantivy.Index(schema, path=str(place))

    def build() -> None:
        writer = index.writer(num_threads=1)
        for text in texts:
            writer.add_document(tantivy.Document(id=text.id, title=text.title, body=text.body))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()

    built = seconds(build)
    searcher = index.searcher()

    def search(query: Sequence[str]) -> list[str]:
        hits = searcher.search(index.parse_query(" OR ".join(query), ["title", "body"]), PAGE).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]

    times = warm_seconds(search, queries)
    size = sum(file.stat().st_size for file in place.iterdir())
    return {"seconds": built, "bytes": size, "query": spread(times)}
