"""A read-only Whoosh codec for our segments.

Whoosh's readers, matchers and searchers read an index with this codec. Each section is one Whoosh document,
with a text field of the section's length and a field for each taxonomy key. The arrays of a segment are used
as they are mapped from its file: nothing is copied, and nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from whoosh import fields, formats
from whoosh.codec import base
from whoosh.matching import LeafMatcher, ReadTooFar
from whoosh.reading import TermInfo, TermNotFound

from index.documents import SectionRecord
from index.segments import segment
from index.segments.generation import SegmentReader
from index.segments.segment import PostingArrays
from index.whoosh_engine.analyzer import SectionAnalyzer

TEXT_FIELD = "text"
"""The name that Whoosh uses for the field of the words of sections."""

RECORD_FIELD = "record"
"""The name that Whoosh uses for the stored field, which is the `SectionRecord` of a section."""

_WORD_FIELDS = {segment.TEXT: TEXT_FIELD, segment.TITLE: "title", segment.HEADING: "heading"}
_FIELD_BY_WHOOSH_NAME = {name: field for field, name in _WORD_FIELDS.items()}
_FACET_PREFIX, _DATE_PREFIX = "facet_", "date_"


@cache
def make_schema() -> fields.Schema:
    """Return the fields of an index: words, any facets and dates, and the stored record of a section.

    The format Existence stores only a posting's weight. The value of a facet is a single term.
    """
    fields_schema = fields.Schema(
        **{
            TEXT_FIELD: fields.FieldType(formats.Existence(), SectionAnalyzer(), scorable=True),
            RECORD_FIELD: fields.STORED(),
        }
    )
    for name in ("title", "heading"):
        fields_schema.add(name, fields.FieldType(formats.Existence(), SectionAnalyzer()))
    for prefix in (_FACET_PREFIX, _DATE_PREFIX):
        fields_schema.add(f"{prefix}*", fields.FieldType(formats.Existence(), None), glob=True)
    return fields_schema


def make_field_name(field: str) -> str:
    """Return the name that Whoosh uses for a field of our segments."""
    if field in _WORD_FIELDS:
        return _WORD_FIELDS[field]
    return (
        _DATE_PREFIX + field.removeprefix(segment.DATE)
        if field.startswith(segment.DATE)
        else _FACET_PREFIX + field
    )


def make_key(name: str, text: bytes) -> bytes | None:
    """Return the key of a term by Whoosh's name of its field; None if no field of ours has this name."""
    field = _FIELD_BY_WHOOSH_NAME.get(name)
    if field is None and name.startswith(_FACET_PREFIX):
        field = name.removeprefix(_FACET_PREFIX)
    elif field is None and name.startswith(_DATE_PREFIX):
        field = segment.DATE + name.removeprefix(_DATE_PREFIX)
    return None if field is None else segment.make_term_key(field, "") + text


def split_term(key: bytes) -> tuple[str, bytes]:
    """Return Whoosh's name of a key's field, and the term."""
    field, text = segment.split_term_key(key)
    return make_field_name(field), text


class FlatSegment(base.Segment):  # type: ignore[misc]
    """A segment of an index as Whoosh's description of a segment; Whoosh's documents are its sections."""

    def __init__(self, segment_reader: SegmentReader) -> None:
        self.indexname = "MAIN"
        self.segid = segment_reader.segment.id
        self.compound = False
        self.segment_reader = segment_reader

    def codec(self) -> FlatCodec:
        return FlatCodec()

    def doc_count_all(self) -> int:
        return self.segment_reader.segment.size

    def deleted_count(self) -> int:
        return len(self.segment_reader.dead_sections)


class FlatCodec(base.Codec):  # type: ignore[misc]
    """A codec that reads segments that are already open. It ignores Whoosh's storage."""

    def terms_reader(self, storage: object, segment: FlatSegment) -> FlatTermsReader:
        return FlatTermsReader(segment.segment_reader.segment)

    def per_document_reader(self, storage: object, segment: FlatSegment) -> FlatDocumentReader:
        return FlatDocumentReader(segment.segment_reader)


