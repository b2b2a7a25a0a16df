"""The store of an index: a folder, or the memory that replaces it, changed in one step.

    <number>.manifest        the files of the index, and its state (`index.storage.manifest`)
    _MAIN_<number>.toc       Whoosh's table of contents of that generation (`index.whoosh_engine.codec`)
    MAIN_<random>.flat       a segment (`index.segments.segment`)

A commit writes new files, and a new manifest last; files that it does not name are swept. A process that has
a swept file open can still read it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from index.port import State
from index.segments.generation import IndexSnapshot, SegmentReader
from index.segments.segment import Segment, file_name
from index.storage.files import translate_write_errors, write_file
from index.storage.manifest import (
    FileChecksum,
    IndexDamaged,
    Manifest,
    newest_manifest,
    read_manifest,
    write_manifest,
)

WriteTable = Callable[[int, Sequence[SegmentReader]], bytes]
"""Gives the bytes of the table of contents of a generation, by its number and its parts."""


class Store:
    """An index in a folder that is known to be our own, or in memory. One writer at a time, any readers."""

    def __init__(self, folder: Path | None, durable: bool = True) -> None:
        """Nothing is looked at before `read`. `durable` forces each commit to the disk."""
        self.folder = folder
        self._durable = durable
        self._held: IndexSnapshot | None = None

    def read(self, previous: IndexSnapshot | None = None) -> IndexSnapshot:
        """Read the index as it now is. Raises IndexDamaged, also if nothing was committed yet.

        Segments that `previous` also has are not opened or summed again.
        """
        if self.folder is None:
            if self._held is None:
                raise IndexDamaged.because("nothing was committed")
            return self._held
        if previous and _is_newest(previous, self.folder) and previous.is_untouched():
            return previous
        while True:
            manifest = read_manifest(self.folder)
            try:
                return self._read(self.folder, manifest, previous)
            except IndexDamaged:
                # A writer may have swept away what this manifest names.
                if read_manifest(self.folder).generation == manifest.generation:
                    raise

    def commit(
        self,
        previous: IndexSnapshot | None,
        parts: Sequence[SegmentReader],
        state: State,
        write_table: WriteTable,
    ) -> IndexSnapshot:
        """Make these parts the index, with what it then stands for, and give it as it is read.

        `previous` is what the index is now, None if nothing was committed yet. Segments in memory are
        written; `write_table` makes Whoosh's table of contents. Raises IndexUnwritable.
        """
        number = previous.number + 1 if previous else 0
        if self.folder is None:
            self._held = IndexSnapshot(number, state, tuple(parts))
            return self._held
        parts = tuple(_save_part(part, self.folder, self._durable) for part in parts)
        contents = write_table(number, parts)
        files = {toc_name(number): FileChecksum.of(contents)}
        for segment in (part.segment for part in parts):
            if segment.checksum is not None:
                files[file_name(segment.id)] = segment.checksum
        dead_pages = [(part.segment.id, write_pages(part.dead_pages)) for part in parts]
        manifest = Manifest(number, files, asdict(state), dead_pages)
        with translate_write_errors():
            write_file(self.folder / toc_name(number), contents, self._durable)
            write_manifest(self.folder, manifest, self._durable)
        manifest.sweep(self.folder)
        return IndexSnapshot(number, state, parts)

    def _read(self, folder: Path, manifest: Manifest, previous: IndexSnapshot | None) -> IndexSnapshot:
        number = manifest.generation
        opened = {part.segment.id: part for part in previous.parts} if previous else {}
        manifest.check(folder, toc_name(number))
        parts: list[SegmentReader] = []
        for id, written in manifest.parts:
            part, dead_pages = opened.get(id), read_pages(written)
            if part is not None and part.dead_pages == dead_pages and part.segment.is_untouched():
                parts.append(part)
                continue
            segment = part.segment if part else None
            if segment is None or not segment.is_untouched():
                name = file_name(id)
                stamp = manifest.check(folder, name)
                segment = Segment.load(folder, id, stamp, manifest.files[name])
            parts.append(SegmentReader.of(segment, dead_pages))
        state = read_state(manifest.state)
        if sum(part.size for part in parts) != state.chunks:
            raise IndexDamaged.because("the state does not match the index")
        return IndexSnapshot(number, state, tuple(parts))


def _is_newest(generation: IndexSnapshot, folder: Path) -> bool:
    """Return True if nobody has committed since.

    A number is given once in a folder, so its manifest is not read.
    """
    try:
        return generation.number == newest_manifest(folder)
    except (OSError, ValueError):
        return False


def toc_name(number: int) -> str:
    """Name the file of a generation's table as Whoosh does."""
    return f"_MAIN_{number}.toc"


def write_pages(pages: Iterable[int]) -> str:
    """Write the numbers of pages in ASCII."""
    return b64encode(np.array(sorted(pages), "<u4").tobytes()).decode()


def read_pages(written: str) -> frozenset[int]:
    """Read the numbers of pages that were written so. Raises IndexDamaged."""
    try:
        return frozenset(np.frombuffer(b64decode(written), "<u4").tolist())
    except ValueError as error:
        raise IndexDamaged.because("a list of pages is malformed") from error


def read_state(values: Mapping[str, object]) -> State:
    """Read a state that was written with `asdict`. Raises IndexDamaged."""
    try:
        return State(**values)  # type: ignore[arg-type]
    except TypeError as error:
        raise IndexDamaged.because("the state is of another version") from error


def _save_part(part: SegmentReader, folder: Path, durable: bool) -> SegmentReader:
    if part.segment.checksum is not None:
        return part
    return replace(part, segment=part.segment.save(folder, durable))
