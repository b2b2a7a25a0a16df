"""An index in its folder: read as it is, and changed in one step."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from whoosh.filedb.filestore import FileStorage, RamStorage
from whoosh.index import TOC

from index.chunks import Chunk
from index.engine.frame import NAME, Frame, Memory, file_of, reading, refusing, schema
from index.engine.segment import Segment
from index.engine.writer import Writer, merge
from index.generation import PATH, SCHEMA, STATE, TAGS, TEXT, TYPE, Generation, Part, State
from index.integrity import Manifest, Stamp, read_manifest

_STATE_TERM = "state"


class Index:
    """An index in a folder of its own, or in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._storage = Memory() if folder is None else FileStorage(str(folder))
        self._manifest: Manifest | None = None

    @classmethod
    def create(cls, folder: Path | None) -> Index:
        """Make an empty index in an empty folder, or in memory if there is none."""
        index = cls(folder)
        with refusing():
            TOC.create(index._storage, schema(), NAME)
        return index

    @classmethod
    def open(cls, folder: Path) -> Index:
        """Open an index whose folder is known to be our own; nothing is looked at before `read`."""
        return cls(folder)

    def read(self, previous: Generation | None = None) -> Generation:
        """Read the index as it now is; segments that `previous` also has are not opened again.

        Raises IndexDamaged.
        """
        known = {part.segment.id: part.segment for part in previous.parts} if previous else {}
        with reading():
            contents = self._contents()
            parts: list[Part] = []
            offset = 0
            for entry in contents.segments:
                segment = known.get(entry.segment_id())
                if segment is None or not segment.is_untouched():
                    segment = Segment(self._storage, entry, self._check(entry))
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
        """Begin a change of the index as `generation` read it; None for an index that is still empty.

        Only one may be going on: what another writer left is swept away.
        """
        return Writing(self._folder, self._storage, self._manifest, generation)

    def _contents(self) -> TOC:
        if self._folder is None:
            return TOC.read(self._storage, NAME, schema=schema())
        self._manifest = read_manifest(self._folder)
        number = self._manifest.generation
        self._manifest.check(self._folder, TOC._filename(NAME, number))
        return TOC.read(self._storage, NAME, number, schema())

    def _check(self, entry: Any) -> tuple[Stamp, ...]:
        if self._folder is None or self._manifest is None:
            return ()
        return (self._manifest.check(self._folder, file_of(entry)),)


class Writing:
    """One change of the index: nothing of it is seen before `commit`, and then all of it."""

    def __init__(
        self,
        folder: Path | None,
        storage: FileStorage | RamStorage,
        manifest: Manifest | None,
        generation: Generation | None,
    ) -> None:
        self._parts = generation.parts if generation else ()
        with refusing():
            if folder is not None and manifest is not None:
                manifest.sweep(folder)
            self._writer = Writer(Frame(folder, storage, manifest))
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
        with refusing():
            self._writer.append(terms, tuple(record))
        self.added += 1

    def commit(self, state: State) -> None:
        """Make the change visible, with the state that it leads to."""
        self._delete(STATE, _STATE_TERM)
        with refusing():
            self._writer.append({STATE: {_STATE_TERM: 1}}, json.dumps(asdict(state)))
            self._writer.commit(mergetype=merge)

    def cancel(self) -> None:
        """Forget the change; harmless after it was committed."""
        if not self._writer.is_closed:
            with refusing():
                self._writer.cancel()

    def _delete(self, field: str, term: str) -> int:
        numbers = [part.offset + document for part in self._parts for document in part.live(field, term)]
        with refusing():
            for number in numbers:
                self._writer.delete_document(number)
        return len(numbers)


def _live_length(part: Part) -> int:
    lengths = part.segment.lengths
    return sum(lengths) - sum(lengths[document] for document in part.deleted)
