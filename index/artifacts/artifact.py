"""An artifact, checked and opened.

metadata.json missing or invalid, except `source_commit`   ->  an error
its manifest missing, damaged, of a later format           ->  an error
a file missing, truncated, or with another checksum        ->  an error
sealed with the reader's key, with an index of our schema  ->  its segments are mapped
anything else                                              ->  its index is built from its documents
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from index.artifacts.manifest import (
    INDEX_FOLDER,
    ArtifactDamaged,
    ArtifactManifest,
    NotAnArtifact,
    check_files,
    is_sealed,
    make_missing_metadata_error,
    read_all_manifests,
    read_artifact_manifest,
    read_metadata_bytes,
)
from index.storage.location import METADATA_FILE, SCHEMA_VERSION
from index.storage.manifest import FileStamp, IndexDamaged
from index.storage.metadata import Metadata, MetadataProblem, Stats, parse_metadata, parse_served_metadata
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.port import State
    from index.segments.generation import SegmentReader

_MAX_ATTEMPTS = 20
"""Attempts to open an artifact while builders replace it."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """An artifact whose files were all verified.

    `folder` has no symbolic links. `metadata_stamp` is the stamp of the requested `metadata.json`, and
    `stamps` has those of the other files. `is_trusted` is True if the artifact has the seal of the reader's
    key and an index of our version. Only then its segments can be used. `moves` has the new paths of
    documents by their old ones. `problem` is a violation of the contract that does not prevent serving the
    artifact.
    """

    folder: Path
    metadata: Metadata
    manifest: ArtifactManifest
    metadata_stamp: FileStamp
    stamps: tuple[FileStamp, ...]
    is_trusted: bool
    moves: Mapping[str, str]
    problem: MetadataProblem | None = None

    def is_untouched(self) -> bool:
        """Return True if no file has changed since its checksum was verified.

        A deleted file remains readable for a process that has opened it.
        """
        return all(stamp.is_unchanged() for stamp in self.stamps)


def open_artifact(folder: Path, key: bytes | None = None) -> Artifact:
    """Open the current artifact of a folder; this takes about a millisecond for each megabyte.

    Raises NotAnArtifact, InvalidMetadata, ArtifactDamaged, UnsupportedArtifact.
    """
    for _ in range(_MAX_ATTEMPTS):
        # The stamp is taken before the file is read, so that the next check detects a change in between.
        metadata_stamp = _stamp_metadata(folder)
        # If the folder is a link, the resolved path stays valid when the link changes.
        resolved_folder = folder.resolve()
        data = read_metadata_bytes(resolved_folder)
        try:
            return _open(resolved_folder, metadata_stamp, data, key)
        except (NotAnArtifact, ArtifactDamaged):
            # A builder may have replaced this metadata.json and removed the files that it names.
            if read_metadata_bytes(folder) == data:
                raise
    raise make_swap_timeout_error()


def make_swap_timeout_error() -> NotAnArtifact:
    """Return the error for an artifact that is replaced faster than it can be read."""
    return NotAnArtifact(
        "the artifact is replaced faster than it can be read",
        fix="Try again in a moment.",
        file=METADATA_FILE,
    )


def map_segments(folder: Path, manifest: ArtifactManifest) -> tuple[State, tuple[SegmentReader, ...]]:
    """Map the segments of an artifact whose checksums and seal are verified.

    Returns the state of the index and the readers of its segments. Raises ArtifactDamaged.
    """
    from index.segments.generation import SegmentReader
    from index.segments.segment import Segment, make_file_name
    from index.segments.store import decode_numbers, make_state

    name = INDEX_FOLDER
    readers: list[SegmentReader] = []
    try:
        for id, dead_documents in manifest.parts:
            name = f"{INDEX_FOLDER}/{make_file_name(id)}"
            if name not in manifest.files:
                raise ArtifactDamaged.in_file(name, "the manifest does not list it")
            segment = Segment.load(folder / INDEX_FOLDER, id, FileStamp.of(folder / name))
            readers.append(SegmentReader.of(segment, decode_numbers(dead_documents)))
        state = make_state(manifest.state)
    except (IndexDamaged, OSError) as error:
        raise ArtifactDamaged.in_file(name, "its content is malformed") from error
    if sum(reader.size for reader in readers) != state.chunks or state.commit != manifest.tree:
        raise ArtifactDamaged.in_file(INDEX_FOLDER, "its segments differ from its manifest")
    return state, tuple(readers)


def read_moves(folder: Path, manifest: ArtifactManifest) -> Mapping[str, str]:
    """Read the paths of moved documents: each old path with the new one. Raises ArtifactDamaged."""
    name = manifest.moves_file
    if name is None:
        return {}
    try:
        moves = json.loads((folder / name).read_bytes())
        return {str(old): str(new) for old, new in moves.items()}
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise ArtifactDamaged.in_file(name, "its content is malformed") from error


def find_artifact_problems(folder: Path, key: bytes | None = None) -> list[str]:
    """Return the problems of an artifact's files, each as a line; empty if the artifact is valid.

    With a key, a missing seal of that key is also a problem. `find_metadata_problems` checks the content of
    `metadata.json`. Raises NotAnArtifact for a folder without an artifact.
    """
    data = read_metadata_bytes(folder)
    try:
        manifest = read_artifact_manifest(folder, data)
    except WorkspaceError as error:
        return [error.message]
    problems: list[str] = []
    for name in sorted(manifest.files):
        try:
            check_files(folder, manifest, (name,))
        except ArtifactDamaged as damage:
            problems.append(damage.message)
    if key is not None and not is_sealed(data, manifest, key):
        problems.append("the artifact does not have the seal of this key")
    return problems or _find_document_problems(folder, data, manifest)


def _stamp_metadata(folder: Path) -> FileStamp:
    try:
        return FileStamp.of(folder / METADATA_FILE)
    except OSError as error:
        raise make_missing_metadata_error(error) from None


def _open(folder: Path, metadata_stamp: FileStamp, data: bytes, key: bytes | None) -> Artifact:
    metadata, problem = parse_served_metadata(data)
    manifest = (
        read_artifact_manifest(folder, data)
        if problem is None
        else _find_manifest(folder, data, metadata.stats)
    )
    stamps = check_files(folder, manifest)
    is_trusted = key is not None and manifest.schema == SCHEMA_VERSION and is_sealed(data, manifest, key)
    return Artifact(
        folder, metadata, manifest, metadata_stamp, stamps, is_trusted, read_moves(folder, manifest), problem
    )


def _find_manifest(folder: Path, data: bytes, stats: Stats) -> ArtifactManifest:
    """Return the manifest of a `metadata.json` whose `source_commit` is malformed.

    A person may have edited the file. The name of a manifest is the digest of its `metadata.json`. Without a
    manifest of this name, the manifest with the same figures is returned. Its checksum and those of its files
    are verified, and the artifact is not trusted. Raises the errors of `read_artifact_manifest`.
    """
    try:
        return read_artifact_manifest(folder, data)
    except NotAnArtifact:
        figures = (stats.indexed_at, stats.total_chunks)
        matches = [
            manifest
            for manifest in read_all_manifests(folder)
            if (manifest.state.get("indexed_at"), manifest.state.get("chunks")) == figures
        ]
        if len(matches) != 1:
            raise
        return matches[0]


def _find_document_problems(folder: Path, data: bytes, manifest: ArtifactManifest) -> list[str]:
    """Return the problems of the documents of a complete artifact, each as a line."""
    from workspace.archive import Archive

    stats = parse_metadata(data).stats
    try:
        documents = Archive(folder, manifest.tree).snapshot().documents
    except WorkspaceError as error:
        return [error.message]
    if len(documents) != stats.total_files:
        return [
            f"metadata.json has a wrong number of files ({stats.total_files:,} instead of {len(documents):,})"
        ]
    return []
