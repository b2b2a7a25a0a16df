"""Whoosh's table of contents: the schema, and the segments with what in them is dead.

It is written for Whoosh's own searcher. What we read stands in the manifest, so nothing of ours is unpickled.
"""

from __future__ import annotations

import pickle
import struct
from array import array
from collections.abc import Sequence
from functools import cache

from whoosh.filedb.filestore import RamStorage
from whoosh.index import TOC

from index.segments.generation import Part
from index.whoosh_engine.codec import FlatSegment
from index.whoosh_engine.schema import NAME, schema


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
    (table,) = storage.files.values()
    return bytes(table).removesuffix(_tail(0, []))


def _tail(number: int, segments: list[FlatSegment]) -> bytes:
    return struct.pack("!ii", number, 0) + pickle.dumps(segments, -1)
