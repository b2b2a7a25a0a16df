"""Git's index (gitformat-index) as a value, read entry by entry and changed by splicing bytes.

libgit2 needs 10 ms to parse and write an index of 10,000 files, which is most of the time of a batch. This
module does not parse the entries of a cached index again, and does not encode unchanged entries again.

It also encodes entries ("Index entry") and the checksum after them, and edits the tree cache ("Cache tree"),
which maps each folder to its tree.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

from workspace.git.repository import DamagedRepository

FIXED_PART_BYTES = 62
"""The number of bytes of an entry before its name, without the two extra bytes of `EXTENDED_FLAG`."""

CHECKSUM_BYTES = 20
"""The length of the checksum in bytes."""

LONG_NAME_LENGTH = 0xFFF
"""The length field in the flags of an entry whose name has this number of bytes or more."""

EXTENDED_FLAG = 0x4000
"""The flag of an entry that has two more bytes of flags."""


def build_fixed_part(blob_and_mode: tuple[str, int], name: bytes, extended_flag: int) -> bytes:
    """Return the bytes of an entry before its name.

    Zeros in place of the stat(2) data make Git compare the file again.
    """
    id, mode = blob_and_mode
    flags = min(len(name), LONG_NAME_LENGTH) | extended_flag
    return bytes(24) + mode.to_bytes(4, "big") + bytes(12) + bytes.fromhex(id) + flags.to_bytes(2, "big")


def pad_entry(entry: bytes) -> bytes:
    """Return an entry of version 2 or 3, padded with one to eight zero bytes."""
    return entry + bytes(8 - len(entry) % 8)


def compress_name(name: bytes, previous: bytes) -> bytes:
    """Encode a name in version 4: the number of bytes to drop from the previous name, and the rest."""
    pairs = zip(name, previous, strict=False)
    shared_count = next(
        (index for index, (left, right) in enumerate(pairs) if left != right), min(len(name), len(previous))
    )
    value = len(previous) - shared_count
    digits = [value & 127]
    while value := value >> 7:
        value -= 1
        digits.append(128 | value & 127)
    return bytes(reversed(digits)) + name[shared_count:] + b"\0"


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number in the encoding of pack offsets (gitformat-pack), and the offset after it."""
    byte = data[position]
    value = byte & 127
    while byte & 128:
        position += 1
        byte = data[position]
        value = (value + 1 << 7) + (byte & 127)
    return value, position + 1


def read_flags(fixed_part: bytes | bytearray) -> int:
    """Return the flags in the fixed part of an entry."""
    return fixed_part[60] << 8 | fixed_part[61]


def compute_checksum(data: bytes) -> bytes:
    """Return the checksum of the bytes of an index."""
    return sha1(data, usedforsecurity=False).digest()


def append_checksum(*parts: bytes | memoryview) -> bytes:
    """Return the bytes of an index: these parts, followed by their checksum."""
    digest = sha1(usedforsecurity=False)
    for part in parts:
        digest.update(part)
    return b"".join((*parts, digest.digest()))


_ID_BYTES = 20  # bytes of a tree's id


def invalidate_folders(tree_cache: bytes, paths: Iterable[bytes]) -> bytes:
    """Return the tree cache with the folders above these paths marked as invalid.

    Raises ValueError if the cache cannot be read.
    """
    folders: set[bytes] = set()
    for path in paths:
        folders.add(b"")
        while (slash := path.rfind(b"/")) >= 0:
            path = path[:slash]
            folders.add(path)
    if not folders:
        return tree_cache
    parts: list[bytes] = []
    position = 0
    # Each enclosing folder with the number of its unread subfolders.
    enclosing_folders: list[tuple[bytes, int]] = []
    while position < len(tree_cache):
        end = tree_cache.index(0, position)
        newline = tree_cache.index(b"\n", end)
        count, subfolder_count = tree_cache[end + 1 : newline].split(b" ")
        name = tree_cache[position:end]
        next_position = newline + 1 + (_ID_BYTES if not count.startswith(b"-") else 0)
        path = enclosing_folders[-1][0] + name if enclosing_folders else name
        if path in folders:
            parts.append(name + b"\0-1 " + subfolder_count + b"\n")
        else:
            parts.append(tree_cache[position:next_position])
        position = next_position
        if enclosing_folders:
            enclosing_folders[-1] = (enclosing_folders[-1][0], enclosing_folders[-1][1] - 1)
        enclosing_folders.append((path + b"/" if path else b"", int(subfolder_count)))
        while enclosing_folders and not enclosing_folders[-1][1]:
            enclosing_folders.pop()
    return b"".join(parts)


_HEADER = struct.Struct(">4sII")
_EXTENSION = struct.Struct(">4sI")
_MODE_SLICE = slice(24, 28)
_ID_SLICE = slice(40, 60)
_STAGE_MASK = 0x3000
_INTENT_TO_ADD_FLAG, _SKIP_WORKTREE_FLAG = 1 << 13, 1 << 14

