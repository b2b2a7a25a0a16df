"""What a search must add to its answer where that is not the whole truth about the branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from index.service import SearchPage
    from tools.errors import Data

_SHOWN = 10


def reservations(page: SearchPage) -> Data:
    """Say that the index is behind the branch, which documents Git could not read, and that a quoted phrase
    was not looked for to the end; else nothing.

    The answer's own `commit` says for which commit the index stands.
    """
    data: Data = {}
    if page.stale:
        data["stale"] = True
    if page.unreadable:
        data["unreadable"] = list(page.unreadable[:_SHOWN])
        data["unreadable_total"] = len(page.unreadable)
    if page.partial:
        data["partial"] = True
    return data
