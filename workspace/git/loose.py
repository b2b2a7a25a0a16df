"""Loose objects (gitrepository-layout, "objects"), checked before they are read.

libgit2 does not return from the read of an object that a loss of power truncated. So each object is checked
here before libgit2 reads it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from workspace.git.private_folder import make_subfolder

# An upper bound for the length of an object's header, which contains its kind and size.
_MAX_HEADER_BYTES = 64
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_CHUNK_BYTES = 1 << 16
_FIRST_CHUNK_BYTES = 1 << 12
_MAX_UNPACKED_BYTES = 1 << 28
_MAX_ATTEMPTS = 20
_PAUSE_S = 0.0005

T = TypeVar("T")

BROKEN_OBJECTS = "docyard/broken-objects"
"""The folder for broken loose objects that were moved out of `objects`, within the common Git directory."""


class BrokenObject(Exception):
    """An error: a loose object that is empty, truncated, unreadable, or does not match its id."""

    def __init__(self, id: str, reason: str) -> None:
        super().__init__(id)
        self.reason = reason


class LargeObject(Exception):
    """An error: a loose object that exceeds the requested size."""


_SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def is_shortage(error: OSError) -> bool:
    """Return True if the system lacked open files or memory, which says nothing about the file."""
    return error.errno in _SHORTAGES


def build_loose_path(common_dir: Path, id: str) -> Path:
    """Return the path of the file that contains an object if the object is loose."""
    return Path(f"{common_dir}/objects/{id[:2]}/{id[2:]}")


def read_loose(common_dir: Path, id: str, max_bytes: int | None = None) -> tuple[str, bytes] | None:
    """Return the kind and the bytes of an object; None if it is not loose.

    Raises BrokenObject, and LargeObject for an object of more than `max_bytes` bytes, which is not fully
    read. Raises OSError if the system has too few open files or too little memory.
    """
    try:
        # A string instead of a Path, because this function is called for each object of a history.
        file = os.open(f"{common_dir}/objects/{id[:2]}/{id[2:]}", _OPEN_FLAGS)
        try:
            # Compression can enlarge incompressible data by a thousandth.
            if (
                max_bytes is not None
                and os.fstat(file).st_size > max_bytes + max_bytes // 1000 + _MAX_HEADER_BYTES
            ):
                raise LargeObject(id)
            compressed = os.read(file, _CHUNK_BYTES)
            if len(compressed) == _CHUNK_BYTES:
                compressed = b"".join((compressed, *iter(lambda: os.read(file, _CHUNK_BYTES), b"")))
        finally:
            os.close(file)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        if is_shortage(error):
            raise
        raise BrokenObject(id, (os.strerror(error.errno) if error.errno else "").lower()) from None
    reader = zlib.decompressobj()
    try:
        raw = reader.decompress(compressed, 0 if max_bytes is None else max_bytes + _MAX_HEADER_BYTES)
    except zlib.error:
        raise BrokenObject(id, "its file is not compressed data") from None
    header, _, data = raw.partition(b"\0")
    if max_bytes is not None and len(data) > max_bytes:
        raise LargeObject(id)
    if not reader.eof:
        raise BrokenObject(id, "its file is truncated")
    if hashlib.sha1(raw, usedforsecurity=False).hexdigest() != id:
        raise BrokenObject(id, "its file does not match its id")
    kind, _, size = header.partition(b" ")
    if size != b"%d" % len(data):
        raise BrokenObject(id, "its file has another length")
    return kind.decode("ascii", "replace"), data


def move_broken_object(common_dir: Path, id: str) -> bool:
    """Move the file of a loose object to another folder if the object is broken; return True if it is.

    Raises OSError.
    """
    try:
        read_loose(common_dir, id)
    except BrokenObject:
        folder = make_subfolder(common_dir, Path(BROKEN_OBJECTS).name)
        with suppress(FileNotFoundError):
            os.rename(build_loose_path(common_dir, id), find_free_name(folder / id))
        return True
    return False


def is_loose(common_dir: Path, id: str) -> bool:
    """Return True if an object has a loose file now, without libgit2, which caches packs."""
    return os.path.exists(f"{common_dir}/objects/{id[:2]}/{id[2:]}")


def read_loose_file(common_dir: Path, id: str) -> bytes | None:
    """Return the stored bytes of the file of a loose object; None if the object is not loose."""
    try:
        with open(f"{common_dir}/objects/{id[:2]}/{id[2:]}", "rb") as stream:
            return stream.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def pack_loose(kind: str, data: bytes) -> bytes:
    """Return the bytes of the file of a loose object with this kind and this data."""
    return zlib.compress(b"%s %d\0" % (kind.encode(), len(data)) + data, 1)


def unpack_loose(concatenated_files: bytes) -> Iterator[tuple[str, bytes, str, bytes]]:
    """Yield each loose object in a concatenation of loose files: its id, its file, its kind and its data.

    The iteration ends at the first object that is truncated, damaged, or larger than 256 MiB.
    """
    view, start = memoryview(concatenated_files), 0
    while start < len(concatenated_files):
        reader, parts, size_read, position = zlib.decompressobj(), list[bytes](), 0, start
        while not reader.eof:
            # Only a chunk is passed to zlib, because zlib copies all bytes after the object.
            chunk = view[position : position + (_CHUNK_BYTES if parts else _FIRST_CHUNK_BYTES)]
            try:
                parts.append(reader.decompress(chunk, _MAX_UNPACKED_BYTES))
            except zlib.error:
                return
            size_read += len(parts[-1])
            position += len(chunk)
            if not reader.eof and (not chunk or reader.unconsumed_tail or size_read > _MAX_UNPACKED_BYTES):
                return
        position -= len(reader.unused_data)
        raw = b"".join(parts)
        header, _, data = raw.partition(b"\0")
        kind, _, size = header.partition(b" ")
        if size != b"%d" % len(data):
            return
        id = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
        yield id, bytes(view[start:position]), kind.decode("ascii", "replace"), data
        start = position


def write_loose(common_dir: Path, id: str, file: bytes, *, durable: bool) -> None:
    """Write the file of a loose object, even if a pack contains the object. Raises OSError."""
    target = build_loose_path(common_dir, id)

    def write() -> None:
        target.parent.mkdir(exist_ok=True)
        # Git removes files of this name that remain after a crash (git-prune).
        draft = target.with_name(f"tmp_obj_{secrets.token_hex(8)}")
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444), "wb") as stream:
                stream.write(file)
                stream.flush()
                if durable:
                    os.fsync(stream.fileno())
            os.replace(draft, target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        if durable:
            for folder in (target.parent, target.parent.parent):
                handle = os.open(folder, os.O_RDONLY)
                try:
                    os.fsync(handle)
                finally:
                    os.close(handle)

    repeat_while_pruned(write)


def repeat_while_pruned(write: Callable[[], T]) -> T:
    """Return the result of `write`; repeat the call if Git removed its folder or its draft meanwhile.

    `git repack` and `git gc` remove empty folders of loose objects, and `git prune` removes drafts.
    """
    for attempt in range(_MAX_ATTEMPTS - 1):
        # `mkdir` reports an existing folder, which may be removed before it is used.
        with suppress(FileNotFoundError, FileExistsError):
            return write()
        time.sleep(attempt * _PAUSE_S)
    return write()


def find_free_name(path: Path) -> Path:
    """Return the path, or the first of `path.1`, `path.2`, … that does not exist."""
    number, candidate = 0, path
    while os.path.lexists(candidate):
        number += 1
        candidate = path.with_name(f"{path.name}.{number}")
    return candidate
