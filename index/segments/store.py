"""The store of an index: a folder that is changed in one step.

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
from index.segments.segment import Segment, make_file_name
from index.storage.files import translate_write_errors
from index.storage.manifest import (
    FileChecksum,
    IndexDamaged,
    IndexManifest,
    find_newest_manifest_number,
    read_index_manifest,
    write_index_manifest,
)


class Store:
    """An index in a verified private folder, with one writer and any number of readers."""

    def __init__(self, folder: Path, durable: bool = True) -> None:
        """Read nothing before `read` is called. `durable` forces each commit to the disk."""
        self.folder = folder
        self._durable = durable

    def read(self, previous: IndexSnapshot | None = None) -> IndexSnapshot:
        """Return the current generation. Raises IndexDamaged, also if nothing was committed yet.

        Segments that `previous` also has are not opened or verified again.
        """
        if previous and previous.origin != self.folder:
            previous = None
        if previous and _is_newest(previous, self.folder) and previous.is_untouched():
            return previous
        while True:
            manifest = read_index_manifest(self.folder)
            try:
                return self._read(manifest, previous)
            except IndexDamaged:
                # A writer may have removed files that this manifest names.
                if read_index_manifest(self.folder).generation == manifest.generation:
                    raise

    def commit(
        self,
        previous: IndexSnapshot | None,
        readers: Sequence[SegmentReader],
        state: State,
    ) -> IndexSnapshot:
        """Commit segments and a state as the new generation, and return it.

        `previous` is the current generation, None before the first commit. Segments in memory are written.
        Raises IndexUnwritable.
        """
        number = previous.number + 1 if previous else 0
        readers = tuple(_save_segment(reader, self.folder, self._durable) for reader in readers)
        files: dict[str, FileChecksum] = {}
        for segment in (reader.segment for reader in readers):
            if segment.checksum is not None:
                files[make_file_name(segment.id)] = segment.checksum
        dead_documents = [(reader.segment.id, encode_numbers(reader.dead_documents)) for reader in readers]
        manifest = IndexManifest(number, files, asdict(state), dead_documents)
        with translate_write_errors():
            write_index_manifest(self.folder, manifest, self._durable)
        manifest.sweep(self.folder)
        return IndexSnapshot(number, state, readers, self.folder)

    def _read(self, manifest: IndexManifest, previous: IndexSnapshot | None) -> IndexSnapshot:
        number = manifest.generation
        previous_readers = (
            {reader.segment.id: reader for reader in previous.segment_readers} if previous else {}
        )
        readers: list[SegmentReader] = []
        for id, encoded_numbers in manifest.parts:
            reader, dead_documents = previous_readers.get(id), decode_numbers(encoded_numbers)
            if (
                reader is not None
                and reader.dead_documents == dead_documents
                and reader.segment.is_untouched()
            ):
                readers.append(reader)
                continue
            segment = reader.segment if reader else None
            if segment is None or not segment.is_untouched():
                name = make_file_name(id)
                stamp = manifest.verify_file(self.folder, name)
                segment = Segment.load(self.folder, id, stamp, manifest.files[name])
            readers.append(SegmentReader.of(segment, dead_documents))
        state = make_state(manifest.state)
        if sum(reader.size for reader in readers) != state.chunks:
            raise IndexDamaged.with_reason("the state does not match the segments")
        return IndexSnapshot(number, state, tuple(readers), self.folder)


def _is_newest(generation: IndexSnapshot, folder: Path) -> bool:
    """Return True if there is no later generation.

    Each number is used once in a folder, so that the manifest need not be read.
    """
    try:
        return generation.number == find_newest_manifest_number(folder)
    except (OSError, ValueError):
        return False


def encode_numbers(numbers: Iterable[int]) -> str:
    """Encode document numbers as ASCII text."""
    return b64encode(np.array(sorted(numbers), "<u4").tobytes()).decode()


def decode_numbers(encoded: str) -> frozenset[int]:
    """Decode document numbers that `encode_numbers` encoded. Raises IndexDamaged."""
    try:
        return frozenset(np.frombuffer(b64decode(encoded), "<u4").tolist())
    except ValueError as error:
        raise IndexDamaged.with_reason("a list of dead documents is malformed") from error


def make_state(values: Mapping[str, object]) -> State:
    """Return the state from the values of `asdict`. Raises IndexDamaged."""
    try:
        return State(**values)  # type: ignore[arg-type]
    except TypeError as error:
        raise IndexDamaged.with_reason("the state has unknown or missing fields") from error


def _save_segment(reader: SegmentReader, folder: Path, durable: bool) -> SegmentReader:
    if reader.segment.checksum is not None:
        return reader
    return replace(reader, segment=reader.segment.save(folder, durable))
