"""Slugs: GitHub's rule for headings, and names of files for titles."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

EMPTY_SLUG = "section"
PREAMBLE = "_preamble"
"""The reserved address of what comes before the first heading, the title with it."""
MAX_FILE_STEM = 80

_KEPT_CATEGORIES = frozenset(("Nd", "Nl", "Pc"))
# Symbols that Unicode calls Other_Alphabetic: circled, squared and negative Latin letters.
_ALPHABETIC_SYMBOLS = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))


class _Characters(dict[int, str | None]):
    """A cache of the slug form of each character, from Unicode's tables."""

    def __missing__(self, code: int) -> str | None:
        self[code] = chr(code) if _is_kept(chr(code)) else None
        return self[code]


def _is_kept(character: str) -> bool:
    category = unicodedata.category(character)
    if category[0] in "LM" or category in _KEPT_CATEGORIES:
        return True
    return any(first <= ord(character) <= last for first, last in _ALPHABETIC_SYMBOLS)


_CHARACTERS = _Characters({ord(" "): "-", ord("-"): "-"})


def make_heading_slug(text: str) -> str:
    """Return GitHub's slug of a heading's plain text.

    Lower case; letters, marks, decimal digits, letter numbers, connector punctuation and hyphens are kept,
    spaces become hyphens, all else is dropped (the rule of the `github-slugger` package, without its
    document-wide numbering). An empty result is `section`.
    """
    return text.lower().translate(_CHARACTERS) or EMPTY_SLUG


class UniqueNames:
    """Names made unique by a number after a mark: `errors`, `errors-1`, `errors-2`.

    The last number of each name is remembered, so that a thousand equal names cost a thousand steps.
    """

    __slots__ = ("_given", "_mark", "_numbers", "_reserved", "_start")

    def __init__(self, mark: str, start: int, reserved: Container[str] = ()) -> None:
        self._mark = mark
        self._start = start
        self._reserved = reserved
        self._given: set[str] = set()
        self._numbers: dict[str, int] = {}

    def give(self, name: str) -> str:
        """Return the name if it is free, else with the first free number, counted from `start`."""
        free = name
        if name in self._given or name in self._reserved:
            number = self._numbers.get(name, self._start)
            while free in self._given or free in self._reserved:
                free = f"{name}{self._mark}{number}"
                number += 1
            self._numbers[name] = number
        self._given.add(free)
        return free


def make_file_slug(title: str) -> str:
    """Return the stem of a title's file name: ASCII, at most 80 characters; "" without letters and digits."""
    from slugify import slugify

    return slugify(title, max_length=MAX_FILE_STEM, word_boundary=True)
