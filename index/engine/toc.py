"""Whoosh's table of contents: the schema, and the segments with what in them is dead."""

from __future__ import annotations

import pickle
import struct
from array import array
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from whoosh.filedb.filestore import RamStorage
from whoosh.index import TOC

from index.engine.codec import FlatSegment
from index.engine.schema import NAME, schema
from index.integrity import IndexDamaged
from index.segments.generation import Part


class Entry(NamedTuple):
    """A segment as the table has it."""

    id: str
    dead_pages: Sequence[int]


def toc_name(number: int) -> str:
    """Name the file of a generation's table."""
    return str(TOC._filename(NAME, number))


def write_toc(number: int, parts: Sequence[Part]) -> bytes:
    """Give the bytes of a generation's table."""
    segments = [
        FlatSegment(
            part.segment.id,
            part.segment.size,
            len(part.dead),
            array("I", sorted(part.dead_pages)).tobytes(),
        )
        for part in parts
    ]
    return _head() + _tail(number, segments)


@cache
def _head() -> bytes:
    """Give what comes before the number in every table: making it takes longer than all the rest."""
    storage = RamStorage()
    TOC(schema(), [], 0).write(storage, NAME)
    return bytes(storage.files[toc_name(0)]).removesuffix(_tail(0, []))


def _tail(number: int, segments: list[FlatSegment]) -> bytes:
    return struct.pack("!ii", number, 0) + pickle.dumps(segments, -1)


def read_toc(number: int, data: bytes) -> list[Entry]:
    """Read a table whose checksum is right; it is unpickled. Raises IndexDamaged."""
    storage = RamStorage()
    storage.files[toc_name(number)] = data
    try:
        segments = TOC.read(storage, NAME, number, schema()).segments
        return [Entry(segment.segid, _numbers(segment.dead_pages)) for segment in segments]
    except Exception as error:
        # Whoosh checks nothing that it reads: a table of another version shows as whatever fails first.
        raise IndexDamaged.because(type(error).__name__) from error


def _numbers(data: bytes) -> array[int]:
    found = array("I")
    found.frombytes(data)
    return found
