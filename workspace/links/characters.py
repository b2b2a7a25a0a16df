"""Bytes as text of one character a byte, so that a place in the one is the same place in the other.

What Markdown means by its ASCII marks and white space is told exactly on such a text, whatever the bytes are;
what its words say is told by decoding them.
"""

from __future__ import annotations

import codecs

_REPLACEMENT = "\ufffd"
# Letters without case, none of which is white space.
_FIRST_LETTER = 0x3400
# CommonMark §2.3: a NUL is read as a replacement character.
_DECODED = _REPLACEMENT + "".join(chr(i if i < 0x80 else _FIRST_LETTER + i) for i in range(1, 0x100))
_ENCODED: dict[int, int | bytes] = {ord(character): byte for byte, character in enumerate(_DECODED)}
_ENCODED[ord(_REPLACEMENT)] = _REPLACEMENT.encode()


def as_text(data: bytes) -> str:
    """Bytes as a text of as many characters."""
    if data.isascii() and b"\0" not in data:
        return data.decode("ascii")
    return codecs.charmap_decode(data, "strict", _DECODED)[0]


def meaning(text: str) -> str:
    """What such a text says: its bytes as UTF-8, with U+FFFD for what is none."""
    if text.isascii():
        return text
    return codecs.charmap_encode(text, "strict", _ENCODED)[0].decode("utf-8", "replace")
