"""Invisible characters: their positions in a text's bytes, and a check of whether the text needs them."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

# No invisible character begins with one of these bytes, and most texts contain only these bytes.
_HARMLESS_BYTES = bytes(
    set(range(256))
    - {*range(1, 9), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F, 0xC2, 0xCD, 0xD8, 0xE1, 0xE2, 0xE3, 0xEF, 0xF3}
)
_CONTROLS = rb"\x01-\x08\x0b\x0c\x0e-\x1f\x7f"  # C0 controls, without NUL, which the rule `encoding` reports
# The first byte is matched first and then by a lookbehind, so the regex engine skips other bytes fast.
_INVISIBLE_CHARACTER = re.compile(
    rb"[%b\xc2\xcd\xd8\xe1\xe2\xe3\xef\xf3](?:(?<=[%b])"
    % (_CONTROLS, _CONTROLS)
    + rb"|(?<=\xc2)[\x80-\x9f\xad]"  # C1 controls, the soft hyphen
    rb"|(?<=\xcd)\x8f|(?<=\xd8)\x9c"  # combining grapheme joiner, Arabic letter mark
    rb"|(?<=\xe1)(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0\x8e)"  # fillers, vowels, a Mongolian separator
    rb"|(?<=\xe2)(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf])"  # zero widths, bidirectional controls
    rb"|(?<=\xe3)\x85\xa4|(?<=\xef)(?:\xbe\xa0|\xbb\xbf|\xbf[\xb9-\xbb])"  # fillers, U+FEFF, annotations
    rb"|(?<=\xf3)\xa0[\x80\x81][\x80-\xbf])"  # tags
)
BIDIRECTIONAL_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_DIRECTION_MARKS = frozenset("\u200e\u200f\u061c")
_ISOLATES = frozenset("\u2066\u2067\u2068")
_JOINERS = frozenset("\u200c\u200d")
_CONTEXT_BYTES = 16  # read before and after a character; they contain at least two characters
_MAX_TAG_BYTES = 64
# Each character needs a scan of its line, so longer lines are checked in parts.
_MAX_LINE_BYTES = 10_000
_LINE_END = re.compile(rb"[\r\n]")


def find_invisible_characters(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield each invisible character with its byte range [start, end), including needed characters.

    A byte-order mark at the beginning is not included, and neither is NUL.
    """
    if not data.translate(None, _HARMLESS_BYTES):
        return
    for match in _INVISIBLE_CHARACTER.finditer(data):
        character = match[0].decode("utf-8", "replace")
        if len(character) == 1 and (character != "\ufeff" or match.start()):
            yield match.start(), match.end(), character


def is_character_needed(data: bytes, start: int, end: int, character: str) -> bool:
    """Return True if the text around an invisible character needs it.

    Emoji and words of joining scripts need joiners, and lines with right-to-left letters need direction
    marks. Tags are needed after the black flag (Unicode Technical Standard 51, ED-14a).
    """
    preceding_text = data[max(0, start - _CONTEXT_BYTES) : start].decode("utf-8", "ignore")
    following_text = data[end : end + _CONTEXT_BYTES].decode("utf-8", "ignore")
    if character in _JOINERS:
        return _is_joiner_needed(preceding_text[-1:], following_text[:1], character)
    if character in _DIRECTION_MARKS:
        return _find_direction(_find_line(data, start, end)).is_right_to_left
    if 0xE0020 <= ord(character) <= 0xE007F:
        # Each tag has four bytes, and the flag precedes the first.
        text = data[max(0, start - _MAX_TAG_BYTES) : start].decode("utf-8", "ignore")
        return text.rstrip("".join(map(chr, range(0xE0020, 0xE007F)))).endswith("\U0001f3f4")
    return False


def is_direction_isolated(data: bytes, start: int, end: int) -> bool:
    """Return True if all bidirectional controls of a line with right-to-left letters are closed isolates."""
    return _find_direction(_find_line(data, start, end)).is_isolated


def format_code_point(character: str) -> str:
    """Return a character in the form of messages: `U+200B ZERO WIDTH SPACE`."""
    name = unicodedata.name(character, "") or ("CONTROL" if unicodedata.category(character) == "Cc" else "")
    return f"U+{ord(character):04X} {name}".rstrip()


def _is_joiner_needed(character_before: str, character_after: str, character: str) -> bool:
    if not character_before or not character_after:
        return False
    if unicodedata.category(character_before)[0] in "LM" and character_before != "\ufe0f":
        return not _never_joins(character_before) and (
            unicodedata.category(character_after)[0] not in "LM" or not _never_joins(character_after)
        )
    is_picture = unicodedata.category(character_before) in ("So", "Sk") or character_before == "\ufe0f"
    return character == "\u200d" and is_picture and unicodedata.category(character_after) in ("So", "Sm")


def _never_joins(letter: str) -> bool:
    """Return True if a letter belongs to a script that does not use joiners."""
    name = unicodedata.name(letter, "")
    return name.startswith(("LATIN", "GREEK", "CYRILLIC", "CJK", "HIRAGANA", "KATAKANA", "HANGUL"))


class _Direction(NamedTuple):
    """The direction of a line.

    `is_right_to_left` is True for a line with right-to-left letters. `is_isolated` is True for such a line if
    its only bidirectional controls are closed isolates.
    """

    is_right_to_left: bool
    is_isolated: bool


@lru_cache(maxsize=16)
def _find_direction(line: bytes) -> _Direction:
    text = line.decode("utf-8", "ignore")
    if not any(unicodedata.bidirectional(character) in ("R", "AL") for character in text):
        return _Direction(False, False)
    depth = 0
    for character in text:
        if character in _ISOLATES:
            depth += 1
        elif character == "\u2069":
            depth -= 1
        elif character in BIDIRECTIONAL_CONTROLS:
            return _Direction(True, False)
        if depth < 0:
            break
    return _Direction(True, depth == 0)


def _find_line(data: bytes, start: int, end: int) -> bytes:
    """Return the line of a byte range; for a very long line, the part of fixed size that contains it."""
    part_start = start - start % _MAX_LINE_BYTES
    line_start = max(data.rfind(b"\n", part_start, start), data.rfind(b"\r", part_start, start)) + 1
    line_end = _LINE_END.search(data, end, part_start + _MAX_LINE_BYTES)
    return data[
        max(line_start, part_start) : line_end.start() if line_end else max(end, part_start + _MAX_LINE_BYTES)
    ]
