"""Which sections of a block may answer at all: those that live, and that the query leaves in."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index.ranking.blocks import Block
from index.ranking.cache import ArrayCache
from index.ranking.evaluation import Mask
from index.segments.terms import TEXT, term_key
from workspace.globs import Glob

if TYPE_CHECKING:
    from index.port import Query
    from index.segments.segment import Segment

_GLOB = frozenset("*?[")


def allowed(block: Block, query: Query, cache: ArrayCache) -> Mask | None:
    """Give a flag for each section of a block; None means that all of them may answer."""
    path = query.path.strip("/") if query.path else ""
    if not (query.excluded or query.filters or path):
        return block.alive
    masks = [_left_in(part.segment, query, path, cache) for part in block.parts]
    mask = np.concatenate(masks) if len(masks) > 1 else masks[0]
    return mask if block.alive is None else mask & block.alive


def _left_in(segment: Segment, query: Query, path: str, cache: ArrayCache) -> Mask:
    """The sections that the query leaves in, dead ones included."""
    mask = _at(segment, path, cache) if path else np.ones(segment.size, np.bool_)
    for field, value in query.filters.items():
        mask &= _flags(segment.size, segment.postings(term_key(field, value))[0])
    for term in query.excluded:
        mask[segment.postings(term_key(TEXT, term))[0]] = False
    return mask


def _flags(size: int, ids: NDArray[np.uint32]) -> Mask:
    flags = np.zeros(size, np.bool_)
    flags[ids] = True
    return flags


def _at(segment: Segment, path: str, cache: ArrayCache) -> Mask:
    """The sections of the document of this path, of the folder, and of what the glob matches."""
    flags = np.zeros(segment.size, np.bool_)
    pages = range(segment.pages)
    # The paths in a folder stand together, between "folder/" and "folder0", which has the next character.
    first, last = (bisect_left(pages, path + end, key=segment.path) for end in "/0")
    if first < last:
        flags[segment.sections_of(first).start : segment.sections_of(last - 1).stop] = True
    if (page := segment.find(path)) is not None:
        own = segment.sections_of(page)
        flags[own.start : own.stop] = True
    if not _GLOB.isdisjoint(path):
        flags |= cache.get((segment.id, "glob", path), _matching, segment, path)[segment.page_of]
    return flags


def _matching(segment: Segment, pattern: str) -> Mask:
    """A flag for each page that a glob stands for; case counts."""
    matches = Glob.compile(pattern).matches
    return np.fromiter(map(matches, map(segment.path, range(segment.pages))), np.bool_, segment.pages)
