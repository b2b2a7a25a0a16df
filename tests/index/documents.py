"""Indexed documents for tests: with given texts, or random ones with many equal scores."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from random import Random

from index.analysis.terms import extract_token_terms
from index.building.inversion import Inversion
from index.documents import IndexedDocument
from index.phrases import can_be_scored
from index.port import Query, State
from index.segments.generation import IndexSnapshot, SegmentReader
from index.segments.merge import merge_segments
from index.segments.segment import Segment, TableBuilder
from index.whoosh_engine.flat_index import CodecReader, FlatIndex
from workspace.config.taxonomy import BUILT_IN_KEYS, Taxonomy
from workspace.document.document import Document

WORDS = ("alpha", "beta", "gamma", "delta", "omega", "RateLimitError", "snake_case", "the")
PATHS = ("a.md", "b.md", "docs/a.md", "docs/b.md", "docs/deep/a.md", "docs-b.md", "docs0.md", "é/[x].md")
TYPES = ("guide", "note")
TAGS = ("network", "sdk", "é")

TERMS = (*dict.fromkeys(term for word in WORDS for term in extract_token_terms(word)), "rare1", "nowhere")
PATH_FILTERS = (
    "docs",
    "docs/",
    "docs/a.md",
    "d*",
    "*/a.md",
    "docs/deep",
    "é/[x].md",
    "[é]/*",
    "none",
    "/",
    "**/a.md",
    "d*/deep",
)


def make_document(
    path: str, text: str, *, type: str | None = None, tags: Iterable[str] = ()
) -> IndexedDocument:
    """Return a document of a Markdown text; `type` and `tags` are written to its front matter."""
    lines = [f"type: {type}"] if type else []
    if tags := tuple(tags):
        lines.append(f"tags: [{', '.join(tags)}]")
    if lines:
        text = "\n".join(("---", *lines, "---", text))
    document = Document.parse(text.encode(), path)
    facets = Taxonomy(dict.fromkeys(BUILT_IN_KEYS), {}.get).values(path, document.front_matter)
    return IndexedDocument.of(document, hashlib.sha1(document.data).hexdigest(), facets)


def make_segment(documents: Iterable[IndexedDocument]) -> Segment:
    """Return a segment in memory of documents in any order."""
    inversion, tables = Inversion(), TableBuilder()
    for document in sorted(documents, key=lambda document: document.path):
        inversion.add(document)
        tables.add(document)
    return Segment.of(tables.arrays(), inversion.finish())


class GrowingIndex:
    """An index: its live documents, and its segments, which contain live and deleted documents."""

    def __init__(self) -> None:
        self.documents: dict[str, IndexedDocument] = {}
        self.segment_readers: tuple[SegmentReader, ...] = ()

    def change(self, upserts: Iterable[IndexedDocument] = (), deletes: Iterable[str] = ()) -> None:
        """Replace and remove documents as one commit does; the new documents are in a separate segment."""
        new_documents = {document.path: document for document in upserts}
        removed_paths = {*new_documents, *deletes}
        self.segment_readers = tuple(
            segment_reader.with_dead_documents(
                number for path in removed_paths if (number := segment_reader.find(path)) is not None
            )
            for segment_reader in self.segment_readers
        )
        if new_documents:
            self.segment_readers += (SegmentReader.of(make_segment(new_documents.values())),)
        self.documents = {
            path: document for path, document in self.documents.items() if path not in removed_paths
        } | new_documents

    def merge(self, selection: slice) -> None:
        """Merge adjacent segments."""
        segment_readers = list(self.segment_readers)
        if segment_readers[selection]:
            segment_readers[selection] = [SegmentReader.of(merge_segments(segment_readers[selection]))]
        self.segment_readers = tuple(segment_readers)


def open_section_reader(segment_readers: Sequence[SegmentReader]) -> CodecReader:
    """Return the reader of the sections of segments, as an engine opens it."""
    state = State(None, 0, sum(segment_reader.size for segment_reader in segment_readers), 0, "")
    return CodecReader(FlatIndex(IndexSnapshot(0, state, tuple(segment_readers))).reader())


def make_random_document(rng: Random, path: str, section_count: int) -> IndexedDocument:
    """Return a document whose sections have a few words each; most words are frequent, some are rare."""
    lines = [f"# {' '.join(rng.choices(WORDS, k=rng.randint(1, 3)))}"] if rng.random() < 0.9 else []
    for _ in range(section_count):
        depth = rng.choice(("##", "###"))
        lines += [
            "",
            f"{depth} {rng.choice(WORDS)}",
            "",
            *(_choose_random_word(rng) for _ in range(rng.randrange(8))),
        ]
    tags = rng.sample(TAGS, rng.randrange(3))
    return make_document(path, "\n".join(lines), type=rng.choice((None, *TYPES)), tags=tags)


def _choose_random_word(rng: Random) -> str:
    return rng.choice(WORDS) if rng.random() < 0.8 else f"rare{rng.randrange(40)}"


def make_random_query(rng: Random) -> Query:
    words = rng.sample(TERMS, rng.randint(1, 5))
    filters = {}
    if rng.random() < 0.15:
        filters["type"] = rng.choice(TYPES)
    if rng.random() < 0.15:
        filters["tags"] = rng.choice(TAGS)
    phrases = tuple(tuple(rng.choices(WORDS, k=rng.randint(1, 3))) for _ in range(rng.random() < 0.2))
    scored_phrases = (
        tuple(rng.choices(WORDS, k=rng.randint(1, 2))) for _ in range(rng.choice((0, 0, 0, 1, 2)))
    )
    return Query(
        {word: rng.choice((1, 1, 1, 2, 7)) for word in words},
        excluded=tuple(rng.choices(TERMS, k=rng.random() < 0.2)),
        phrases=phrases,
        filters=filters,
        path=rng.choice(PATH_FILTERS) if rng.random() < 0.25 else None,
        phrases_first=bool(phrases) and rng.random() < 0.5,
        scored_phrases=tuple(filter(can_be_scored, scored_phrases)),
        name_parts=frozenset(rng.sample(words, rng.randint(0, len(words)))),
    )
