"""The store of an index: a folder, or the memory that replaces it, changed in one step.

    <number>.manifest        the names of the index's files, and its state (`index.storage.manifest`)
    MAIN_<random>.flat       a segment (`index.segments.segment`)

A commit writes new files, and a new manifest last. Files that the manifest does not list are removed. A
process that has a removed file open can still read it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from index.port import State
from index.segments.generation import IndexSnapshot, SegmentReader
from index.segments.segment import Segment, file_name
from index.storage.files import translate_write_errors
from index.storage.manifest import (
    FileChecksum,
    IndexDamaged,
    Manifest,
    find_newest_manifest,
    read_manifest,
    write_manifest,
)


class Store:
    """An index in a verified private folder or in memory. It has one writer at a time, and any readers."""

    def __init__(self, folder: Path | None, durable: bool = True) -> None:
        """Read nothing before `read` is called. `durable` forces each commit to the disk."""
        self.folder = folder
        self._durable = durable
        self._in_memory: IndexSnapshot | None = None

    def read(self, previous: IndexSnapshot | None = None) -> IndexSnapshot:
        """Return the current generation. Raises IndexDamaged, also if nothing was committed yet.

        Segments that `previous` also has are not opened or verified again.
        """
        if self.folder is None:
            if self._in_memory is None:
                raise IndexDamaged.with_reason("nothing was committed")
            return self._in_memory
        if previous and _is_newest(previous, self.folder) and previous.is_untouched():
            return previous
        while True:
            manifest = read_manifest(self.folder)
            try:
                return self._read(self.folder, manifest, previous)
            except IndexDamaged:
                # A writer may have removed files that this manifest names.
                if read_manifest(self.folder).generation == manifest.generation:
                    raise

    def commit(
        self,
        previous: IndexSnapshot | None,
        parts: Sequence[SegmentReader],
        state: State,
    ) -> IndexSnapshot:
        """Commit these parts and this state as the new generation, and return it.

        `previous` is the current generation, None before the first commit. Segments in memory are written.
        Raises IndexUnwritable.
        """
        number = previous.number + 1 if previous else 0
        if self.folder is None:
            self._in_memory = IndexSnapshot(number, state, tuple(parts))
            return self._in_memory
        parts = tuple(_save_part(part, self.folder, self._durable) for part in parts)
        files: dict[str, FileChecksum] = {}
        for segment in (part.segment for part in parts):
            if segment.checksum is not None:
                files[file_name(segment.id)] = segment.checksum
        dead_pages = [(part.segment.id, encode_pages(part.dead_pages)) for part in parts]
        manifest = Manifest(number, files, asdict(state), dead_pages)
        with translate_write_errors():
            write_manifest(self.folder, manifest, self._durable)
        manifest.sweep(self.folder)
        return IndexSnapshot(number, state, parts)

    def _read(self, folder: Path, manifest: Manifest, previous: IndexSnapshot | None) -> IndexSnapshot:
        number = manifest.generation
        previous_parts = {part.segment.id: part for part in previous.parts} if previous else {}
        parts: list[SegmentReader] = []
        for id, encoded in manifest.parts:
            part, dead_pages = previous_parts.get(id), decode_pages(encoded)
            if part is not None and part.dead_pages == dead_pages and part.segment.is_untouched():
                parts.append(part)
                continue
            segment = part.segment if part else None
            if segment is None or not segment.is_untouched():
                name = file_name(id)
                stamp = manifest.check(folder, name)
                segment = Segment.load(folder, id, stamp, manifest.files[name])
            parts.append(SegmentReader.of(segment, dead_pages))
        state = make_state(manifest.state)
        if sum(part.size for part in parts) != state.chunks:
            raise IndexDamaged.with_reason("the state does not match the segments")
        return IndexSnapshot(number, state, tuple(parts))


def _is_newest(generation: IndexSnapshot, folder: Path) -> bool:
    """Return True if there is no later commit.

    Each number is used once in a folder, so that the manifest need not be read.
    """
    try:
        return generation.number == find_newest_manifest(folder)
    except (OSError, ValueError):
        return False


def encode_pages(pages: Iterable[int]) -> str:
    """Encode the numbers of pages in ASCII."""
    return b64encode(np.array(sorted(pages), "<u4").tobytes()).decode()


def decode_pages(encoded: str) -> frozenset[int]:
    """Decode the numbers of pages that `encode_pages` encoded. Raises IndexDamaged."""
    try:
        return frozenset(np.frombuffer(b64decode(encoded), "<u4").tolist())
    except ValueError as error:
        raise IndexDamaged.with_reason("a list of pages is malformed") from error


def make_state(values: Mapping[str, object]) -> State:
    """Return the state from the values of `asdict`. Raises IndexDamaged."""
    try:
        return State(**values)  # type: ignore[arg-type]
    except TypeError as error:
        raise IndexDamaged.with_reason("the state has unknown or missing fields") from error


def _save_part(part: SegmentReader, folder: Path, durable: bool) -> SegmentReader:
    if part.segment.checksum is not None:
        return part
    return replace(part, segment=part.segment.save(folder, durable))
