"""Slugs: GitHub's slugs for headings, and file names for titles."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

EMPTY_SLUG = "section"
PREAMBLE = "_preamble"
"""The reserved address of the text before the first heading, and of the title."""
MAX_FILE_STEM_LENGTH = 80

_SLUG_CATEGORIES = frozenset(("Nd", "Nl", "Pc"))
# Symbols that Unicode calls Other_Alphabetic: circled, squared and negative Latin letters.
_ALPHABETIC_SYMBOLS = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))


class _SlugCharacters(dict[int, str | None]):
    """A cache of the slug form of each character, from Unicode's tables."""

    def __missing__(self, code: int) -> str | None:
        self[code] = chr(code) if _is_slug_character(chr(code)) else None
        return self[code]


def _is_slug_character(character: str) -> bool:
    category = unicodedata.category(character)
    if category[0] in "LM" or category in _SLUG_CATEGORIES:
        return True
    return any(first <= ord(character) <= last for first, last in _ALPHABETIC_SYMBOLS)


_SLUG_CHARACTERS = _SlugCharacters({ord(" "): "-", ord("-"): "-"})


def make_heading_slug(text: str) -> str:
    """Return GitHub's slug of a heading's plain text.

    The slug is in lower case. Letters, marks, decimal digits, letter numbers, connector punctuation and
    hyphens remain. Spaces become hyphens, and other characters are removed. This is the rule of the
    `github-slugger` package, without its document-wide numbering. An empty result becomes `section`.
    """
    return text.lower().translate(_SLUG_CHARACTERS) or EMPTY_SLUG


class UniqueNames:
    """A generator of unique names, which appends a mark and a number: `errors`, `errors-1`, `errors-2`.

    The next number of each name is stored, so that n equal names take n steps, not n².
    """

    __slots__ = ("_mark", "_numbers", "_reserved", "_start", "_used")

    def __init__(self, mark: str, start: int, reserved: Container[str] = ()) -> None:
        self._mark = mark
        self._start = start
        self._reserved = reserved
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}

    def make_unique(self, name: str) -> str:
        """Return the name if it is unused, else the name with the first unused number from `start`."""
        unique_name = name
        if name in self._used or name in self._reserved:
            number = self._numbers.get(name, self._start)
            while unique_name in self._used or unique_name in self._reserved:
                unique_name = f"{name}{self._mark}{number}"
                number += 1
            self._numbers[name] = number
        self._used.add(unique_name)
        return unique_name


def make_file_slug(title: str) -> str:
    """Return the stem of a title's file name: ASCII, at most 80 characters.

    Return "" for a title without letters and digits.
    """
    from slugify import slugify

    return slugify(title, max_length=MAX_FILE_STEM_LENGTH, word_boundary=True)
