"""Which files an index consists of, and their checksums: the manifest of an index's folder.

    <index>/manifest    {"files": {name: [bytes, CRC-32]}, "generation": n, "seal": MAC}

The engine's own files carry no checksums, and it unpickles what it opens. So replacing the manifest is what
commits a change: a file that it does not name is not there, and one that it names is opened only after its
bytes were summed. CRC-32 finds damage at some 2 GB/s; against forgery stand the private folder and the seal,
which is made with the user's own key.
"""

from __future__ import annotations

import hmac
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from index.files import remove, write_atomically
from index.keys import user_key
from workspace.errors import WorkspaceError

MANIFEST = "manifest"
_BUFFER = 1 << 20


class IndexDamaged(WorkspaceError):
    """The index's files could not be read, or are not what was written; it can always be rebuilt from Git."""

    code: ClassVar[str] = "INDEX_DAMAGED"

    @classmethod
    def because(cls, reason: str) -> IndexDamaged:
        return cls("the search index is damaged", fix="Run `docyard index rebuild`.", reason=reason)


class Sum(NamedTuple):
    """What a file must be: its length in bytes and the CRC-32 of them."""

    size: int
    crc: int


class Stamp(NamedTuple):
    """A file as it was when its sum was right."""

    file: Path
    inode: int
    size: int
    modified: int

    def holds(self) -> bool:
        """Whether the file was left alone since. One that is gone still serves whoever has it open."""
        try:
            return self == _stamp(self.file)
        except FileNotFoundError:
            return True
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files of one generation of an index, by name."""

    generation: int
    files: Mapping[str, Sum]

    def check(self, folder: Path, name: str) -> Stamp:
        """Sum a file's bytes, which takes about half a millisecond for each megabyte. Raises IndexDamaged."""
        if name not in self.files:
            raise IndexDamaged.because("a file is not in the manifest")
        file = folder / name
        try:
            stamp = _stamp(file)
            right = stamp.size == self.files[name].size and _sum(file) == self.files[name]
        except OSError as error:
            raise IndexDamaged.because(type(error).__name__) from error
        if not right:
            raise IndexDamaged.because("a checksum is wrong")
        return stamp

    def leftovers(self, folder: Path) -> list[Path]:
        """List what stands in the folder and is not of this generation: the work of writers that died."""
        return [
            entry for entry in folder.iterdir() if entry.name not in self.files and entry.name != MANIFEST
        ]

    def sweep(self, folder: Path) -> None:
        """Remove the leftovers. Only for the writer: another's unfinished files are leftovers too."""
        remove(self.leftovers(folder))


def read_manifest(folder: Path) -> Manifest:
    """Read which files are the index. Raises IndexDamaged if that cannot be told for certain."""
    try:
        values = json.loads((folder / MANIFEST).read_bytes())
        seal = str(values.pop("seal"))
        if not hmac.compare_digest(seal.encode(), _seal(folder, values).encode()):
            raise IndexDamaged.because("the manifest is not ours")
        files = {str(name): Sum(int(size), int(crc)) for name, (size, crc) in values["files"].items()}
        return Manifest(int(values["generation"]), files)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise IndexDamaged.because(type(error).__name__) from error


def write_manifest(folder: Path, generation: int, names: Iterable[str], known: Manifest | None) -> Manifest:
    """Make these files the index, in one step. Files that `known` has are not summed again."""
    old = known.files if known else {}
    manifest = Manifest(generation, {name: old.get(name) or _sum(folder / name) for name in sorted(names)})
    values = {"files": manifest.files, "generation": generation}
    write_atomically(folder / MANIFEST, _canonical({**values, "seal": _seal(folder, values)}))
    return manifest


def _stamp(file: Path) -> Stamp:
    status = file.stat()
    return Stamp(file, status.st_ino, status.st_size, status.st_mtime_ns)


def _sum(file: Path) -> Sum:
    size = crc = 0
    buffer = memoryview(bytearray(_BUFFER))
    with file.open("rb", buffering=0) as stream:
        while count := stream.readinto(buffer):
            crc = zlib.crc32(buffer[:count], crc)
            size += count
    return Sum(size, crc)


def _seal(folder: Path, values: Mapping[str, object]) -> str:
    text = b"docyard manifest\0" + folder.name.encode() + b"\0" + _canonical(values)
    return hmac.digest(user_key(), text, "sha256").hex()


def _canonical(values: Mapping[str, object]) -> bytes:
    return json.dumps(values, sort_keys=True, separators=(",", ":")).encode()