class PostingsMatcher(LeafMatcher):  # type: ignore[misc]
    """The postings of a term as a Whoosh matcher: `ids` are the sections, ascending."""

    def __init__(
        self,
        term: tuple[str, bytes],
        ids: NDArray[np.uint32],
        weights: NDArray[np.uint8],
        format_: Any,
        scorer: Any = None,
    ) -> None:
        self.ids = ids
        self.weights = weights
        self.format = format_
        self.scorer = scorer
        self._term = term
        self._position = 0

    def is_active(self) -> bool:
        return self._position < len(self.ids)

    def reset(self) -> None:
        self._position = 0

    def id(self) -> int:
        return int(self.ids[self._position])

    def next(self) -> None:
        if not self.is_active():
            raise ReadTooFar
        self._position += 1

    def skip_to(self, id: int) -> None:
        """Skip to the first section with this number or a higher one. Raises ReadTooFar at the end."""
        if not self.is_active():
            raise ReadTooFar
        self._position = max(self._position, int(self.ids.searchsorted(np.uint32(id))))

    def all_ids(self) -> Iterator[int]:
        return iter(self.ids[self._position :].tolist())

    def weight(self) -> float:
        return float(self.weights[self._position])

    def value(self) -> bytes:
        """Return the encoded value of a posting, which is empty in the format Existence."""
        return b""

    def copy(self) -> PostingsMatcher:
        matcher = PostingsMatcher(self._term, self.ids, self.weights, self.format, self.scorer)
        matcher._position = self._position
        return matcher


class FlatTermsReader(base.TermsReader):  # type: ignore[misc]
    """The terms of a segment, by Whoosh's names of their fields."""

    def __init__(self, segment: segment.Segment) -> None:
        self._segment = segment

    def __contains__(self, term: tuple[str, bytes]) -> bool:
        return len(self._postings(*term)[0]) > 0

    def terms(self) -> Iterator[tuple[str, bytes]]:
        """Yield every term, ordered by field and text."""
        return self.terms_from("", b"")

    def terms_from(self, name: str, prefix: bytes) -> Iterator[tuple[str, bytes]]:
        # The key of the text field begins with NUL and sorts first, but its Whoosh name does not.
        for field in self.indexed_field_names():
            if field >= name:
                yield from self._field_terms(field, prefix if field == name else b"")

    def items(self) -> Iterator[tuple[tuple[str, bytes], TermInfo]]:
        return ((term, self.term_info(*term)) for term in self.terms())

    def items_from(self, name: str, prefix: bytes) -> Iterator[tuple[tuple[str, bytes], TermInfo]]:
        return ((term, self.term_info(*term)) for term in self.terms_from(name, prefix))

    def term_info(self, name: str, text: bytes) -> TermInfo:
        ids, weights = self._postings(name, text)
        if not len(ids):
            raise KeyError((name, text))
        lengths = self._segment.lengths[ids]
        return TermInfo(
            weight=int(weights.sum(dtype=np.int64)),
            df=len(ids),
            minlength=int(lengths.min()),
            maxlength=int(lengths.max()),
            maxweight=int(weights.max()),
            minid=int(ids[0]),
            maxid=int(ids[-1]),
        )

    def matcher(self, name: str, text: bytes, format_: Any, scorer: Any = None) -> PostingsMatcher:
        ids, weights = self._postings(name, text)
        if not len(ids):
            raise TermNotFound(f"no term {text!r} in {name}")
        return PostingsMatcher((name, text), ids, weights, format_, scorer)

    def indexed_field_names(self) -> list[str]:
        return sorted(map(make_field_name, self._segment.fields()))

    def _field_terms(self, name: str, start: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield the terms of a field from a text on."""
        first = make_key(name, start)
        if first is not None:
            for other_name, text in map(split_term, self._segment.term_keys_from(first)):
                if other_name != name:
                    return
                yield name, text

    def _postings(self, name: str, text: bytes) -> PostingArrays:
        key = make_key(name, text)
        # The empty key is in no segment.
        return self._segment.postings(b"" if key is None else key)


class FlatDocumentReader(base.PerDocumentReader):  # type: ignore[misc]
    """The sections of a segment as Whoosh's documents; dead sections are deleted documents."""

    def __init__(self, segment_reader: SegmentReader) -> None:
        self._segment_reader = segment_reader
        self._segment = segment_reader.segment

    @cached_property
    def _dead(self) -> frozenset[int]:
        return frozenset(self._segment_reader.dead_sections.tolist())

    def doc_count(self) -> int:
        return self._segment_reader.size

    def doc_count_all(self) -> int:
        return self._segment.size

    def has_deletions(self) -> bool:
        return bool(self._segment_reader.dead_documents)

    def is_deleted(self, number: int) -> bool:
        return number in self._dead

    def deleted_docs(self) -> frozenset[int]:
        return self._dead

    def doc_field_length(self, number: int, name: str, default: int = 0) -> int:
        return int(self._segment.lengths[number]) if name == TEXT_FIELD else default

    def field_length(self, name: str) -> int:
        return self._segment_reader.total_length if name == TEXT_FIELD else 0

    def min_field_length(self, name: str) -> int:
        return int(self._segment.lengths.min()) if name == TEXT_FIELD and self._segment.size else 0

    def max_field_length(self, name: str) -> int:
        return int(self._segment.lengths.max(initial=0)) if name == TEXT_FIELD else 0

    def stored_fields(self, number: int) -> dict[str, SectionRecord]:
        """Return the only stored field: the record of a section."""
        return {RECORD_FIELD: self._segment.record(number)}
