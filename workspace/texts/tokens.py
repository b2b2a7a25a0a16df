"""Tokens: what a text costs a reader, counted with the extra `docyard[tokens]`, else estimated."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

EXACT = "o200k_base"
ESTIMATE = "estimate"

# Each piece is a token: a word with the sign before it, three digits, line ends, blanks, a ruled line, a sign
# of Chinese, Japanese or Korean, a few letters of other scripts, a few other signs.
_PIECE = re.compile(
    r"[^\w\r\n]?(?:[A-Z]?[a-z]{1,10}|[A-Z]{1,3})|[0-9]{1,3}|[\r\n]+[ \t]*|[ \t]+|[-=*#_.]{1,16}"
    r"|[\u3040-\ud7ff\U00010000-\U0010ffff]|[^\x00-\x7f]{1,4}|[^\w\s]{1,3}|\S"
)


def count_tokens(text: str | bytes) -> int:
    """Return how many tokens a text has, as `tokenizer` says; bytes are read as UTF-8."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    counter = _counter()
    return counter(text) if counter else estimate_tokens(text)


def get_tokenizer() -> str:
    """Return the token counter's name: "o200k_base", exact for models that use it, or "estimate"."""
    return EXACT if _counter() else ESTIMATE


@cache
def _counter() -> Callable[[str], int] | None:
    """Return the exact counter; None where the extra is not installed."""
    try:
        from rs_bpe.bpe import openai
    except ImportError:
        return None
    count: Callable[[str], int] = openai.o200k_base().count
    return count


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has; docs/reading.md states the error of the estimate."""
    return len(_PIECE.findall(text))


def bound_tokens(characters: int) -> int:
    """Return the most tokens that so many characters can have: one for each byte, four bytes for each.

    It holds for every tokenizer that works on UTF-8. A text that it admits to a budget is not counted.
    """
    return 4 * characters
