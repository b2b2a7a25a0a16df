"""Offset maps: the bytes that an operation preserved, and their new positions.

A link refers to a document or to an offset in one, such as the line of a heading. The operation that moves
bytes returns their new positions, so that the link's target is found after a move or a rename.
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
"""The path of a document, and the offset of a byte in it."""

_NONE: Mapping[Offset, Offset] = MappingProxyType({})


class PreservedSpan(NamedTuple):
    """A span of bytes [old_start, old_end) that an operation preserved, and its new position."""

    old_path: str
    old_start: int
    old_end: int
    new_path: str
    new_start: int


@dataclass(frozen=True)
class OffsetMap:
    """The bytes that one operation preserved in the documents it changed; all others are unchanged.

    `pieces` are unordered. The old ranges of the pieces of one document do not overlap, nor do the new ones.
    `renamed` maps the old offset of a rewritten heading's line to the new one, if it is still the same
    heading. `documents` maps the old path of each document to the new one, or to None if it was removed. A
    document that is only in `pieces` has its old path. `copies` are destinations of links that were copied to
    other positions, where they must lead to the same targets.
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
        old_position = growth = 0
        for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
            if old_position < splice.start:
                pieces.append(PreservedSpan(path, old_position, splice.start, target, old_position + growth))
            growth += len(splice.replacement) - (splice.end - splice.start)
            old_position = splice.end
        if old_position < len(document.data):
            pieces.append(
                PreservedSpan(path, old_position, len(document.data), target, old_position + growth)
            )
        return cls(tuple(pieces), renamed, {path: target})

    @classmethod
    def of_removal(cls, path: str) -> OffsetMap:
        """Return the map of a removed document, of which no bytes are preserved."""
        return cls((), documents={path: None})

    @classmethod
    def of_creation(cls, path: str) -> OffsetMap:
        """Return the map of a new document, which has no preserved bytes."""
        return cls((), documents={path: path})

    def compose(self, later: OffsetMap) -> OffsetMap:
        """Return the map of this operation and a later one; the later one must not have moved a document."""
        pieces = [preserved for piece in self.pieces for preserved in later._find_preserved_parts(piece)]
        new_paths = self._all_new_paths
        pieces += [piece for piece in later.pieces if piece.old_path not in new_paths]
        renamed = {old: later.place(*new) or new for old, new in self.renamed.items()}
        for old, new in later.renamed.items():
            origin = self._find_origin(*old)
            if origin is not None:
                renamed.setdefault(origin, new)
        copies = [preserved for piece in self.copies for preserved in later._find_preserved_parts(piece)]
        return OffsetMap(tuple(pieces), renamed, {**later.documents, **self.documents}, tuple(copies))

    def _find_preserved_parts(self, piece: PreservedSpan) -> Iterator[PreservedSpan]:
        """Yield the parts of an earlier operation's piece that this operation preserved."""
        start, end = piece.new_start, piece.new_start + piece.old_end - piece.old_start
        if not self._is_changed(piece.new_path):
            yield piece
            return
        candidates = self._pieces_by_path.get(piece.new_path, ())
        for part in candidates[
            max(0, bisect_right(candidates, start, key=lambda part: part.old_start) - 1) :
        ]:
            if part.old_start >= end:
                return
            first, last = max(start, part.old_start), min(end, part.old_end)
            if first < last:
                old = piece.old_start + first - start
                new = part.new_start + first - part.old_start
                yield PreservedSpan(piece.old_path, old, old + last - first, part.new_path, new)

    def _find_origin(self, path: str, offset: int) -> Offset | None:
        """Return the old position of a byte; None if the operation wrote the byte."""
        if path not in self._all_new_paths:
            return path, offset
        for piece in self._pieces_by_new_path.get(path, ()):
            if piece.new_start <= offset < piece.new_start + piece.old_end - piece.old_start:
                return piece.old_path, piece.old_start + offset - piece.new_start
        return None

    @property
    def paths(self) -> frozenset[str]:
        """The old paths of the documents that the operation changed."""
        return frozenset(self._pieces_by_path).union(self.documents, (path for path, _ in self.renamed))

    @property
    def new_paths(self) -> tuple[str, ...]:
        """The new paths of the documents that the operation changed."""
        paths = [*(self.document(path) for path in self.paths), *(piece.new_path for piece in self.pieces)]
        return tuple(sorted({path for path in paths if path is not None}))

    def document(self, path: str) -> str | None:
        """Return the new path of a document; None if it was removed."""
        return self.documents.get(path, path)

    def place(self, path: str, offset: int) -> Offset | None:
        """Return the new position of a byte; None if it was not preserved."""
        renamed = self.renamed.get((path, offset))
        if renamed is not None:
            return renamed
        if not self._is_changed(path):
            return path, offset
        piece = self._find_piece(path, offset)
        return None if piece is None else (piece.new_path, piece.new_start + offset - piece.old_start)

    def span(self, path: str, start: int, end: int) -> Offset | None:
        """Return the new position of the bytes [start, end); None unless all are preserved and contiguous."""
        if not self._is_changed(path):
            return path, start
        piece = self._find_piece(path, start)
        if piece is None or end > piece.old_end:
            return None
        return piece.new_path, piece.new_start + start - piece.old_start

    def find_written_spans(self, document: Document) -> Sequence[tuple[int, int]]:
        """Return the spans of a document that the operation wrote.

        An empty span marks a position where the operation removed bytes.
        """
        pieces = self._pieces_by_new_path.get(document.path, ())
        if not pieces and document.path not in self._all_new_paths:
            return ()
        spans: list[tuple[int, int]] = []
        position, previous_end = 0, None
        for piece in pieces:
            piece_start = piece.old_path, piece.old_start
            if position < piece.new_start or (previous_end is not None and previous_end != piece_start):
                spans.append((position, piece.new_start))
            position = piece.new_start + piece.old_end - piece.old_start
            previous_end = piece.old_path, piece.old_end
        if position < len(document.data):
            spans.append((position, len(document.data)))
        return spans

    def find_lost_spans(self, document: Document) -> Sequence[tuple[int, int]]:
        """Return the spans of an old document that were not preserved; the full text if no byte was."""
        spans: list[tuple[int, int]] = []
        position = 0
        for piece in self._pieces_by_path.get(document.path, ()):
            if position < piece.old_start:
                spans.append((position, piece.old_start))
            position = piece.old_end
        if position < len(document.data) and self._is_changed(document.path):
            spans.append((position, len(document.data)))
        return spans

    def _is_changed(self, path: str) -> bool:
        return path in self._pieces_by_path or path in self.documents

    def _find_piece(self, path: str, offset: int) -> PreservedSpan | None:
        """Return the piece that contains a byte."""
        pieces = self._pieces_by_path.get(path, ())
        index = bisect_right(pieces, offset, key=lambda piece: piece.old_start) - 1
        return pieces[index] if index >= 0 and offset < pieces[index].old_end else None

    @cached_property
    def _all_new_paths(self) -> frozenset[str]:
        return frozenset(self.new_paths)

    @cached_property
    def _pieces_by_new_path(self) -> Mapping[str, Sequence[PreservedSpan]]:
        pieces_by_path: dict[str, list[PreservedSpan]] = {}
        for piece in sorted(self.pieces, key=lambda piece: piece.new_start):
            pieces_by_path.setdefault(piece.new_path, []).append(piece)
        return pieces_by_path

    @cached_property
    def _pieces_by_path(self) -> Mapping[str, Sequence[PreservedSpan]]:
        pieces_by_path: dict[str, list[PreservedSpan]] = {}
        for piece in sorted(self.pieces):
            pieces_by_path.setdefault(piece.old_path, []).append(piece)
        return pieces_by_path


def match_same_headings(
    before: Document, after: Document, splices: Iterable[Splice]
) -> Mapping[Offset, Offset]:
    """Return the headings that an edit rewrote at their old address: a renamed or replaced section.

    Only an address that names exactly one section before and after the edit counts.
    """
    renamed: dict[Offset, Offset] = {}
    starts = [section.heading_start for section in before.sections]
    growth = 0
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
        new_start = splice.start + growth
        growth += len(splice.replacement) - (splice.end - splice.start)
        first, last = bisect_left(starts, splice.start), bisect_left(starts, splice.end)
        for section in before.sections[first:last]:
            counterparts = after.sections_by_address(section.address)
            if len(before.sections_by_address(section.address)) != 1 or len(counterparts) != 1:
                continue
            offset = counterparts[0].heading_start
            if (
                section.has_heading
                and counterparts[0].has_heading
                and new_start <= offset < splice.end + growth
            ):
                renamed[before.path, section.heading_start] = after.path, offset
    return renamed