# A mixed reset builds the index from HEAD and does not change the files.
_REBUILD_COMMAND = 'mv "$(git rev-parse --git-path index)" broken-index && git reset'


class SplitIndex(DamagedRepository):
    """An error: Git's index is split over two files (git-update-index, "Split index"), and not supported."""


class PathOccupied(Exception):
    """An error: a new path that needs a folder at the path of a file in the index, or the reverse."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The entry of one path in Git's index."""

    id: str
    mode: int
    intent_to_add: bool
    skip_worktree: bool


class _Entries(NamedTuple):
    """The names in order, the offset of each entry, and the offset at which the entries end."""

    names: list[bytes]
    offsets: list[int]
    end: int
    is_conflicted: bool


class IndexFile:
    """The bytes of an index. A path has one entry, unless the index `is_conflicted`.

    Raises:
        SplitIndex: the rest of the index is in another file.
        DamagedRepository: the index cannot be read.
    """

    __slots__ = ("_entries", "_version", "data")

    def __init__(self, data: bytes, entries: _Entries | None = None) -> None:
        self.data = data
        try:
            _, self._version, _ = _HEADER.unpack_from(data)
            self._entries = entries or self._parse()
        except (struct.error, IndexError, ValueError):
            raise DamagedRepository("Git's index cannot be read", fix=_REBUILD_COMMAND) from None

    @classmethod
    def read(cls, path: Path) -> IndexFile:
        """Read an index; a missing index is empty."""
        try:
            return cls(path.read_bytes())
        except FileNotFoundError:
            return cls.empty()

    @classmethod
    def empty(cls) -> IndexFile:
        """Return an index without entries."""
        return cls(append_checksum(_HEADER.pack(b"DIRC", 2, 0)))

    def __len__(self) -> int:
        return len(self._entries.names)

    @property
    def is_conflicted(self) -> bool:
        """Return True if a path is unmerged."""
        return self._entries.is_conflicted

    def entry(self, path: str) -> IndexEntry | None:
        """Return the entry of a path, or None."""
        row = self._find_row(os.fsencode(path))
        if row is None:
            return None
        start = self._entries.offsets[row]
        fixed_part = self.data[start : start + FIXED_PART_BYTES + 2]
        flags = int.from_bytes(fixed_part[62:64], "big") if read_flags(fixed_part) & EXTENDED_FLAG else 0
        return IndexEntry(
            fixed_part[_ID_SLICE].hex(),
            int.from_bytes(fixed_part[_MODE_SLICE], "big"),
            bool(flags & _INTENT_TO_ADD_FLAG),
            bool(flags & _SKIP_WORKTREE_FLAG),
        )

    def with_changes(self, changes: Mapping[str, tuple[str, int] | None]) -> IndexFile:
        """Return the index with a blob and a mode set at each path; None removes a path.

        A changed entry has no file times, so Git compares the content of the file the next time. Other
        entries are unchanged. Only two extensions are preserved: the tree cache, without changed folders, and
        the records of resolved conflicts.

        Raises:
            PathOccupied: a new path needs a folder at the path of a file, or the reverse.
        """
        removed_names = [
            os.fsencode(path) for path, blob_and_mode in changes.items() if blob_and_mode is None
        ]
        new_entries = {
            os.fsencode(path): blob_and_mode
            for path, blob_and_mode in changes.items()
            if blob_and_mode is not None
        }
        present_names = [name for name in removed_names if self._find_row(name) is not None]
        added_names = [name for name in new_entries if self._find_row(name) is None]
        for name in added_names:
            self._check_path_is_free(name, {*removed_names})
        extensions = b"".join(self._iterate_extensions(self._entries.end, [*removed_names, *new_entries]))
        if not present_names and not added_names:
            view, position = memoryview(self.data), 0
            parts: list[bytes | memoryview] = []
            for name in sorted(new_entries):
                row = self._find_row(name)
                assert row is not None
                start = self._entries.offsets[row]
                flags = read_flags(self.data[start : start + FIXED_PART_BYTES]) & EXTENDED_FLAG
                entry = build_fixed_part(new_entries[name], name, flags) + (b"\0\0" if flags else b"")
                parts += (view[position:start], entry)
                position = start + len(entry)
            return IndexFile(
                append_checksum(*parts, view[position : self._entries.end], extensions), self._entries
            )
        return IndexFile(self._rebuild(removed_names, new_entries, extensions))

    def _rebuild(
        self, removed_names: list[bytes], new_entries: Mapping[bytes, tuple[str, int]], extensions: bytes
    ) -> bytes:
        """Return the bytes with added and removed entries, in order of names."""
        build_parts = self._recompress if self._version == 4 else self._splice
        count, parts = build_parts({*removed_names, *new_entries}, new_entries)
        return append_checksum(_HEADER.pack(b"DIRC", self._version, count), *parts, extensions)

    def _splice(
        self, dropped_names: set[bytes], new_entries: Mapping[bytes, tuple[str, int]]
    ) -> tuple[int, list[bytes]]:
        entries = self._entries
        bounds = [*entries.offsets, entries.end]
        parts: list[bytes] = []
        count, position = len(self), _HEADER.size
        for name in sorted(dropped_names):
            row = bisect_left(entries.names, name)
            parts.append(self.data[position : bounds[row]])
            position = bounds[row]
            if self._find_row(name) is not None:
                position = bounds[row + 1]
                count -= 1
            if name in new_entries:
                parts.append(pad_entry(build_fixed_part(new_entries[name], name, 0) + name))
                count += 1
        return count, [*parts, self.data[position : entries.end]]

    def _recompress(
        self, dropped_names: set[bytes], new_entries: Mapping[bytes, tuple[str, int]]
    ) -> tuple[int, list[bytes]]:
        """Return the number of entries and their bytes in version 4, with compressed names."""
        entries = self._entries
        named_fixed_parts = [
            (name, self._read_fixed_part(start))
            for name, start in zip(entries.names, entries.offsets, strict=True)
            if name not in dropped_names
        ]
        named_fixed_parts += [
            (name, build_fixed_part(blob_and_mode, name, 0)) for name, blob_and_mode in new_entries.items()
        ]
        parts: list[bytes] = []
        previous = b""
        for name, fixed_part in sorted(named_fixed_parts):
            parts += (fixed_part, compress_name(name, previous))
            previous = name
        return len(named_fixed_parts), parts

    def _find_row(self, name: bytes) -> int | None:
        names = self._entries.names
        row = bisect_left(names, name)
        return row if row < len(names) and names[row] == name else None

    def _check_path_is_free(self, name: bytes, removed_names: set[bytes]) -> None:
        """Raise PathOccupied if the index has a file at a folder of `name`, or a folder at `name`."""
        names = self._entries.names
        folder = name
        while (slash := folder.rfind(b"/")) >= 0:
            folder = folder[:slash]
            if self._find_row(folder) is not None and folder not in removed_names:
                raise PathOccupied(os.fsdecode(name))
        row = bisect_left(names, name + b"/")
        while row < len(names) and names[row].startswith(name + b"/"):
            if names[row] not in removed_names:
                raise PathOccupied(os.fsdecode(name))
            row += 1

    def _read_fixed_part(self, start: int) -> bytes:
        """Return the bytes of an entry before its name, with the bytes of `EXTENDED_FLAG`."""
        extended_flag = read_flags(self.data[start : start + FIXED_PART_BYTES]) & EXTENDED_FLAG
        return self.data[start : start + FIXED_PART_BYTES + (2 if extended_flag else 0)]

    def _parse(self) -> _Entries:
        data = self.data
        magic, version, count = _HEADER.unpack_from(data)
        if magic != b"DIRC" or version not in (2, 3, 4):
            raise ValueError
        # Git omits the checksum if `index.skipHash` is set.
        if data[-CHECKSUM_BYTES:] not in (compute_checksum(data[:-CHECKSUM_BYTES]), bytes(CHECKSUM_BYTES)):
            raise ValueError
        names: list[bytes] = []
        offsets: list[int] = []
        stages = 0
        name, position = b"", _HEADER.size
        for _ in range(count):
            flags = data[position + 60] << 8 | data[position + 61]
            start = position + (FIXED_PART_BYTES + 2 if flags & EXTENDED_FLAG else FIXED_PART_BYTES)
            if version == 4:
                dropped_count, start = read_varint(data, start)
                end = data.index(0, start)
                name = name[: len(name) - dropped_count] + data[start:end]
            else:
                length = flags & LONG_NAME_LENGTH
                end = start + length if length < LONG_NAME_LENGTH else data.index(0, start)
                name = data[start:end]
            names.append(name)
            offsets.append(position)
            stages |= flags & _STAGE_MASK
            position = end + 1 if version == 4 else position + (end - position + 8) // 8 * 8
        if names != sorted(names):
            raise ValueError
        for _ in self._iterate_extensions(position, ()):
            pass
        return _Entries(names, offsets, position, bool(stages))

    def _iterate_extensions(self, position: int, changed_names: list[bytes] | tuple[()]) -> Iterator[bytes]:
        """Yield the extensions that are valid after a change of these paths, each with its header."""
        end = len(self.data) - CHECKSUM_BYTES
        while position < end:
            name, size = _EXTENSION.unpack_from(self.data, position)
            content = self.data[position + _EXTENSION.size : position + _EXTENSION.size + size]
            position += _EXTENSION.size + size
            if position > end:
                raise ValueError
            if name == b"link":
                raise SplitIndex("Git's index is split", fix="git update-index --no-split-index")
            if not name[:1].isupper():
                # Extensions in lower case change the meaning of the entries.
                raise DamagedRepository(
                    "Git's index has an extension that only Git can read", fix="git sparse-checkout disable"
                )
            if name == b"TREE":
                content = invalidate_folders(content, changed_names)
            if name in (b"TREE", b"REUC"):
                yield _EXTENSION.pack(name, len(content)) + content
