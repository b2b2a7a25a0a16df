"""Filters that a search is asked with: keys of the taxonomy, and values that some section has."""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import ClassVar

from index.storage.metadata import is_listable
from workspace.errors import WorkspaceError

_LISTED = 50
_COMPARED = 20_000
"""Characters of values, the commonest first, among which the nearest are looked for."""


class UnknownFilter(WorkspaceError):
    """A filter by a key that the taxonomy does not have."""

    code: ClassVar[str] = "UNKNOWN_FILTER"


class UnknownFilterValue(WorkspaceError):
    """A filter value that no document has; `details` has the nearest, and up to 50 of the known ones."""

    code: ClassVar[str] = "UNKNOWN_FILTER_VALUE"


def check_filters(filters: Mapping[str, str], values: Mapping[str, Mapping[str, int]]) -> None:
    """Hold filters against the values of each key and how often they occur.

    Raises UnknownFilter, UnknownFilterValue.
    """
    for key, value in filters.items():
        if key not in values:
            raise UnknownFilter(
                f"there is no filter '{_plain(key)}'",
                fix=f"Filter by {' or '.join(values)}.",
                nearest=difflib.get_close_matches(_plain(key), values, n=1),
                known=list(values),
            )
        if value not in values[key]:
            raise _unknown_value(key, value, values[key])


def _unknown_value(key: str, value: str, known: Mapping[str, int]) -> UnknownFilterValue:
    shown = [name for name in sorted(known, key=lambda name: (-known[name], name)) if is_listable(name)]
    within = bisect_right(list(accumulate(map(len, shown))), _COMPARED)
    folded = {name.casefold(): name for name in shown[:within]}
    close = difflib.get_close_matches(_plain(value).casefold(), folded, n=5, cutoff=0.5)
    near = [folded[name] for name in close]
    if shown:
        fix = "Did you mean " + " or ".join(f"'{name}'" for name in near or shown[:5]) + "?"
    else:
        fix = f"No document has {key}: leave this filter out."
    return UnknownFilterValue(
        f"no document has {key} '{_plain(value)}'",
        fix=fix,
        nearest=near,
        known=shown[:_LISTED],
        known_total=len(shown),
    )


def _plain(text: str) -> str:
    """Shorten a caller's text for a message, without characters that cannot be encoded."""
    return text[:100].encode("utf-8", "replace").decode()
