"""Escapes of characters that a reader does not see, or that change the direction of text."""

from __future__ import annotations

import unicodedata

# Line feeds, tabs, and joiners, which are parts of emoji and of words in several scripts.
_UNESCAPED_CHARACTERS = frozenset("\n\t\u200c\u200d")


def escape_invisible(text: str) -> str:
    """Return a text with escapes for invisible and bidirectional characters, which file names may contain."""
    if text.isprintable():
        return text
    return "".join(_escape_character(character) for character in text)


def _escape_character(character: str) -> str:
    if character in _UNESCAPED_CHARACTERS or unicodedata.category(character) not in (
        "Cc",
        "Cf",
        "Cs",
        "Zl",
        "Zp",
    ):
        return character
    return f"\\u{ord(character):04x}"
