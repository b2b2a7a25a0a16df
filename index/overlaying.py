"""What stands for another commit than an index does: parts of it, and the documents that differ, in memory.

Nothing that was analysed once is analysed again while it is at hand: a document of the same path, blob,
settings and manifests has the same page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from index.building.builder import build_segments
from index.page import Page, Unreadable
from index.segments.generation import Part
from index.segments.merge import merge
from workspace.config.taxonomy import Values

SMALL = 5_000
"""Sections of a part that is copied, rather than kept beside others, so that few parts remain."""

_SHARE = 8
"""Less than one part in so many of a large segment is not worth keeping all of it: it is analysed again."""

Governed = Callable[[str], Values | None]
"""Gives what the manifests say of a document; None where that is not known."""


class AtHand(NamedTuple):
    """Parts whose pages may be used again, and what the manifests said of these when they were read."""

    parts: Sequence[Part]
    governed: Governed


class Taken(NamedTuple):
    """Parts in which only what is wanted lives, and the blobs of what is wanted beside, by path."""

    parts: tuple[Part, ...]
    rest: Mapping[str, str]


class Added(NamedTuple):
    """Parts to add to others, and the documents that Git could not read, each with its blob."""

    parts: tuple[Part, ...]
    unreadable: Mapping[str, str]


def take(wanted: Mapping[str, str], governed: Governed, at_hand: Iterable[AtHand]) -> Taken:
    """Look for documents, given as blobs by path, among the pages at hand."""
    rest = dict(wanted)
    parts: list[Part] = []
    for part, said in ((part, source.governed) for source in at_hand for part in source.parts):
        segment = part.segment
        pages = {path: part.find(path) for path in rest}
        found = {
            path: page
            for path, page in pages.items()
            if page is not None and segment.blob(page) == rest[path] and said(path) == governed(path)
        }
        sections = sum(len(segment.sections_of(page)) for page in found.values())
        if found and (segment.size <= SMALL or _SHARE * sections >= segment.size):
            parts.append(Part.of(segment, set(range(segment.pages)) - set(found.values())))
            for path in found:
                del rest[path]
    return Taken(tuple(parts), rest)


def added(taken: Iterable[Part], rest: Iterable[Page | Unreadable]) -> Added:
    """Put beside what was taken the rest, which is analysed; it comes in ascending order of path."""
    built = build_segments(rest)
    return Added(_joined([*taken, *map(Part.of, built.segments)]), built.unreadable)


def _joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Make one part of the small ones, which then keep nothing that is dead."""
    small = [part for part in parts if part.segment.size <= SMALL]
    if len(small) < 2 and not any(part.dead_pages for part in small):
        return tuple(parts)
    large = [part for part in parts if part.segment.size > SMALL]
    return (*large, Part.of(merge(small)))
