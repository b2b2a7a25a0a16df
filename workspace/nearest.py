"""The nearest names to a name that does not exist."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


MAX_NEAREST_NAMES = 5

# The comparison takes time, and a workspace may have a hundred thousand paths.
_MAX_COMPARED_NAMES = 2000
_MAX_WORD_LENGTH = 200


def find_nearest(word: str, existing_names: Iterable[str], count: int = MAX_NEAREST_NAMES) -> list[str]:
    """Return the names most similar to a word, then the names that contain its text after the last slash.

    Of more than 2,000 names, at most 2,000 are compared: those with the same first three characters after
    the last slash, if any. For a word of more than 200 characters, return the first names.
    """
    names = list(dict.fromkeys(existing_names))
    if len(word) > _MAX_WORD_LENGTH:
        return names[:count]
    if len(names) > _MAX_COMPARED_NAMES:
        names = _select_same_prefix(word, names)
    names_by_lower_case = {name.lower(): name for name in names}
    similar_names = [
        names_by_lower_case[name]
        for name in difflib.get_close_matches(word.lower(), names_by_lower_case, n=count, cutoff=0.6)
    ]
    last_name = word.lower().rsplit("/", 1)[-1]
    containing_names = [name for name in names if last_name and last_name in name.lower()]
    return list(dict.fromkeys((*similar_names, *containing_names)))[:count]


def _select_same_prefix(word: str, names: list[str]) -> list[str]:
    """Return the names whose text after the last slash begins like that of the word, else the first names."""
    prefix = word.lower().rsplit("/", 1)[-1][:3]
    matching_names = [name for name in names if name.lower().rsplit("/", 1)[-1].startswith(prefix)]
    return (matching_names or names)[:_MAX_COMPARED_NAMES]
