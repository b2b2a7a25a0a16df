"""Whoosh's writer, with our counting, our posting lists, our manifest and our rule of merging."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from whoosh.codec.whoosh3 import W3Codec
from whoosh.index import TOC
from whoosh.reading import SegmentReader
from whoosh.writing import SegmentWriter

from index.engine.frame import NAME, RECORD, Frame, file_of, key_of, term_of
from index.engine.segment import lengths_of
from index.generation import TEXT
from index.integrity import write_manifest
from index.inversion import Inversion

_LARGE = 20_000
_FEW = 7
_COMPRESSION, _COMPRESSED = 3, 16


class Writer(SegmentWriter):  # type: ignore[misc]
    """Whoosh's writer, with terms that are already counted and posting lists that are written whole.

    Its own pool sorts a tuple for each posting, which takes longer than everything else together.
    """

    def __init__(self, frame: Frame) -> None:
        # Whoosh's own lock is left out: `index.locking` lets in one writer at a time.
        super().__init__(frame, codec=W3Codec(), _lk=False)
        self._frame = frame
        self._inversion = Inversion()

    def append(self, terms: Mapping[str, Mapping[str, int]], record: object) -> None:
        """Add a document by its weighted terms in each field."""
        documents = self.perdocwriter
        documents.start_doc(self.docnum)
        for name, weights in terms.items():
            self._inversion.add(name, self.docnum, weights.items())
        length = sum(terms.get(TEXT, {}).values())
        documents.add_field(TEXT, self.schema[TEXT], None, length)
        documents.add_field(RECORD, self.schema[RECORD], record, 0)
        documents.finish_doc()
        self._added = True
        self.docnum += 1

    def add_postings_to_pool(
        self, reader: SegmentReader, startdoc: int, docmap: Mapping[int, int] | None
    ) -> None:
        """Take over the live postings of a segment that is merged into this one."""
        for field, term, number, weight, _ in reader.iter_postings():
            moved = startdoc + number if docmap is None else docmap.get(number)
            if moved is not None:
                self._inversion.add(field, moved, ((term_of(term), weight),))

    def _commit_toc(self, segments: list[Any]) -> None:
        folder, manifest = self._frame.folder, self._frame.manifest
        if folder is None:
            super()._commit_toc(segments)
            return
        TOC(self.schema, segments, self.generation).write(self.storage, self.indexname)
        names = [TOC._filename(NAME, self.generation), *map(file_of, segments)]
        write_manifest(folder, self.generation, names, manifest).sweep(folder)

    def _flush_segment(self) -> None:
        self.perdocwriter.close()
        reader = self.per_document_reader()
        lengths = lengths_of(reader, self.docnum)
        reader.close()
        for name, lists in self._inversion:
            self.fieldwriter.start_field(name, self.schema[name])
            for term, ids, weights in lists:
                self.fieldwriter.start_term(key_of(term))
                _write_list(self.fieldwriter._postwriter, ids, weights, lengths if name == TEXT else None)
                self.fieldwriter.finish_term()
            self.fieldwriter.finish_field()
        self.fieldwriter.close()


def _write_list(writer: Any, ids: array[int], weights: array[float], lengths: array[int] | None) -> None:
    """Write a posting list block by block, with the figures that Whoosh keeps of each block."""
    step = writer._blocklimit
    # Most terms occur once or twice, where compressing takes time and saves nothing.
    writer._compression = _COMPRESSION if len(ids) >= _COMPRESSED else 0
    for start in range(0, len(ids), step):
        if start:
            writer._write_block()
        block = ids[start : start + step]
        writer._ids = block
        writer._weights = weights[start : start + step]
        writer._maxweight = max(writer._weights)
        if lengths is not None:
            found = [lengths[number] for number in block]
            writer._minlength, writer._maxlength = min(found), max(found)


def merge(writer: SegmentWriter, segments: list[Any]) -> list[Any]:
    """Swallow small segments while the next is at most twice what is gathered, and mostly dead ones.

    Few segments remain, and each chunk is copied a number of times that grows only with the logarithm of
    the index. While there are few, nothing is done, so that most commits write only what they changed.
    """
    if len(segments) < _FEW and all(segment.deleted_count() <= _live(segment) for segment in segments):
        return segments
    gathered = max(writer.doc_count(), 16)
    kept = []
    for segment in sorted(segments, key=_live):
        live = _live(segment)
        if live <= min(2 * gathered, _LARGE) or segment.deleted_count() > live:
            gathered += live
            if live:
                reader = SegmentReader(writer.storage, writer.schema, segment)
                writer.add_reader(reader)
                reader.close()
        else:
            kept.append(segment)
    return kept


def _live(segment: Any) -> int:
    return int(segment.doc_count_all() - segment.deleted_count())
