"""The sections of other documents that are nearest in meaning to a document, or to some of its sections."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from index.port import ScoredSection, VectorRanking
    from index.segments.generation import SegmentReader
    from index.vectors.vector_index import VectorIndex

MIN_COSINE = 0.5
"""The least cosine of a related section. Of most pairs of texts about one product it is lower."""

_SEARCHED_SECTIONS = 50
_MAX_EXAMINED_SECTIONS = 500
"""The largest number of sections of a document whose mean vector is compared."""


class RelatedSection(NamedTuple):
    """A section of another document. `breadcrumb` has the document's title and the headings down to it."""

    path: str
    key: str
    breadcrumb: tuple[str, ...]
    cosine: float


def find_related(
    vectors: VectorIndex,
    readers: Sequence[SegmentReader],
    search: Callable[[VectorRanking, int], Sequence[ScoredSection]],
    path: str,
    keys: Collection[str] | None,
    find_linked_paths: Callable[[], Collection[str]],
    limit: int,
) -> tuple[RelatedSection, ...]:
    """Return the best section of each of the nearest documents, the nearest first.

    `keys` are the sections that are compared, None for all of the document. The documents that
    `find_linked_paths` returns are left out. `search` returns the nearest sections of a ranking. Never
    waits for the provider; the result is empty as long as the sections have no vectors.
    """
    ranking = vectors.rank_near(list(_list_digests(readers, path, keys)))
    if ranking is None:
        return ()
    linked_paths = find_linked_paths()
    related: dict[str, RelatedSection] = {}
    for record, cosine in search(ranking, _SEARCHED_SECTIONS):
        if len(related) == limit or cosine < MIN_COSINE:
            break
        if record.path != path and record.path not in linked_paths:
            related.setdefault(
                record.path, RelatedSection(record.path, record.key, record.breadcrumb, round(cosine, 3))
            )
    return tuple(related.values())


def _list_digests(
    readers: Sequence[SegmentReader], path: str, keys: Collection[str] | None
) -> Iterator[bytes]:
    """Yield the digests of sections of a document, as it is indexed now."""
    for reader in readers:
        document = reader.find(path)
        if document is None:
            continue
        segment = reader.segment
        for number in segment.sections_of(document)[:_MAX_EXAMINED_SECTIONS]:
            if keys is None or segment.address(number)[1] in keys:
                yield segment.digests[number].tobytes()
