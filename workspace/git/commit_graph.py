"""Git's commit-graph: trees, parents and times of many commits in one file (gitformat-commit-graph(5)).

`git gc` writes it, or `git maintenance` in several layers, each upon those before it. It is only read here,
and only where it is whole. What is in no layer is read from its object.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from bisect import bisect_left
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

_SIGNATURE = b"CGPH\1\1"
_HEADER = struct.Struct(">6sBB")
_CHUNK = struct.Struct(">4sQ")
_COMMIT = struct.Struct(">20sIIII")
_FANOUT = struct.Struct(">256I")
_ID = 20
_NO_PARENT = 0x70000000
_MORE_PARENTS = 0x80000000
_POSITION = 0x7FFFFFFF
_HIGH_TIME = 3  # bits of the time above those of its own word
_KEPT = 100_000


class Row(NamedTuple):
    """A commit of the file: its tree, its parents, and when it was committed, in seconds since 1970 UTC."""

    tree: str
    parents: tuple[str, ...]
    time: int


class _Ids:
    """The sorted ids of a layer as a sequence."""

    def __init__(self, data: mmap.mmap, start: int, count: int) -> None:
        self._data, self._start, self._count = data, start, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, at: int) -> bytes:
        begin = self._start + _ID * at
        return self._data[begin : begin + _ID]


class _Layer(NamedTuple):
    """A file: `first` is the position of its first commit among those of all layers."""

    data: mmap.mmap
    first: int
    ids: _Ids
    fanout: tuple[int, ...]
    commits: int
    edges: int
    edge_count: int


class BrokenGraph(Exception):
    """A file that is no commit-graph of this version, or is not whole."""


class CommitGraph:
    """The layers of a repository's commit-graph, the oldest first. Safe in several threads."""

    def __init__(self, layers: list[_Layer]) -> None:
        self._layers = layers
        # A commit names its parents by position, so that most are never looked for.
        self._positions: dict[str, int] = {}

    @classmethod
    def open(cls, objects: Path) -> CommitGraph | None:
        """What `objects/info` of a repository holds; None if there is none, or a part of it is not whole."""
        layers: list[_Layer] = []
        try:
            for path in _files(objects / "info"):
                layers.append(_read(path, sum(len(layer.ids) for layer in layers)))
        except (OSError, ValueError, struct.error, BrokenGraph):
            return None
        return cls(layers) if layers else None

    def find(self, id: str) -> Row | None:
        """A commit by its id; None if it is in no layer."""
        position = self._positions.get(id)
        if position is None:
            position = self._look_for(bytes.fromhex(id))
        return None if position is None else self._row(position)

    def _look_for(self, id: bytes) -> int | None:
        for layer in self._layers:
            low = layer.fanout[id[0] - 1] if id[0] else 0
            at = bisect_left(layer.ids, id, low, layer.fanout[id[0]])
            if at < len(layer.ids) and layer.ids[at] == id:
                return layer.first + at
        return None

    def _row(self, position: int) -> Row | None:
        layer = self._layer(position)
        at = layer.commits + _COMMIT.size * (position - layer.first)
        tree, one, other, high, low = _COMMIT.unpack_from(layer.data, at)
        places = [] if one == _NO_PARENT else [one]
        if other & _MORE_PARENTS:
            places += _edges(layer, other & _POSITION)
        elif other != _NO_PARENT:
            places.append(other)
        if any(place >= layer.first + len(layer.ids) for place in places):
            return None
        parents = tuple(map(self._id, places))
        if len(self._positions) > _KEPT:
            self._positions.clear()
        self._positions.update(zip(parents, places, strict=True))
        return Row(tree.hex(), parents, (high & _HIGH_TIME) << 32 | low)

    def _id(self, position: int) -> str:
        layer = self._layer(position)
        return layer.ids[position - layer.first].hex()

    def _layer(self, position: int) -> _Layer:
        if position >= self._layers[-1].first:
            return self._layers[-1]
        return next(layer for layer in reversed(self._layers) if layer.first <= position)


def _edges(layer: _Layer, at: int) -> list[int]:
    """The parents of an octopus merge after its first; the last of them is marked."""
    found: list[int] = []
    while at < layer.edge_count:
        (edge,) = struct.unpack_from(">I", layer.data, layer.edges + 4 * at)
        found.append(edge & _POSITION)
        if edge & _MORE_PARENTS:
            break
        at += 1
    return found


def _files(info: Path) -> list[Path]:
    """The file of all commits, if there is one, else those of the chain that is named."""
    if (info / "commit-graph").exists():
        return [info / "commit-graph"]
    folder = info / "commit-graphs"
    with suppress(FileNotFoundError):
        names = (folder / "commit-graph-chain").read_text("ascii").split()
        if not all(name.isalnum() for name in names):
            raise BrokenGraph(folder.name)
        return [folder / f"graph-{name}.graph" for name in names]
    return []


def _read(path: Path, first: int) -> _Layer:
    """A file, once its checksum was compared. Raises OSError, ValueError, struct.error and BrokenGraph."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    signature, count, _ = _HEADER.unpack_from(data)
    with memoryview(data) as view:
        sum_ = hashlib.sha1(view[:-_ID], usedforsecurity=False).digest()
    if signature != _SIGNATURE or sum_ != data[-_ID:]:
        raise BrokenGraph(path.name)
    rows = [_CHUNK.unpack_from(data, _HEADER.size + _CHUNK.size * row) for row in range(count + 1)]
    chunks = {name: (start, end - start) for (name, start), (_, end) in pairwise(rows)}
    if not {b"OIDF", b"OIDL", b"CDAT"} <= chunks.keys():
        raise BrokenGraph(path.name)
    fanout = _FANOUT.unpack_from(data, chunks[b"OIDF"][0])
    size = fanout[-1]
    if chunks[b"OIDL"][1] != _ID * size or chunks[b"CDAT"][1] != _COMMIT.size * size:
        raise BrokenGraph(path.name)
    edges, length = chunks.get(b"EDGE", (0, 0))
    ids = _Ids(data, chunks[b"OIDL"][0], size)
    return _Layer(data, first, ids, fanout, chunks[b"CDAT"][0], edges, length // 4)
