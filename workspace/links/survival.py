"""Survival: which bytes an operation kept, and where they are now.

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
    from collections.abc import Iterable, Sequence

    from workspace.document import Document
    from workspace.edits.edit import Splice

Offset = tuple[str, int]
"""A place: the path of a document, and a byte of it."""

_NONE: Mapping[Offset, Offset] = MappingProxyType({})


class Piece(NamedTuple):
    """Bytes [old_start, old_end) of a document that an operation kept, and where the first of them is now."""

    old_path: str
    old_start: int
    old_end: int
    new_path: str
    new_start: int


@dataclass(frozen=True)
class Survival:
    """What one operation kept of the documents that it touched. All others are as they were.

    `pieces` are in no order, and none of one document overlap, before or after. `renamed` names headings
    whose lines were written anew and are meant to be the same headings: the offset of the line, before and
    after. `documents` says of each document where it is, None for one that was removed; one that only stands
    in `pieces` is where it was.
    """

    pieces: tuple[Piece, ...]
    renamed: Mapping[Offset, Offset] = field(default_factory=dict)
    documents: Mapping[str, str | None] = field(default_factory=dict)

    @classmethod
    def of_splices(
        cls,
        document: Document,
        splices: Iterable[Splice],
        new_path: str | None = None,
        renamed: Mapping[Offset, Offset] = _NONE,
    ) -> Survival:
        """What an edit of a document keeps; `new_path` is where the document is afterwards, if elsewhere."""
        path = document.path
        target = path if new_path is None else new_path
        pieces: list[Piece] = []
        position = growth = 0
        for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
            if position < splice.start:
                pieces.append(Piece(path, position, splice.start, target, position + growth))
            growth += len(splice.replacement) - (splice.end - splice.start)
            position = splice.end
        if position < len(document.data):
            pieces.append(Piece(path, position, len(document.data), target, position + growth))
        return cls(tuple(pieces), renamed, {path: target})

    @classmethod
    def of_removal(cls, path: str) -> Survival:
        """What is left when a document is removed: nothing."""
        return cls((), documents={path: None})

    @classmethod
    def of_creation(cls, path: str) -> Survival:
        """What is kept when a document is made: nothing, for nothing was there."""
        return cls((), documents={path: path})

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
        """Where a document is now; None if it was removed."""
        return self.documents.get(path, path)

    def place(self, path: str, offset: int) -> Offset | None:
        """Where a byte is now; None if it was not kept."""
        renamed = self.renamed.get((path, offset))
        if renamed is not None:
            return renamed
        if not self._is_touched(path):
            return path, offset
        piece = self._piece(path, offset)
        return None if piece is None else (piece.new_path, piece.new_start + offset - piece.old_start)

    def span(self, path: str, start: int, end: int) -> Offset | None:
        """Where the bytes [start, end) begin now, if all of them were kept and are still together."""
        if not self._is_touched(path):
            return path, start
        piece = self._piece(path, start)
        if piece is None or end > piece.old_end:
            return None
        return piece.new_path, piece.new_start + start - piece.old_start

    def written(self, document: Document) -> Sequence[tuple[int, int]]:
        """The spans of a document, as it is now, that were not kept from before: what the operation wrote."""
        kept = sorted(
            (piece.new_start, piece.new_start + piece.old_end - piece.old_start)
            for piece in self.pieces
            if piece.new_path == document.path
        )
        if not kept and document.path not in self.new_paths:
            return ()
        spans: list[tuple[int, int]] = []
        position = 0
        for start, end in kept:
            if position < start:
                spans.append((position, start))
            position = end
        if position < len(document.data):
            spans.append((position, len(document.data)))
        return spans

    def _is_touched(self, path: str) -> bool:
        return path in self._by_path or path in self.documents

    def _piece(self, path: str, offset: int) -> Piece | None:
        """The piece that holds a byte."""
        pieces = self._by_path.get(path, ())
        at = bisect_right(pieces, offset, key=lambda piece: piece.old_start) - 1
        return pieces[at] if at >= 0 and offset < pieces[at].old_end else None

    @cached_property
    def _by_path(self) -> Mapping[str, Sequence[Piece]]:
        found: dict[str, list[Piece]] = {}
        for piece in sorted(self.pieces):
            found.setdefault(piece.old_path, []).append(piece)
        return found


def same_headings(before: Document, after: Document, splices: Iterable[Splice]) -> Mapping[Offset, Offset]:
    """The headings that an edit wrote anew at their old address: a renamed section, or text sent again.

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
