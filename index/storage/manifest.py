"""The manifest of an index's folder: the files of the index, and their checksums.

    <index>/<n>.manifest    {"files": {name: [bytes, CRC-32]}, "generation": n,
                             "parts": [[id, dead documents]], "state": value, "seal": MAC}

A change is committed by a new manifest, with the checksums of the files and the state of the index. The
manifest with the highest number is current. Files that it does not list are ignored, and a listed file is
opened only after its checksum was verified. CRC-32 detects damage at 1 to 2 GB/s. The private folder and the
seal, made with the user's own key, prevent forgery.
"""

from __future__ import annotations

import hmac
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple

from index.storage.files import remove_entries, write_atomically
from index.storage.keys import load_user_key
from workspace.errors import WorkspaceError

_MANIFEST_SUFFIX = ".manifest"
_BUFFER_BYTES = 1 << 20


class IndexDamaged(WorkspaceError):
    """The index's files are unreadable or changed. The index can always be rebuilt from Git."""

    code: ClassVar[str] = "INDEX_DAMAGED"

    @classmethod
    def with_reason(cls, reason: str) -> IndexDamaged:
        return cls("the search index is damaged", fix="Run `docyard index rebuild`.", reason=reason)


class FileChecksum(NamedTuple):
    """The expected size of a file in bytes, and the CRC-32 of its content."""

    size: int
    crc: int

    @classmethod
    def of(cls, data: bytes) -> FileChecksum:
        return cls(len(data), zlib.crc32(data))


class FileStamp(NamedTuple):
    """The inode, size and modification time of a file when its checksum was verified."""

    file: Path
    inode: int
    size: int
    modified_ns: int

    @classmethod
    def of(cls, file: Path) -> FileStamp:
        """Return the current stamp of a file. Raises OSError."""
        status = file.stat()
        return cls(file, status.st_ino, status.st_size, status.st_mtime_ns)

    def is_unchanged(self) -> bool:
        """Return True if the file is unchanged. A removed file counts as unchanged: open maps stay valid."""
        try:
            # os.stat is faster than Path.stat, and this runs for each segment before each search.
            status = os.stat(self.file)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return self[1:] == (status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class IndexManifest:
    """The files of one generation of an index, by name, and its state, as a JSON value.

    `parts` has the ids of the segments in order, each with the encoded numbers of its dead documents
    (`index.segments.store`).
    """

    generation: int
    files: Mapping[str, FileChecksum]
    state: Mapping[str, object] = field(default_factory=dict)
    parts: Sequence[tuple[str, str]] = ()

    def verify_file(self, folder: Path, name: str) -> FileStamp:
        """Verify a file's checksum, in about a millisecond for each megabyte. Raises IndexDamaged."""
        if name not in self.files:
            raise IndexDamaged.with_reason(f"file {name} is not in the manifest")
        file = folder / name
        try:
            stamp = FileStamp.of(file)
            is_valid = stamp.size == self.files[name].size and _compute_checksum(file) == self.files[name]
        except OSError as error:
            raise IndexDamaged.with_reason(type(error).__name__) from error
        if not is_valid:
            raise IndexDamaged.with_reason(f"file {name} has a wrong checksum")
        return stamp

    def list_leftovers(self, folder: Path) -> list[Path]:
        """List the folder's entries that do not belong to this generation, such as files of dead writers."""
        current_names = {*self.files, _make_manifest_name(self.generation)}
        return [entry for entry in folder.iterdir() if entry.name not in current_names]

    def sweep(self, folder: Path) -> None:
        """Remove the leftovers. Only the writer may call this: unfinished files also count as leftovers."""
        remove_entries(self.list_leftovers(folder))


def find_newest_manifest_number(folder: Path) -> int:
    """Return the highest number of a manifest, without reading it; -1 without a manifest. Raises OSError."""
    names = [name for name in os.listdir(folder) if name.endswith(_MANIFEST_SUFFIX)]
    return max((int(name.removesuffix(_MANIFEST_SUFFIX)) for name in names), default=-1)


def read_index_manifest(folder: Path) -> IndexManifest:
    """Return the current manifest of a folder. Raises IndexDamaged if it is missing or invalid."""
    try:
        number, data = _read_newest_manifest(folder)
        values = json.loads(data)
        seal = str(values.pop("seal"))
        if not hmac.compare_digest(seal.encode(), _compute_seal(folder, values).encode()):
            raise IndexDamaged.with_reason("the manifest's seal is not valid")
        if values["generation"] != number:
            raise IndexDamaged.with_reason("the manifest is of another generation")
        files = {
            str(name): FileChecksum(int(size), int(crc)) for name, (size, crc) in values["files"].items()
        }
        return IndexManifest(
            number,
            files,
            dict(values["state"]),
            [(str(id), str(dead_documents)) for id, dead_documents in values["parts"]],
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise IndexDamaged.with_reason(type(error).__name__) from error


def write_index_manifest(folder: Path, manifest: IndexManifest, durable: bool = False) -> None:
    """Make the files of a manifest the current index in one step. The files must already be written.

    The manifest gets a new name, because replacing a file waits for the disk on some systems.
    """
    values = {
        "files": manifest.files,
        "generation": manifest.generation,
        "parts": manifest.parts,
        "state": manifest.state,
    }
    sealed_data = _encode_canonical({**values, "seal": _compute_seal(folder, values)})
    write_atomically(folder / _make_manifest_name(manifest.generation), sealed_data, durable)


def _read_newest_manifest(folder: Path) -> tuple[int, bytes]:
    """Read the manifest with the highest number; retry if a writer has removed it. Raises OSError."""
    missing_number = -1
    while True:
        number = find_newest_manifest_number(folder)
        try:
            return number, (folder / _make_manifest_name(number)).read_bytes()
        except FileNotFoundError:
            if number == missing_number:
                raise
            missing_number = number


def _make_manifest_name(number: int) -> str:
    return f"{number}{_MANIFEST_SUFFIX}"


def _compute_checksum(file: Path) -> FileChecksum:
    size = crc = 0
    buffer = memoryview(bytearray(_BUFFER_BYTES))
    with file.open("rb", buffering=0) as stream:
        while count := stream.readinto(buffer):
            crc = zlib.crc32(buffer[:count], crc)
            size += count
    return FileChecksum(size, crc)


def _compute_seal(folder: Path, values: Mapping[str, object]) -> str:
    text = b"docyard manifest\0" + folder.name.encode() + b"\0" + _encode_canonical(values)
    return hmac.digest(load_user_key(), text, "sha256").hex()


def _encode_canonical(values: Mapping[str, object]) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()
