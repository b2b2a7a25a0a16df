"""The report of a search in sources to the records of a server."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tools.records.searches import SearchRecord, add_search, are_searches_recorded

if TYPE_CHECKING:
    from index.sources.sources import SourcesPage
    from tools.retrieval.related_steps import RelatedSteps


def record_page(
    query: str, page: SourcesPage, related_steps: RelatedSteps | None, duration_ms: float
) -> None:
    """Add the first page of a search to the records of this call, if they are collected."""
    if not are_searches_recorded():
        return
    counts = Counter(item.source.name for item in page.hits)
    walkthrough = step = None
    if related_steps is not None:
        position = related_steps.current.position
        walkthrough = f"{related_steps.current.source.name}:{position.walkthrough.id}"
        step = None if position.step is None else position.step.key
    add_search(
        SearchRecord(
            query=query,
            search_type=page.search_type,
            result_counts={**counts, **{name: 0 for name in page.commits if name not in counts}},
            commits=page.commits,
            addresses=tuple((item.source.name, item.hit.address) for item in page.hits),
            missing_words=page.missing_words,
            duration_ms=duration_ms,
            is_cached=page.is_cached,
            walkthrough=walkthrough,
            step=step,
            embedding=page.question_vector,  # type: ignore[arg-type]
        )
    )
