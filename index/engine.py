"""The one door to Whoosh: an index folder is created, opened, written and read here, and nowhere else.

An index is a Whoosh index with one weighted text field, three exact fields to filter by, and one small stored
record for each chunk. What it stands for, its `State`, is a document of its own in the same index, so it
moves with the chunks in Whoosh's one atomic step, the renaming of its table of contents. Whoosh's codec
gives the posting lists; scoring them is the work of `index.ranking`.

Whoosh unpickles what it opens. Only a folder that `index.location` vouches for may be given to this module.
"""

from __future__ import annotations

import json
import threading
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

with warnings.catch_warnings():
    # Python warns of Whoosh 2.7.4's old spellings whenever it compiles its files.
    warnings.simplefilter("ignore")
    from whoosh import fields, formats
    from whoosh.codec.whoosh3 import LENGTHS_COLUMN, W3Codec
    from whoosh.filedb.filestore import FileStorage, RamStorage
    from whoosh.index import TOC, FileIndex
    from whoosh.reading import SegmentReader
    from whoosh.util.numeric import byte_to_length
    from whoosh.writing import SegmentWriter

from index.chunks import Chunk, Record
from index.generation import PATH, SCHEMA, STATE, TAGS, TEXT, TYPE, Generation, IndexDamaged, Part, State
from index.inversion import Inversion
from index.location import IndexUnwritable
from workspace.errors import WorkspaceError

_NAME = "MAIN"
_STATE_TERM = "state"
_RECORD = "record"
_LARGE = 20_000
_FEW = 7
_COMPRESSION, _COMPRESSED = 3, 16
_CACHED_POSTINGS = 2_000_000


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except WorkspaceError:
        raise
    except Exception as error:
        # Whoosh checks nothing that it reads: damage shows as whatever fails first in code that trusts it,
        # from TypeError, EOFError and struct.error to a bare Exception. Only Whoosh is called in here.
        raise IndexDamaged(
            "the search index is damaged", fix="Run `docyard index rebuild`.", reason=type(error).__name__
        ) from error


@contextmanager
def _writing() -> Iterator[None]:
    try:
        with _reading():
            yield
    except IndexDamaged as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError):
            raise IndexUnwritable.because(cause) from cause
        raise


def _schema() -> fields.Schema:
    # Existence keeps nothing beside a posting's weight; the analysis is ours, so the fields have no analyzer.
    exact = {name: fields.FieldType(formats.Existence(), None) for name in (PATH, TYPE, TAGS, STATE)}
    text = fields.FieldType(formats.Existence(), None, scorable=True)
    return fields.Schema(**exact, **{TEXT: text, _RECORD: fields.STORED()})


def _key(term: str) -> bytes:
    return term.encode("utf-8", "surrogatepass")


def _term(key: bytes) -> str:
    return key.decode("utf-8", "surrogatepass")


class Segment:
    """One segment's files, read under a lock: Whoosh's files have one position that all readers share."""

    def __init__(self, storage: FileStorage | RamStorage, entry: Any) -> None:
        self._lock = threading.Lock()
        self._reader = SegmentReader(storage, _schema(), entry)
        self._postings: dict[tuple[str, str], tuple[array[int], array[float]]] = {}
        self._cached = 0
        self._norms: tuple[float, array[float]] | None = None
        self.id: str = entry.segment_id()
        self.size: int = entry.doc_count_all()
        self.lengths = _lengths(self._reader._perdoc, self.size)

    def norms(self, average: float, compute: Callable[[Iterable[int], float], array[float]]) -> array[float]:
        """Give what `compute` makes of the lengths; remembered while the average length stays the same."""
        known = self._norms
        if known is None or known[0] != average:
            self._norms = known = average, compute(self.lengths, average)
        return known[1]

    def postings(self, field: str, term: str) -> tuple[array[int], array[float]]:
        """Give the documents that hold a term, ascending and deleted ones included, and their weights."""
        cached = self._postings.get((field, term))
        if cached is not None:
            return cached
        with self._lock, _reading():
            ids, weights = array("I"), array("f")
            key = _key(term)
            if (field, key) in self._reader._terms:
                matcher = self._reader._terms.matcher(field, key, formats.Existence())
                while matcher.is_active():
                    matcher.id()
                    matcher.weight()
                    ids.extend(matcher._ids)
                    weights.extend(matcher._weights)
                    matcher._next_block()
            if ids and (len(ids) != len(weights) or ids[-1] >= self.size):
                raise ValueError("a posting list does not fit its segment")
            if len(ids) + self._cached > _CACHED_POSTINGS:
                self._postings.clear()
                self._cached = 0
            self._postings[field, term] = ids, weights
            self._cached += len(ids) + 1
        return ids, weights

    def terms(self, field: str) -> list[str]:
        """List the terms of a field, those of deleted documents included."""
        with self._lock, _reading():
            return [_term(term) for term in self._reader.lexicon(field)]

    def record(self, document: int) -> Record:
        """Read what is stored of a chunk."""
        with self._lock, _reading():
            return Record(*self._reader.stored_fields(document)[_RECORD])

    def state(self, document: int) -> State:
        with self._lock, _reading():
            return State(**json.loads(self._reader.stored_fields(document)[_RECORD]))


