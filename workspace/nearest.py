"""The nearest names to a name that does not exist."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


_NEAREST = 5

# Comparing spellings takes time, and a workspace may hold a hundred thousand paths.
_COMPARED = 2000


def find_nearest(word: str, known: Iterable[str], count: int = _NEAREST) -> list[str]:
    """Return the names nearest to a word, best first: close spellings, then those with its last part."""
    names = list(dict.fromkeys(known))
    if len(word) > 200:
        return names[:count]
    if len(names) > _COMPARED:
        names = _select_same_prefix(word, names)
    lowered = {name.lower(): name for name in names}
    close = [lowered[name] for name in difflib.get_close_matches(word.lower(), lowered, n=count, cutoff=0.6)]
    tail = word.lower().rsplit("/", 1)[-1]
    containing = [name for name in names if tail and tail in name.lower()]
    return list(dict.fromkeys((*close, *containing)))[:count]


def _select_same_prefix(word: str, names: list[str]) -> list[str]:
    """Return the names whose last part has the same prefix as the word's, else the first names."""
    begin = word.lower().rsplit("/", 1)[-1][:3]
    same_prefix = [name for name in names if name.lower().rsplit("/", 1)[-1].startswith(begin)]
    return (same_prefix or names)[:_COMPARED]
