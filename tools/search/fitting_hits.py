"""The hits of a search that fit into an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.pages import count_fitting_entries

if TYPE_CHECKING:
    from collections.abc import Callable

    from index.matches import Matcher
    from index.service import Hit, SearchPage
    from tools.tool import Data

_SAMPLE_BLOB_ID = "0a" * 20
"""The form of a blob's id. A hit of a further document adds one to the answer."""


def find_fitting_hits(
    search: Callable[..., SearchPage], describe: Callable[[Hit, Matcher], Data], limit: int, tokens: int
) -> tuple[SearchPage, list[Data]]:
    """Return the page of at most `limit` hits that have at most `tokens` tokens, and its described hits.

    The page has at least one hit if the search has any. Its cursor continues after the last described hit.
    """
    from index.matches import Matcher

    page = search(limit=limit)
    matcher = Matcher(page.terms)
    hits = [describe(hit, matcher) for hit in page.hits]
    count = count_fitting_entries(([hit, _SAMPLE_BLOB_ID] for hit in hits), tokens)
    if count < len(hits):
        page = search(limit=count)
        hits = [describe(hit, matcher) for hit in page.hits]
    return page, hits
