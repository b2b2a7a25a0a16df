"""Why a search found nothing: its index is asked again, at the generation that the empty list belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from index.hints import Hint, hint
from index.port import GenerationGone, NotIndexed, Query, Results
from index.storage.manifest import IndexDamaged
from index.suggestions import suggestions

if TYPE_CHECKING:
    from index.page import Record

UNEXPLAINED = Hint("0 results found: the documents are changing just now. Search again in a moment.", {})
"""Said where the documents changed each time before an empty list was explained."""


class Asked(Protocol):
    """What answers questions about one commit, or about the branch as it is."""

    def search(self, query: Query, offset: int, limit: int, generation: str | None = None) -> Results:
        """Give a stretch of a list. Raises GenerationGone."""

    def similar(self, word: str, most: int) -> tuple[str, ...]:
        """Give at most so many terms that a folded word may have meant."""

    def text(self, record: Record) -> str:
        """What a section says beside its heading."""


def explained(asked: Asked, query: str, question: Query, generation: str) -> Hint | None:
    """Say why a question, read from `query`, finds nothing; None if what it was asked of is gone."""

    def ask(other: Query, most: int) -> list[Record]:
        return [scored.record for scored in asked.search(other, 0, most, generation).hits]

    def spelled() -> tuple[str, ...]:
        return suggestions(query, question, ask, asked.similar, asked.text)

    try:
        return hint(question, ask, spelled)
    except (GenerationGone, NotIndexed, IndexDamaged):
        return None
