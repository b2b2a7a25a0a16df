"""Token counts of texts: exact with the extra `docyard[tokens]`, else estimated."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

EXACT_TOKENIZER = "o200k_base"
ESTIMATE_TOKENIZER = "estimate"

# Each match is a token: a word with the character before it, three digits, line ends, spaces, a horizontal
# rule, a Chinese, Japanese or Korean character, a few letters of other scripts, a few other characters.
_TOKEN = re.compile(
    r"[^\w\r\n]?(?:[A-Z]?[a-z]{1,10}|[A-Z]{1,3})|[0-9]{1,3}|[\r\n]+[ \t]*|[ \t]+|[-=*#_.]{1,16}"
    r"|[\u3040-\ud7ff\U00010000-\U0010ffff]|[^\x00-\x7f]{1,4}|[^\w\s]{1,3}|\S"
)


def count_tokens(text: str | bytes) -> int:
    """Return the number of tokens of a text, by the tokenizer of `get_tokenizer`; bytes are read as UTF-8."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    counter = _load_counter()
    return counter(text) if counter else estimate_tokens(text)


def get_tokenizer() -> str:
    """Return the tokenizer's name: "o200k_base", exact for models that use it, or "estimate"."""
    return EXACT_TOKENIZER if _load_counter() else ESTIMATE_TOKENIZER


@cache
def _load_counter() -> Callable[[str], int] | None:
    """Return the exact counter, or None if the extra is not installed."""
    try:
        from rs_bpe.bpe import openai
    except ImportError:
        return None
    count: Callable[[str], int] = openai.o200k_base().count
    return count


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text; docs/reading.md states the error."""
    return len(_TOKEN.findall(text))


def bound_tokens(character_count: int) -> int:
    """Return the maximum number of tokens of a text with this many characters.

    A character has at most four bytes, and a byte is at most one token. This holds for every tokenizer that
    works on UTF-8. A text that fits a budget by this bound needs no count.
    """
    return 4 * character_count
