"""What a text costs a reader: tokens, counted where the extra `docyard[tokens]` is installed, else estimated.

The estimate cuts a text where the tokenizers of current models cut it before they look anything up (words
with the character before them, three digits at a time, runs of punctuation, line ends), and adds up what such
a piece costs on average, by its kind and length. docs/tokens.md states how far it is from the truth.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from workspace.texts.token_costs import PIECES, SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Callable

EXACT = "o200k_base"
ESTIMATE = "estimate"

# The shortest pieces come again and again; the others would fill memory.
_KEPT = 50_000
_KEPT_LENGTH = 24

_SUFFIX = r"(?:'(?:s|t|re|ve|m|ll|d)(?![a-z]))?"
_BLANKS = r"[ \t]*[\r\n]+(?:[ \t]*[\r\n]+)*|[ \t]+(?=[ \t])"
_ASCII = re.compile(
    rf"[^\r\n0-9A-Za-z]?(?:[A-Z]*[a-z]+|[A-Z]+){_SUFFIX}|[0-9]{{1,3}}|{_BLANKS}| ?[^\s0-9A-Za-z]+[\r\n/]*|\s+"
)
_LATIN = "a-z\u00c0-\u024f\u1e00-\u1eff"
_SIGNS = "!-/:-@\\[-`{-~"
# Vowel signs of scripts in which they stand for themselves, and which re does not count among letters.
_VOWELS = "\u0300-\u036f\u0591-\u05c7\u0610-\u065f\u0900-\u109f\u1780-\u17ff"
_ANY = re.compile(
    rf"[^\r\n\w]?(?:[A-Z]*[{_LATIN}]+|[A-Z]+){_SUFFIX}|\d{{1,3}}"
    rf"|[^\r\n\w]?[^\W\d_A-Z{_LATIN}](?:[^\W\d_A-Z{_LATIN}]|[{_VOWELS}])*|{_BLANKS}"
    rf"| ?[{_SIGNS}]+[\r\n/]*| ?[^\w\s{_SIGNS}]+|\s+|_"
)
_RULES = "-=*#_./"
_WORD = re.compile(r"([^0-9A-Za-z]?)([A-Za-z]+)")


def count_tokens(text: str | bytes) -> int:
    """How many tokens a text has, as `tokenizer` says; bytes are read as UTF-8."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    counter = _counter()
    return counter(text) if counter else estimate_tokens(text)


def tokenizer() -> str:
    """How tokens are counted here: "o200k_base", which is exact for models that use it, or "estimate"."""
    return EXACT if _counter() else ESTIMATE


@cache
def _counter() -> Callable[[str], int] | None:
    """The exact counter; None where the extra is not installed."""
    try:
        from rs_bpe.bpe import openai
    except ImportError:
        return None
    count: Callable[[str], int] = openai.o200k_base().count
    return count


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has, in one pass over it; nothing but Python is needed."""
    pieces = (_ASCII if text.isascii() else _ANY).findall(text)
    return (sum(map(_costs.__getitem__, pieces)) + 50) // 100


class _Costs(dict[str, int]):
    """The cost of each piece in hundredths of a token, worked out when it is first met."""

    def __missing__(self, piece: str) -> int:
        cost = _cost(piece)
        if len(piece) <= _KEPT_LENGTH and len(self) < _KEPT:
            self[piece] = cost
        return cost


_costs = _Costs()


def _cost(piece: str) -> int:
    if not piece.isascii():
        row, slope = SCRIPTS[script_of(piece)]
        length = len(piece)
    else:
        name, length = kind_of_piece(piece)
        row, slope = PIECES[name]
    return row[length - 1] if length <= len(row) else row[-1] + (length - len(row)) * slope


def kind_of_piece(piece: str) -> tuple[str, int]:
    """The kind of a piece of ASCII, which is a row of the table, and its length there.

    Words: what stands before them (`-` nothing, `s` a space, `.` another) and their case (`l`ower, `U`pper,
    `T`itle, `m`ixed); `digits`, `line` ends, `blank` runs; runs of one sign, `rule` of those that
    rule lines in texts, `same` of another; other `signs`, these also before a line end.
    """
    word = _WORD.match(piece)
    if word:
        lead, letters = word.groups()
        before = "-" if not lead else "s" if lead == " " else "."
        return before + _case(letters), len(letters)
    if piece[0].isdigit():
        return "digits", len(piece)
    signs = piece.strip()
    if not signs:
        return ("line" if "\n" in piece or "\r" in piece else "blank"), len(piece)
    if signs.count(signs[0]) == len(signs):
        return ("rule" if signs[0] in _RULES else "same"), len(signs)
    return ("signs/line" if piece[-1] in "\r\n" else "signs"), len(signs)


def _case(letters: str) -> str:
    if letters.islower():
        return "l"
    return "U" if letters.isupper() else "T" if letters[1:].islower() else "m"


# The first code point behind each script, in order (Unicode 15, Blocks.txt).
_ENDS = (
    (0x0370, "latin"),
    (0x0400, "greek"),
    (0x0530, "cyrillic"),
    (0x0600, "hebrew"),
    (0x0900, "arabic"),
    (0x0E00, "indic"),
    (0x0E80, "thai"),
    (0x1100, "indic"),
    (0x1200, "hangul"),
    (0x1E00, "rare"),
    (0x2000, "latin"),
    (0x2E80, "symbol"),
    (0x3040, "punctuation"),
    (0x3100, "kana"),
    (0xA000, "han"),
    (0xAC00, "rare"),
    (0xD7B0, "hangul"),
    (0xF900, "rare"),
    (0xFB00, "han"),
    (0xFE00, "arabic"),
    (0xFE70, "punctuation"),
    (0xFF00, "arabic"),
    (0xFFF0, "punctuation"),
    (0x1F000, "rare"),
    (0x20000, "emoji"),
    (0x110000, "rare"),
)


def script_of(piece: str) -> str:
    """The script of the last character that is not ASCII, as far as it matters for what pieces cost."""
    last = next(ord(character) for character in reversed(piece) if character > "\x7f")
    return next(name for end, name in _ENDS if last < end)
