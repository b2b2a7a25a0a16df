"""Slugs: GitHub's rule for headings, and names of files for titles."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

EMPTY_SLUG = "section"
MAX_FILE_STEM = 80

_KEPT_CATEGORIES = frozenset(("Nd", "Nl", "Pc"))
# Symbols that Unicode calls Other_Alphabetic: circled, squared and negative Latin letters.
_ALPHABETIC_SYMBOLS = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))


def _is_kept(character: str) -> bool:
    if character in "- ":
        return True
    category = unicodedata.category(character)
    if category[0] in "LM" or category in _KEPT_CATEGORIES:
        return True
    return any(first <= ord(character) <= last for first, last in _ALPHABETIC_SYMBOLS)


@lru_cache(maxsize=65536)
def heading_slug(text: str) -> str:
    """GitHub's slug of a heading's plain text.

    Lower case; letters, marks, decimal digits, letter numbers, connector punctuation and hyphens are kept,
    spaces become hyphens, all else is dropped (the rule of the `github-slugger` package, without its
    document-wide numbering). An empty result is `section`.
    """
    kept = "".join(character for character in text.lower() if _is_kept(character))
    return kept.replace(" ", "-") or EMPTY_SLUG


def file_slug(title: str) -> str:
    """The stem of a file's name for a title, in ASCII and at most 80 characters; empty if no letter or digit is left."""
    from slugify import slugify

    return slugify(title, max_length=MAX_FILE_STEM, word_boundary=True)
