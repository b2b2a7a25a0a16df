"""One generation of an index as a Whoosh index, with a reader for each segment.

Whoosh's `FileIndex` unpickles a table of contents. `FlatIndex` is given the segments that
`index.segments.store` has opened and verified, and unpickles nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whoosh.index import Index
from whoosh.reading import EmptyReader, IndexReader, MultiReader, TermNotFound
from whoosh.reading import SegmentReader as WhooshReader

from index.documents import SectionRecord
from index.segments.arrays import encode
from index.segments.segment import NO_POSTINGS
from index.whoosh_engine.codec import RECORD_FIELD, TEXT_FIELD, FlatSegment, make_field_name, make_schema

if TYPE_CHECKING:
    from whoosh.fields import Schema

    from index.segments.generation import IndexSnapshot
    from index.segments.segment import PostingArrays, Segment
    from index.whoosh_engine.codec import FlatTermsReader


class FlatIndex(Index):  # type: ignore[misc]
    """A Whoosh index of one generation. It is read-only and never changes."""

    def __init__(self, generation: IndexSnapshot) -> None:
        self._generation = generation

    @property
    def schema(self) -> Schema:
        """The fields of the index."""
        return make_schema()

    def is_empty(self) -> bool:
        return not self._generation.segment_readers

    def latest_generation(self) -> int:
        return self._generation.number

    def reader(self, reuse: object = None) -> IndexReader:
        """Return a reader of all segments; `reuse` is ignored, because a reader opens no files."""
        number = self._generation.number
        readers = [
            WhooshReader(None, self.schema, FlatSegment(segment_reader), generation=number)
            for segment_reader in self._generation.segment_readers
        ]
        return MultiReader(readers, generation=number) if readers else EmptyReader(self.schema)


class CodecReader:
    """A reader of the sections of one generation for `index.ranking`, on top of Whoosh's readers."""

    def __init__(self, reader: IndexReader) -> None:
        leaves = [leaf for leaf, _ in reader.leaf_readers()] if reader.doc_count_all() else []
        self.segment_readers = tuple(leaf.segment().segment_reader for leaf in leaves)
        self.count = int(reader.doc_count())
        self.length = int(reader.field_length(TEXT_FIELD))
        self._leaves: dict[str, WhooshReader] = {
            segment_reader.segment.id: leaf
            for segment_reader, leaf in zip(self.segment_readers, leaves, strict=True)
        }
        # A leaf's own `postings` skips dead sections one by one; the ranking masks all of them at once.
        self._terms: dict[str, FlatTermsReader] = {
            id: leaf.codec().terms_reader(leaf.storage(), leaf.segment()) for id, leaf in self._leaves.items()
        }

    def postings(self, segment: Segment, field: str, term: str) -> PostingArrays:
        """Return the sections of a segment that have a term, dead ones included, and its weight in each."""
        return self.read(segment, make_field_name(field), encode(term))

    def read(self, segment: Segment, name: str, text: bytes) -> PostingArrays:
        """Return the postings of an encoded term, by Whoosh's name of its field."""
        try:
            matcher = self._terms[segment.id].matcher(name, text, make_schema()[name].format)
        except TermNotFound:
            return NO_POSTINGS
        return matcher.ids, matcher.weights

    def record(self, segment: Segment, number: int) -> SectionRecord:
        """Return the record of a section, which is a stored field."""
        record: SectionRecord = self._leaves[segment.id].stored_fields(number)[RECORD_FIELD]
        return record