class Index:
    """An index in a folder of its own, or in memory."""

    def __init__(self, storage: FileStorage | RamStorage) -> None:
        self._storage = storage
        with _reading():
            self._index = FileIndex(storage, schema=_schema(), indexname=_NAME)

    @classmethod
    def create(cls, folder: Path | None) -> Index:
        """Make an empty index in an empty folder, or in memory if there is none."""
        storage = _Memory() if folder is None else FileStorage(str(folder))
        with _writing():
            FileIndex.create(storage, _schema(), _NAME)
        return cls(storage)

    @classmethod
    def open(cls, folder: Path) -> Index:
        """Open an index whose folder is known to be our own. Raises IndexDamaged."""
        return cls(FileStorage(str(folder)))

    def read(self, previous: Generation | None = None) -> Generation:
        """Read the index as it now is; segments that `previous` also has are not opened again."""
        known = {part.segment.id: part.segment for part in previous.parts} if previous else {}
        with _reading():
            contents = TOC.read(self._storage, _NAME, schema=_schema())
            parts: list[Part] = []
            offset = 0
            for entry in contents.segments:
                segment = known.get(entry.segment_id()) or Segment(self._storage, entry)
                parts.append(Part(segment, offset, frozenset(entry.deleted_docs())))
                offset += segment.size
            [state] = [
                part.segment.state(number) for part in parts for number in part.live(STATE, _STATE_TERM)
            ]
            live = sum(part.segment.size - len(part.deleted) for part in parts)
            if state.schema != SCHEMA or live != state.chunks + 1:
                raise ValueError("the state does not fit the index")
            return Generation(contents.generation, state, tuple(parts), sum(map(_live_length, parts)))

    def write(self, generation: Generation | None) -> Writing:
        """Begin a change of the index as `generation` read it; None for an index that is still empty."""
        return Writing(self._index, generation)


class Writing:
    """One change of the index: nothing of it is seen before `commit`, and then all of it."""

    def __init__(self, index: FileIndex, generation: Generation | None) -> None:
        self._parts = generation.parts if generation else ()
        with _writing():
            self._writer = _Writer(index)
        self.added = 0
        self.removed = 0

    def remove(self, path: str) -> None:
        """Take a document's chunks out of the index."""
        self.removed += self._delete(PATH, path)

    def add(self, chunk: Chunk) -> None:
        record = chunk.record
        terms = {TEXT: chunk.terms, PATH: {record.path: 1}, TAGS: dict.fromkeys(record.tags, 1)}
        if record.type:
            terms[TYPE] = {record.type: 1}
        with _writing():
            self._writer.append(terms, tuple(record))
        self.added += 1

    def commit(self, state: State) -> None:
        """Make the change visible, with the state that it leads to."""
        self._delete(STATE, _STATE_TERM)
        with _writing():
            self._writer.append({STATE: {_STATE_TERM: 1}}, json.dumps(asdict(state)))
            self._writer.commit(mergetype=_merge)

    def cancel(self) -> None:
        """Forget the change; harmless after it was committed."""
        if not self._writer.is_closed:
            with _writing():
                self._writer.cancel()

    def _delete(self, field: str, term: str) -> int:
        numbers = [part.offset + document for part in self._parts for document in part.live(field, term)]
        with _writing():
            for number in numbers:
                self._writer.delete_document(number)
        return len(numbers)


class _Memory(RamStorage):  # type: ignore[misc]
    """Whoosh's storage in memory, its temporary files included."""

    def temp_storage(self, name: str | None = None) -> _Memory:
        return _Memory()


class _Writer(SegmentWriter):  # type: ignore[misc]
    """Whoosh's writer, with terms that are already counted and posting lists that are written whole.

    Its own pool sorts a tuple for each posting, which takes longer than everything else together.
    """

    def __init__(self, index: FileIndex) -> None:
        super().__init__(index, codec=W3Codec())
        self._inversion = Inversion()

    def append(self, terms: Mapping[str, Mapping[str, int]], record: object) -> None:
        """Add a document by its weighted terms in each field."""
        documents = self.perdocwriter
        documents.start_doc(self.docnum)
        for name, weights in terms.items():
            self._inversion.add(name, self.docnum, weights.items())
        length = sum(terms.get(TEXT, {}).values())
        documents.add_field(TEXT, self.schema[TEXT], None, length)
        documents.add_field(_RECORD, self.schema[_RECORD], record, 0)
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
                self._inversion.add(field, moved, ((_term(term), weight),))

    def _flush_segment(self) -> None:
        self.perdocwriter.close()
        reader = self.per_document_reader()
        lengths = _lengths(reader, self.docnum)
        reader.close()
        for name, lists in self._inversion:
            self.fieldwriter.start_field(name, self.schema[name])
            for term, ids, weights in lists:
                self.fieldwriter.start_term(_key(term))
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


def _lengths(documents: Any, size: int) -> array[int]:
    column = documents._cached_reader(f"_{TEXT}_len", LENGTHS_COLUMN)
    return array("L", (byte_to_length(column[i]) for i in range(size)) if column is not None else [0] * size)


def _merge(writer: SegmentWriter, segments: list[Any]) -> list[Any]:
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


def _live_length(part: Part) -> int:
    lengths = part.segment.lengths
    return sum(lengths) - sum(lengths[document] for document in part.deleted)
