"""Text as bytes becomes raw tokens: what stands between spaces, once ASCII punctuation is out of the way.

No letter is looked at here, which makes it quick. The bytes that join words into names stay, and all bytes
of other scripts: a raw token holds one token, or some, or none (`index.analysis.expansion` tells), and a text
has the same tokens whether it is cut into raw tokens first or not.
"""

from __future__ import annotations

from collections.abc import Sequence

BREAK = b"\0"
"""The raw token between two texts, which no text holds."""

_JOINERS = b"_-'./@+#:"


def spaced(kept: bytes = b"") -> bytes:
    """Give the table that makes a space of each byte that is in no token, but for those to be kept."""
    kept += _JOINERS
    return bytes(byte if byte >= 0x80 or chr(byte).isalnum() or byte in kept else 0x20 for byte in range(256))


_SPACED = spaced(BREAK)


def raw_tokens(texts: Sequence[bytes]) -> list[bytes]:
    """Cut texts into raw tokens, in order, with BREAK between each text and the next."""
    joined = b" \0 ".join(texts)
    if joined.count(BREAK) >= len(texts):
        joined = b" \0 ".join(text.replace(BREAK, b" ") for text in texts)
    # Most words with a full stop after them end a sentence: without it they are not a word of their own.
    return joined.translate(_SPACED).replace(b". ", b"  ").split()
