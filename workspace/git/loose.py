"""Loose objects (gitrepository-layout, "objects"), read with a look at whether they are whole.

libgit2 never returns from one that is cut off in the middle, as a loss of power leaves it, so it is not asked
for any that was not looked at here.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from contextlib import suppress
from pathlib import Path

# More than the kind and the size of an object take, which stand before its bytes.
_HEADER = 64
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_PIECE = 1 << 16

BROKEN_OBJECTS = "docyard/broken-objects"
"""Where broken loose objects are set aside, within the common Git directory."""


class BrokenObject(Exception):
    """A loose object that is empty, cut off, or not what its name says."""


class LargeObject(Exception):
    """A loose object of more bytes than were asked for."""


def loose_path(common_dir: Path, id: str) -> Path:
    """Where an object stands, if it is loose."""
    return Path(f"{common_dir}/objects/{id[:2]}/{id[2:]}")


def read_loose(common_dir: Path, id: str, most: int | None = None) -> tuple[str, bytes] | None:
    """The kind and the bytes of an object; None if it is not loose.

    Raises BrokenObject, or LargeObject for one of more than `most` bytes, which are not all held then.
    """
    try:
        # A string and no file object, because this is asked for each object of a history.
        file = os.open(f"{common_dir}/objects/{id[:2]}/{id[2:]}", _FLAGS)
        try:
            # What does not shrink grows by less than this.
            if most is not None and os.fstat(file).st_size > most + most // 1000 + _HEADER:
                raise LargeObject(id)
            compressed = os.read(file, _PIECE)
            if len(compressed) == _PIECE:
                compressed = b"".join((compressed, *iter(lambda: os.read(file, _PIECE), b"")))
        finally:
            os.close(file)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError:
        raise BrokenObject(id) from None
    reader = zlib.decompressobj()
    try:
        raw = reader.decompress(compressed, 0 if most is None else most + _HEADER)
    except zlib.error:
        raise BrokenObject(id) from None
    header, _, data = raw.partition(b"\0")
    if most is not None and len(data) > most:
        raise LargeObject(id)
    if not reader.eof or hashlib.sha1(raw, usedforsecurity=False).hexdigest() != id:
        raise BrokenObject(id)
    kind, _, size = header.partition(b" ")
    if size != b"%d" % len(data):
        raise BrokenObject(id)
    return kind.decode("ascii", "replace"), data


def set_aside(common_dir: Path, id: str) -> bool:
    """Move an object that is loose and broken to where a person can still look at it; whether it was one."""
    try:
        read_loose(common_dir, id)
    except BrokenObject:
        aside = common_dir / BROKEN_OBJECTS
        aside.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            os.rename(loose_path(common_dir, id), free_name(aside / id))
        return True
    return False


def free_name(path: Path) -> Path:
    """The path itself, or the first of `path.1`, `path.2`, … that does not exist: nothing is replaced."""
    number, found = 0, path
    while os.path.lexists(found):
        number += 1
        found = path.with_name(f"{path.name}.{number}")
    return found
