"""Where words are: the characters that make them, and those that join words into one name.

A *token* is a word, or words that are joined into a name: `don't`, `node.js`, `kebab-case`, `std::vector`,
`/v1/search`, `user@example.org`, `--dry-run`. Everything else only separates.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

# Python's `\w` leaves out the marks that many scripts write vowels with: pointed Hebrew and Arabic,
# the scripts of India, Tibetan.
_POINTS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
_ACCENTS = "\u0300-\u036f"
_VOWELS = "\u0900-\u0963\u0966-\u0dff\u0f71-\u0f84\u0f90-\u0fbc"
_SOUTHEAST = (
    "\u0e01-\u0e3e\u0e40-\u0e4e\u0e50-\u0e59\u0e80-\u0eff"  # Thai, Lao
    "\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17d7\u17dc-\u17e9"  # Burmese, Khmer
)
_EAST = (
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3100-\u312f"  # Kana, Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"  # Han, Hangul
)
_SPACELESS = _SOUTHEAST + _EAST
# A large class takes milliseconds to compile, each time it is written: here is what `\w` lacks of these.
_VOICED = "\u3099\u309a"
_LETTERS = rf"[\w{_ACCENTS}{_POINTS}{_VOWELS}{_SOUTHEAST}{_VOICED}\U00020000-\U0003ffff]++"

# What repeats keeps what it took (`++`): the search stays linear, and keeps no trail to go back on. Groups do
# not: possessive ones are not right in every Python 3.11 (CPython's issue 106052).
_WORD = rf"{_LETTERS}(?:[.'\u2019-]{_LETTERS})*(?:\+\+|\#(?!\w))?"

WORD = re.compile(_WORD)
"""A word of a token, such as `v1`, `C++` or `example.org`."""

TOKEN = re.compile(rf"(?:(?<![\w-])--(?=[A-Za-z]))?{_WORD}(?:(?:[/@]|::){_WORD})*")
"""A token of normalised text; the dashes of `--flag` are part of it."""

MARKS = re.compile(rf"[{_ACCENTS}{_POINTS}\u0640]++")
"""Marks on letters that people leave out when they ask, once the text is decomposed."""

# Soft hyphens and joiners show nothing; a zero-width space shows where a word ends.
_INVISIBLE = {0x00AD: None, 0x200B: " ", 0x200C: None, 0x200D: None, 0x2060: None, 0xFEFF: None}

# Unicode sorts the marks on a letter, in time that grows with their square (UAX #15 §13 has this limit).
_MANY_MARKS = re.compile(r"([^\w\s]{30})[^\w\s]++")


@cache
def spaceless() -> re.Pattern[str]:
    """Give what matches a character of the scripts that are written without spaces."""
    return re.compile(f"[{_SPACELESS}]")


@cache
def scripts() -> re.Pattern[str]:
    """Give what matches runs of characters: of such scripts as the first group, of others as the second."""
    return re.compile(f"([{_SPACELESS}]++)|([^{_SPACELESS}]++)")


def normalised(text: str) -> str:
    """Give text in the form that words are looked for in: NFKC, without invisible characters."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _MANY_MARKS.sub(r"\1", text.translate(_INVISIBLE)))


def folded(word: str) -> str:
    """Give a word without case and without marks on its letters: "cafe" finds "Café"."""
    plain = word.casefold()
    if plain.isascii():
        return plain
    bare = MARKS.sub("", unicodedata.normalize("NFD", plain.replace("\u2019", "'")))
    return unicodedata.normalize("NFC", bare)
