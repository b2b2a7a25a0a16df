"""A read-only Whoosh codec for our segments.

With it Whoosh's own searcher opens the folder of an index and finds the same sections as our evaluation. Each
section is one Whoosh document with one text field of the section's length.

Whoosh's table of contents has the schema, and the segments with their dead sections. It is written only for
Whoosh's own searcher. Docyard reads the manifest instead, and unpickles nothing.
"""

from __future__ import annotations

import pickle
import struct
from array import array
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from whoosh import fields, formats
from whoosh.codec import base
from whoosh.filedb.filestore import FileStorage, RamStorage
from whoosh.index import TOC
from whoosh.matching import ListMatcher
from whoosh.reading import TermInfo, TermNotFound

from index.segments import segment
from index.segments.arrays import map_flat
from index.segments.generation import SegmentReader
from index.segments.segment import Segment, file_name

NAME = "MAIN"
"""Whoosh's default name of an index."""

TEXT, PATH, KEY = "text", "path", "key"
_FACET = "facet_"


@cache
def schema() -> fields.Schema:
    """Return the fields of an index: its text, any facets, and the stored fields of a section.

    The format Existence stores only a posting's weight. The terms are already analysed, so that no field has
    an analyzer.
    """
    fields_schema = fields.Schema(**{PATH: fields.STORED(), KEY: fields.STORED()})
    fields_schema.add(TEXT, fields.FieldType(formats.Existence(), None, scorable=True))
    fields_schema.add(f"{_FACET}*", fields.FieldType(formats.Existence(), None), glob=True)
    return fields_schema


def key_of(name: str, text: bytes) -> bytes | None:
    """Return the key of a term by Whoosh's name of its field; None if no field of ours has this name."""
    field = segment.TEXT if name == TEXT else name.removeprefix(_FACET) if name.startswith(_FACET) else None
    return None if field is None else segment.term_key(field, "") + text


def term_of(key: bytes) -> tuple[str, bytes]:
    """Return Whoosh's name of a key's field, and the term."""
    field, text = segment.split_key(key)
    return (TEXT if field == segment.TEXT else _FACET + field), text


class FlatSegment(base.Segment):  # type: ignore[misc]
    """A segment in Whoosh's table of contents: the number of its sections, and of the dead ones.

    `dead_pages` has the numbers of dead pages, four bytes each. They determine the dead sections.
    """

    def __init__(self, id: str, size: int, dead: int, dead_pages: bytes) -> None:
        self.indexname = NAME
        self.segid = id
        self.compound = False
        self.size = size
        self.dead = dead
        self.dead_pages = dead_pages

    def codec(self) -> FlatCodec:
        return FlatCodec()

    def doc_count_all(self) -> int:
        return self.size

    def deleted_count(self) -> int:
        return self.dead


class FlatCodec(base.Codec):  # type: ignore[misc]
    """A codec that opens our segments from a folder."""

    def terms_reader(self, storage: FileStorage, segment: FlatSegment) -> Terms:
        return Terms(_open_segment(storage, segment))

    def per_document_reader(self, storage: FileStorage, segment: FlatSegment) -> Documents:
        opened = _open_segment(storage, segment)
        pages = np.frombuffer(segment.dead_pages, np.uint32).tolist()
        return Documents(opened, frozenset(SegmentReader.of(opened, pages).dead.tolist()))


class Terms(base.TermsReader):  # type: ignore[misc]
    """The terms of a segment, by Whoosh's names of their fields."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment

    def __contains__(self, term: tuple[str, bytes]) -> bool:
        return len(self._postings(*term)[0]) > 0

    def terms(self) -> Iterator[tuple[str, bytes]]:
        """Yield every term, ordered by field and text."""
        # The key of the text field begins with NUL and sorts first, but its Whoosh name does not.
        return iter(sorted(map(term_of, self._segment.term_keys())))

    def terms_from(self, name: str, prefix: bytes) -> Iterator[tuple[str, bytes]]:
        return (term for term in self.terms() if term >= (name, prefix))

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

    def matcher(self, name: str, text: bytes, format_: Any, scorer: Any = None) -> ListMatcher:
        ids, weights = self._postings(name, text)
        if not len(ids):
            raise TermNotFound(f"no term {text!r} in {name}")
        return ListMatcher(
            ids.tolist(),
            weights.astype(float).tolist(),
            format=format_,
            scorer=scorer,
            term=(name, text),
            terminfo=self.term_info(name, text),
        )

    def indexed_field_names(self) -> list[str]:
        return sorted({name for name, _ in self.terms()})

    def _postings(self, name: str, text: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        key = key_of(name, text)
        # The empty key is in no segment.
        return self._segment.postings(b"" if key is None else key)


class Documents(base.PerDocumentReader):  # type: ignore[misc]
    """The sections of a segment."""

    def __init__(self, segment: Segment, dead: frozenset[int]) -> None:
        self._segment = segment
        self._dead = dead

    def doc_count(self) -> int:
        return self._segment.size - len(self._dead)

    def doc_count_all(self) -> int:
        return self._segment.size

    def has_deletions(self) -> bool:
        return bool(self._dead)

    def is_deleted(self, number: int) -> bool:
        return number in self._dead

    def deleted_docs(self) -> frozenset[int]:
        return self._dead

    def doc_field_length(self, number: int, name: str, default: int = 0) -> int:
        return int(self._segment.lengths[number]) if name == TEXT else default

    def field_length(self, name: str) -> int:
        return self._segment.total if name == TEXT else 0

    def min_field_length(self, name: str) -> int:
        return int(self._segment.lengths.min()) if name == TEXT and self._segment.size else 0

    def max_field_length(self, name: str) -> int:
        return int(self._segment.lengths.max(initial=0)) if name == TEXT else 0

    def stored_fields(self, number: int) -> dict[str, str]:
        path, key = self._segment.address(number)
        return {PATH: path, KEY: key}


def _open_segment(storage: FileStorage, segment: FlatSegment) -> Segment:
    return Segment(segment.segid, map_flat(Path(storage.folder) / file_name(segment.segid)))


def write_toc(number: int, parts: Sequence[SegmentReader]) -> bytes:
    """Return the bytes of a generation's table of contents."""
    segments = [
        FlatSegment(
            part.segment.id,
            part.segment.size,
            len(part.dead),
            array("I", sorted(part.dead_pages)).tobytes(),
        )
        for part in parts
    ]
    return _head() + _tail(number, segments)


@cache
def _head() -> bytes:
    """Return the bytes before the number in every table; cached, because this is the slowest part."""
    storage = RamStorage()
    TOC(schema(), [], 0).write(storage, NAME)
    (table,) = storage.files.values()
    return bytes(table).removesuffix(_tail(0, []))


def _tail(number: int, segments: list[FlatSegment]) -> bytes:
    return struct.pack("!ii", number, 0) + pickle.dumps(segments, -1)
