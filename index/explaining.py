"""Why a search found nothing: its index is asked again, at the generation that the empty list belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from index.hints import Hint, hint
from index.port import GenerationGone, Query
from index.suggestions import suggestions

if TYPE_CHECKING:
    from index.live import LiveIndex
    from index.page import Record

UNEXPLAINED = Hint("0 results found: the documents are changing just now. Search again in a moment.", {})
"""Said where the documents changed each time before an empty list was explained."""


def explained(live: LiveIndex, query: str, question: Query, generation: str) -> Hint | None:
    """Say why a question, which was read from `query`, finds nothing; None if its generation is gone."""

    def ask(other: Query, most: int) -> list[Record]:
        return [scored.record for scored in live.search(other, 0, most, generation).hits]

    def spelled() -> tuple[str, ...]:
        return suggestions(query, question, ask, live.engine.similar, live.text)

    try:
        return hint(question, ask, spelled)
    except GenerationGone:
        return None
