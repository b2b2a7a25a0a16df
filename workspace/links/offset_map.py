"""Offset maps: the bytes that an operation preserved, and their new positions.

A link refers to a document or to an offset in a document, such as the line of a heading. An operation that
moves bytes returns an offset map, so that the target of a link is found after a move or a rename.
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

BytePosition = tuple[str, int]
"""The path of a document, and the offset of a byte in it."""

_EMPTY_MAP: Mapping[BytePosition, BytePosition] = MappingProxyType({})


class PreservedSpan(NamedTuple):
    """A span of bytes [old_start, old_end) that an operation preserved, and its new position."""

    old_path: str
    old_start: int
    old_end: int
    new_path: str
    new_start: int


@dataclass(frozen=True)
class OffsetMap:
    """The bytes that one operation preserved in the documents that it changed.

    `preserved_spans` are unordered. In one document, neither their old ranges nor their new ranges overlap.
    `new_heading_positions` maps the old position of the line of a rewritten heading to the new position, if
    it is still the same heading. `path_map` maps the old path of each document to the new path, or to None if
    the document was removed. A document that is only in `preserved_spans` keeps its path. `copies` are
    destinations of links that were copied to other positions, where they must lead to the same targets.
    """

    preserved_spans: tuple[PreservedSpan, ...]
    new_heading_positions: Mapping[BytePosition, BytePosition] = field(default_factory=dict)
    path_map: Mapping[str, str | None] = field(default_factory=dict)
    copies: tuple[PreservedSpan, ...] = ()

    @classmethod
    def of_splices(
        cls,
        document: Document,
        splices: Iterable[Splice],
        new_path: str | None = None,
        new_heading_positions: Mapping[BytePosition, BytePosition] = _EMPTY_MAP,
    ) -> OffsetMap:
        """Return the map of an edit; `new_path` is the document's path afterwards, if it moved."""
        path = document.path
        target = path if new_path is None else new_path
        preserved_spans: list[PreservedSpan] = []
        old_position = growth = 0
        for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
            if old_position < splice.start:
                preserved_spans.append(
                    PreservedSpan(path, old_position, splice.start, target, old_position + growth)
                )
            growth += len(splice.replacement) - (splice.end - splice.start)
            old_position = splice.end
        if old_position < len(document.data):
            preserved_spans.append(
                PreservedSpan(path, old_position, len(document.data), target, old_position + growth)
            )
        return cls(tuple(preserved_spans), new_heading_positions, {path: target})

    @classmethod
    def of_removal(cls, path: str) -> OffsetMap:
        """Return the map of a removed document, of which no bytes are preserved."""
        return cls((), path_map={path: None})

    @classmethod
    def of_creation(cls, path: str) -> OffsetMap:
        """Return the map of a new document, which has no preserved bytes."""
        return cls((), path_map={path: path})

    def compose(self, later: OffsetMap) -> OffsetMap:
        """Return the map of this operation followed by a later one, which must not move a document."""
        preserved_spans = [
            part for span in self.preserved_spans for part in later._find_preserved_parts(span)
        ]
        new_paths = self._all_new_paths
        preserved_spans += [span for span in later.preserved_spans if span.old_path not in new_paths]
        new_heading_positions = {
            old: later.map_offset(*new) or new for old, new in self.new_heading_positions.items()
        }
        for old, new in later.new_heading_positions.items():
            origin = self._find_origin(*old)
            if origin is not None:
                new_heading_positions.setdefault(origin, new)
        copies = [part for span in self.copies for part in later._find_preserved_parts(span)]
        return OffsetMap(
            tuple(preserved_spans), new_heading_positions, {**later.path_map, **self.path_map}, tuple(copies)
        )

    def _find_preserved_parts(self, earlier_span: PreservedSpan) -> Iterator[PreservedSpan]:
        """Yield the parts of a span of an earlier operation that this operation preserved."""
        start, end = (
            earlier_span.new_start,
            earlier_span.new_start + earlier_span.old_end - earlier_span.old_start,
        )
        if not self._is_changed(earlier_span.new_path):
            yield earlier_span
            return
        candidates = self._spans_by_old_path.get(earlier_span.new_path, ())
        for span in candidates[
            max(0, bisect_right(candidates, start, key=lambda span: span.old_start) - 1) :
        ]:
            if span.old_start >= end:
                return
            overlap_start, overlap_end = max(start, span.old_start), min(end, span.old_end)
            if overlap_start < overlap_end:
                old_start = earlier_span.old_start + overlap_start - start
                new_start = span.new_start + overlap_start - span.old_start
                yield PreservedSpan(
                    earlier_span.old_path,
                    old_start,
                    old_start + overlap_end - overlap_start,
                    span.new_path,
                    new_start,
                )

    def _find_origin(self, path: str, offset: int) -> BytePosition | None:
        """Return the old position of a byte; None if the operation wrote the byte."""
        if path not in self._all_new_paths:
            return path, offset
        for span in self._spans_by_new_path.get(path, ()):
            if span.new_start <= offset < span.new_start + span.old_end - span.old_start:
                return span.old_path, span.old_start + offset - span.new_start
        return None

    @property
    def paths(self) -> frozenset[str]:
        """The old paths of the documents that the operation changed."""
        return frozenset(self._spans_by_old_path).union(
            self.path_map, (path for path, _ in self.new_heading_positions)
        )

    @property
    def new_paths(self) -> tuple[str, ...]:
        """The new paths of the documents that the operation changed."""
        paths = [
            *(self.find_new_path(path) for path in self.paths),
            *(span.new_path for span in self.preserved_spans),
        ]
        return tuple(sorted({path for path in paths if path is not None}))

    def find_new_path(self, path: str) -> str | None:
        """Return the new path of a document; None if it was removed."""
        return self.path_map.get(path, path)

    def map_offset(self, path: str, offset: int) -> BytePosition | None:
        """Return the new position of a byte; None if it was not preserved."""
        new_heading = self.new_heading_positions.get((path, offset))
        if new_heading is not None:
            return new_heading
        if not self._is_changed(path):
            return path, offset
        span = self._find_preserved_span(path, offset)
        return None if span is None else (span.new_path, span.new_start + offset - span.old_start)

    def map_span(self, path: str, start: int, end: int) -> BytePosition | None:
        """Return the new position of the bytes [start, end); None unless all are preserved and contiguous."""
        if not self._is_changed(path):
            return path, start
        span = self._find_preserved_span(path, start)
        if span is None or end > span.old_end:
            return None
        return span.new_path, span.new_start + start - span.old_start

    def find_written_spans(self, document: Document) -> Sequence[tuple[int, int]]:
        """Return the spans of a document that the operation wrote.

        An empty span marks a position where the operation removed bytes.
        """
        preserved_spans = self._spans_by_new_path.get(document.path, ())
        if not preserved_spans and document.path not in self._all_new_paths:
            return ()
        written_spans: list[tuple[int, int]] = []
        position, previous_end = 0, None
        for span in preserved_spans:
            span_start = span.old_path, span.old_start
            if position < span.new_start or (previous_end is not None and previous_end != span_start):
                written_spans.append((position, span.new_start))
            position = span.new_start + span.old_end - span.old_start
            previous_end = span.old_path, span.old_end
        if position < len(document.data):
            written_spans.append((position, len(document.data)))
        return written_spans

    def find_removed_spans(self, document: Document) -> Sequence[tuple[int, int]]:
        """Return the spans of an old document that the operation did not preserve."""
        return [(start, end) for start, end in self.find_edited_spans(document) if start < end]

    def find_edited_spans(self, document: Document) -> Sequence[tuple[int, int]]:
        """Return the removed spans of an old document, and empty spans where text may have been inserted."""
        edited_spans: list[tuple[int, int]] = []
        position = 0
        for span in self._spans_by_old_path.get(document.path, ()):
            edited_spans.append((position, span.old_start))
            position = span.old_end
        if self._is_changed(document.path):
            edited_spans.append((position, len(document.data)))
        return edited_spans

    def _is_changed(self, path: str) -> bool:
        return path in self._spans_by_old_path or path in self.path_map

    def _find_preserved_span(self, path: str, offset: int) -> PreservedSpan | None:
        """Return the preserved span that contains a byte; None if the byte was not preserved."""
        preserved_spans = self._spans_by_old_path.get(path, ())
        index = bisect_right(preserved_spans, offset, key=lambda span: span.old_start) - 1
        return preserved_spans[index] if index >= 0 and offset < preserved_spans[index].old_end else None

    @cached_property
    def _all_new_paths(self) -> frozenset[str]:
        return frozenset(self.new_paths)

    @cached_property
    def _spans_by_new_path(self) -> Mapping[str, Sequence[PreservedSpan]]:
        spans_by_path: dict[str, list[PreservedSpan]] = {}
        for span in sorted(self.preserved_spans, key=lambda span: span.new_start):
            spans_by_path.setdefault(span.new_path, []).append(span)
        return spans_by_path

    @cached_property
    def _spans_by_old_path(self) -> Mapping[str, Sequence[PreservedSpan]]:
        spans_by_path: dict[str, list[PreservedSpan]] = {}
        for span in sorted(self.preserved_spans):
            spans_by_path.setdefault(span.old_path, []).append(span)
        return spans_by_path


def match_rewritten_headings(
    before: Document, after: Document, splices: Iterable[Splice]
) -> Mapping[BytePosition, BytePosition]:
    """Return the new offset of each heading that an edit rewrote, by its old offset.

    A new heading matches if it has the same address, and the address names exactly one section before and
    after the edit.
    """
    new_heading_positions: dict[BytePosition, BytePosition] = {}
    starts = [section.heading_start for section in before.sections]
    growth = 0
    for splice in sorted(splices, key=lambda splice: (splice.start, splice.end)):
        new_start = splice.start + growth
        growth += len(splice.replacement) - (splice.end - splice.start)
        first_index, end_index = bisect_left(starts, splice.start), bisect_left(starts, splice.end)
        for section in before.sections[first_index:end_index]:
            counterparts = after.sections_by_address(section.address)
            if len(before.sections_by_address(section.address)) != 1 or len(counterparts) != 1:
                continue
            offset = counterparts[0].heading_start
            if (
                section.has_heading
                and counterparts[0].has_heading
                and new_start <= offset < splice.end + growth
            ):
                new_heading_positions[before.path, section.heading_start] = after.path, offset
    return new_heading_positions
