"""Cursors of lists: where the next page begins, bound to the list and the documents, and not to be forged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def write_place(place: str, tree: str | None, search: Sequence[object]) -> str:
    """The cursor of the page after a place, in a list of what stands in a tree."""
    from index.cursors import seal
    from index.storage.keys import user_key

    return seal(user_key(), ["list", tree, list(search), place])


def read_place(cursor: str, tree: str | None, search: Sequence[object]) -> str:
    """The place after which a page begins. Raises InvalidCursor, StaleCursor."""
    from index.cursors import InvalidCursor, StaleCursor, unseal
    from index.storage.keys import user_key

    kind, its_tree, its_search, place = unseal(user_key(), cursor, 4)
    if kind != "list" or its_search != json.loads(json.dumps(list(search))):
        raise InvalidCursor("the cursor belongs to another list", fix="Repeat the call without a cursor.")
    if its_tree != tree:
        raise StaleCursor(
            "the documents have changed since the cursor was given out",
            fix="Repeat the call without a cursor.",
        )
    return str(place)
