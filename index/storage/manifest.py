"""Which files an index consists of, and their checksums: the manifest of an index's folder.

    <index>/<n>.manifest    {"files": {name: [bytes, CRC-32]}, "generation": n, "state": value, "seal": MAC}

The engine's own files carry no checksums, and it unpickles what it opens. So a further manifest is what
commits a change, together with what the index then stands for: the one of the highest number counts, a file
that it does not name is not there, and one that it names is opened only after its bytes were summed. CRC-32
finds damage at some 1 to 2 GB/s; against forgery stand the private folder and the seal, made with the user's
own key.
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

_MANIFEST = ".manifest"
_BUFFER = 1 << 20


class IndexDamaged(WorkspaceError):
    """The index's files could not be read, or are not what was written; it can always be rebuilt from Git."""

    code: ClassVar[str] = "INDEX_DAMAGED"

    @classmethod
    def because(cls, reason: str) -> IndexDamaged:
        return cls("the search index is damaged", fix="Run `docyard index rebuild`.", reason=reason)


class FileChecksum(NamedTuple):
    """What a file must be: its length in bytes and the CRC-32 of them."""

    size: int
    crc: int

    @classmethod
    def of(cls, data: bytes) -> FileChecksum:
        return cls(len(data), zlib.crc32(data))


class FileStamp(NamedTuple):
    """A file as it was when its sum was right."""

    file: Path
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, file: Path) -> FileStamp:
        """Look at a file as it is now. Raises OSError."""
        status = file.stat()
        return cls(file, status.st_ino, status.st_size, status.st_mtime_ns)

    def holds(self) -> bool:
        """Return True if the file was left alone since. One that is gone still serves whoever has it open."""
        try:
            # Asked before each search, of each segment.
            status = os.stat(self.file)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return self[1:] == (status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of one generation of an index, by name, and what it stands for, as a JSON value.

    `parts` names the segments in order, each with its dead pages as text; what these are is not known here.
    """

    generation: int
    files: Mapping[str, FileChecksum]
    state: Mapping[str, object] = field(default_factory=dict)
    parts: Sequence[tuple[str, str]] = ()

    def check(self, folder: Path, name: str) -> FileStamp:
        """Sum a file's bytes, which takes about a millisecond for each megabyte. Raises IndexDamaged."""
        if name not in self.files:
            raise IndexDamaged.because("a file is not in the manifest")
        file = folder / name
        try:
            stamp = FileStamp.of(file)
            right = stamp.size == self.files[name].size and _sum(file) == self.files[name]
        except OSError as error:
            raise IndexDamaged.because(type(error).__name__) from error
        if not right:
            raise IndexDamaged.because("a checksum is wrong")
        return stamp

    def leftovers(self, folder: Path) -> list[Path]:
        """List what stands in the folder and is not of this generation: the work of writers that died."""
        kept = {*self.files, _name(self.generation)}
        return [entry for entry in folder.iterdir() if entry.name not in kept]

    def sweep(self, folder: Path) -> None:
        """Remove the leftovers. Only for the writer: another's unfinished files are leftovers too."""
        remove_entries(self.leftovers(folder))


def newest_manifest(folder: Path) -> int:
    """Return the number of the manifest that counts, without reading it; -1 without one. Raises OSError."""
    names = [name for name in os.listdir(folder) if name.endswith(_MANIFEST)]
    return max((int(name.removesuffix(_MANIFEST)) for name in names), default=-1)


def read_manifest(folder: Path) -> Manifest:
    """Read which files are the index. Raises IndexDamaged if that cannot be told for certain."""
    try:
        number, data = _newest(folder)
        values = json.loads(data)
        seal = str(values.pop("seal"))
        if not hmac.compare_digest(seal.encode(), _seal(folder, values).encode()):
            raise IndexDamaged.because("the manifest's seal is not valid")
        if values["generation"] != number:
            raise IndexDamaged.because("the manifest is of another generation")
        files = {
            str(name): FileChecksum(int(size), int(crc)) for name, (size, crc) in values["files"].items()
        }
        return Manifest(
            number, files, dict(values["state"]), [(str(id), str(dead)) for id, dead in values["parts"]]
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise IndexDamaged.because(type(error).__name__) from error


def write_manifest(folder: Path, manifest: Manifest, durable: bool = False) -> None:
    """Make the files of a manifest the index, in one step. They must be written, and be what it says.

    Its name is a new one: to replace a file, some systems first wait for the disk.
    """
    values = {
        "files": manifest.files,
        "generation": manifest.generation,
        "parts": manifest.parts,
        "state": manifest.state,
    }
    sealed = _canonical({**values, "seal": _seal(folder, values)})
    write_atomically(folder / _name(manifest.generation), sealed, durable)


def _newest(folder: Path) -> tuple[int, bytes]:
    """Read the manifest of the highest number, again if a writer swept it away meanwhile. Raises OSError."""
    missed = -1
    while True:
        number = newest_manifest(folder)
        try:
            return number, (folder / _name(number)).read_bytes()
        except FileNotFoundError:
            if number == missed:
                raise
            missed = number


def _name(number: int) -> str:
    return f"{number}{_MANIFEST}"


def _sum(file: Path) -> FileChecksum:
    size = crc = 0
    buffer = memoryview(bytearray(_BUFFER))
    with file.open("rb", buffering=0) as stream:
        while count := stream.readinto(buffer):
            crc = zlib.crc32(buffer[:count], crc)
            size += count
    return FileChecksum(size, crc)


def _seal(folder: Path, values: Mapping[str, object]) -> str:
    text = b"docyard manifest\0" + folder.name.encode() + b"\0" + _canonical(values)
    return hmac.digest(load_user_key(), text, "sha256").hex()


def _canonical(values: Mapping[str, object]) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()
