"""Stems: "retries", "retrying" and "retry" are one word."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from Stemmer import Stemmer

# One PyStemmer object must not be used by two threads at once.
_stemming = threading.Lock()


def stem(word: str) -> str:
    """Give the Snowball stem of a folded English word; other words mostly stay as they are."""
    with _stemming:
        return str(_stemmer().stemWord(word))


def stems(words: Sequence[str]) -> list[str]:
    """Give the stems of many words at once, which is quicker."""
    with _stemming:
        found: list[str] = _stemmer().stemWords(words)
    return found


@cache
def _stemmer() -> Stemmer:
    from Stemmer import Stemmer

    return Stemmer("english", 0)
