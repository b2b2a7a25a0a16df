"""Offset maps: the bytes that an operation preserved, and their new positions.

A link means a place: a document, or an offset in it (a heading's line, an anchor). The operation that moves
bytes tells where they went, so that a place is known again whatever it is called afterwards.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workspace.document.document import Document
    from workspace.document.splices import Splice

Offset = tuple[str, int]
"""A place: the path of a document, and a byte of it."""

_NONE: Mapping[Offset, Offset] = MappingProxyType({})


class PreservedSpan(NamedTuple):
    """Bytes [old_start, old_end) of a document that an operation kept, and where the first of them is now."""

    old_path: str
    old_start: int
    old_end: int
    new_path: str
    new_start: int


@dataclass(frozen=True)
class OffsetMap:
    """The bytes that one operation preserved in the documents it touched; all others are unchanged.

    `pieces` are in no order, and none of one document overlap, before or after. `renamed` names headings
    whose lines were written anew and are meant to be the same headings: the offset of the line, before and
    after. `documents` says of each document where it is, None for one that was removed; one that only stands
    in `pieces` is where it was. `copies` are destinations of links that stand in another place as well, where
    they are to lead to the same.
    """

    pieces: tuple[PreservedSpan, ...]
    renamed: Mapping[Offset, Offset] = field(default_factory=dict)
    documents: Mapping[str, str | None] = field(default_factory=dict)
    copies: tuple[PreservedSpan, ...] = ()

    @classmethod
    def of_splices(
        cls,
        document: Document,
        splices: Iterable[Splice],
        new_path: str | None = None,
        renamed: Mapping[Offset, Offset] = _NONE,
    ) -> OffsetMap:
        """Return the map of an edit; `new_path` is the document's path afterwards, if it moved."""
        path = document.path
        target = path if new_path is None else new_path
        pieces: list[PreservedSpan] = []
        position = growth = 0
        for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
            if position < splice.start:
                pieces.append(PreservedSpan(path, position, splice.start, target, position + growth))
            growth += len(splice.replacement) - (splice.end - splice.start)
            position = splice.end
        if position < len(document.data):
            pieces.append(PreservedSpan(path, position, len(document.data), target, position + growth))
        return cls(tuple(pieces), renamed, {path: target})

    @classmethod
    def of_removal(cls, path: str) -> OffsetMap:
        """Return what is left when a document is removed: nothing."""
        return cls((), documents={path: None})

    @classmethod
    def of_creation(cls, path: str) -> OffsetMap:
        """Return what is kept when a document is made: nothing, for nothing was there."""
        return cls((), documents={path: path})

    def followed_by(self, later: OffsetMap) -> OffsetMap:
        """Return the map of this operation and a later one that moved no document."""
        pieces = [part for piece in self.pieces for part in later._parts(piece)]
        touched = self._all_new_paths
        pieces += [piece for piece in later.pieces if piece.old_path not in touched]
        renamed = {old: later.place(*new) or new for old, new in self.renamed.items()}
        for old, new in later.renamed.items():
            origin = self._origin(*old)
            if origin is not None:
                renamed.setdefault(origin, new)
        copies = [part for piece in self.copies for part in later._parts(piece)]
        return OffsetMap(tuple(pieces), renamed, {**later.documents, **self.documents}, tuple(copies))

    def _parts(self, piece: PreservedSpan) -> Iterator[PreservedSpan]:
        """Yield what this operation kept of the bytes that a piece of an earlier one says are there."""
        start, end = piece.new_start, piece.new_start + piece.old_end - piece.old_start
        if not self._is_touched(piece.new_path):
            yield piece
            return
        kept = self._by_path.get(piece.new_path, ())
        for part in kept[max(0, bisect_right(kept, start, key=lambda part: part.old_start) - 1) :]:
            if part.old_start >= end:
                return
            first, last = max(start, part.old_start), min(end, part.old_end)
            if first < last:
                old = piece.old_start + first - start
                new = part.new_start + first - part.old_start
                yield PreservedSpan(piece.old_path, old, old + last - first, part.new_path, new)

    def _origin(self, path: str, offset: int) -> Offset | None:
        """Return where a byte that stands there now was before; None if it was written by the operation."""
        if path not in self._all_new_paths:
            return path, offset
        for piece in self._by_new_path.get(path, ()):
            if piece.new_start <= offset < piece.new_start + piece.old_end - piece.old_start:
                return piece.old_path, piece.old_start + offset - piece.new_start
        return None

    @property
    def paths(self) -> frozenset[str]:
        """The documents that the operation touched, by the paths that they had."""
        return frozenset(self._by_path).union(self.documents, (path for path, _ in self.renamed))

    @property
    def new_paths(self) -> tuple[str, ...]:
        """The documents that the operation touched, by the paths that they have."""
        found = [*(self.document(path) for path in self.paths), *(piece.new_path for piece in self.pieces)]
        return tuple(sorted({path for path in found if path is not None}))

    def document(self, path: str) -> str | None:
        """Return where a document is now; None if it was removed."""
        return self.documents.get(path, path)

    def place(self, path: str, offset: int) -> Offset | None:
        """Return where a byte is now; None if it was not kept."""
        renamed = self.renamed.get((path, offset))
        if renamed is not None:
            return renamed
        if not self._is_touched(path):
            return path, offset
        piece = self._piece(path, offset)
        return None if piece is None else (piece.new_path, piece.new_start + offset - piece.old_start)

    def span(self, path: str, start: int, end: int) -> Offset | None:
        """Return where the bytes [start, end) begin now, if all of them were kept and are still together."""
        if not self._is_touched(path):
            return path, start
        piece = self._piece(path, start)
        if piece is None or end > piece.old_end:
            return None
        return piece.new_path, piece.new_start + start - piece.old_start

    def written(self, document: Document) -> Sequence[tuple[int, int]]:
        """Return the spans of a document that the operation wrote.

        A span of no bytes is where it took something out.
        """
        kept = self._by_new_path.get(document.path, ())
        if not kept and document.path not in self._all_new_paths:
            return ()
        spans: list[tuple[int, int]] = []
        position, before = 0, None
        for piece in kept:
            here = piece.old_path, piece.old_start
            if position < piece.new_start or (before is not None and before != here):
                spans.append((position, piece.new_start))
            position = piece.new_start + piece.old_end - piece.old_start
            before = piece.old_path, piece.old_end
        if position < len(document.data):
            spans.append((position, len(document.data)))
        return spans

    def lost(self, document: Document) -> Sequence[tuple[int, int]]:
        """Return the spans of an old document that were not preserved; its whole text if nothing was."""
        spans: list[tuple[int, int]] = []
        position = 0
        for piece in self._by_path.get(document.path, ()):
            if position < piece.old_start:
                spans.append((position, piece.old_start))
            position = piece.old_end
        if position < len(document.data) and self._is_touched(document.path):
            spans.append((position, len(document.data)))
        return spans

    def _is_touched(self, path: str) -> bool:
        return path in self._by_path or path in self.documents

    def _piece(self, path: str, offset: int) -> PreservedSpan | None:
        """Return the piece that holds a byte."""
        pieces = self._by_path.get(path, ())
        at = bisect_right(pieces, offset, key=lambda piece: piece.old_start) - 1
        return pieces[at] if at >= 0 and offset < pieces[at].old_end else None

    @cached_property
    def _all_new_paths(self) -> frozenset[str]:
        return frozenset(self.new_paths)

    @cached_property
    def _by_new_path(self) -> Mapping[str, Sequence[PreservedSpan]]:
        found: dict[str, list[PreservedSpan]] = {}
        for piece in sorted(self.pieces, key=lambda piece: piece.new_start):
            found.setdefault(piece.new_path, []).append(piece)
        return found

    @cached_property
    def _by_path(self) -> Mapping[str, Sequence[PreservedSpan]]:
        found: dict[str, list[PreservedSpan]] = {}
        for piece in sorted(self.pieces):
            found.setdefault(piece.old_path, []).append(piece)
        return found


def match_same_headings(
    before: Document, after: Document, splices: Iterable[Splice]
) -> Mapping[Offset, Offset]:
    """Return the headings that an edit rewrote at their old address: a renamed or replaced section.

    Only an address that names one section before and after tells.
    """
    found: dict[Offset, Offset] = {}
    starts = [section.heading_start for section in before.sections]
    growth = 0
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
        written = splice.start + growth
        growth += len(splice.replacement) - (splice.end - splice.start)
        first, last = bisect_left(starts, splice.start), bisect_left(starts, splice.end)
        for section in before.sections[first:last]:
            twins = after.sections_by_address(section.address)
            if len(before.sections_by_address(section.address)) != 1 or len(twins) != 1:
                continue
            offset = twins[0].heading_start
            if section.has_heading and twins[0].has_heading and written <= offset < splice.end + growth:
                found[before.path, section.heading_start] = after.path, offset
    return found
