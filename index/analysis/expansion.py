"""Which index terms one token stands for.

A plain word gives its stem. A name gives itself whole and each of its parts: `RateLimitError` is found by
"ratelimiterror" and by "rate limits", `/v1/search` by "v1/search" and by "search", `--labels` by "labels"
too. Letters are not parted from digits, so `token4` is not found by "token5". Text in scripts without spaces
gives pairs of neighbouring characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from index.analysis.stemming import stem
from index.analysis.stops import STOP_WORDS
from index.analysis.words import TOKEN, WORD, folded, normalised, scripts, spaceless

MAX_TOKEN = 64
"""Longer terms (hashes, encoded data) are known by their first 64 characters."""

MAX_NAME = 4096
"""Of a longer name, which no person wrote, the first 4,096 characters are read."""

JOINT = re.compile(
    r"[_.'\u2019+\#-]+ | (?<=[a-z])(?=[A-Z]) | (?<=[A-Z0-9])(?=[A-Z](?!s(?![a-z]))[a-z])", re.VERBOSE
)
"""What parts words: what joins them; between a small letter and a capital; before the last of several
capitals, but `APIs` is one word."""
_MARKED = re.compile(r"[_.'+#-]")


def terms_of_raw(raw: bytes) -> list[str]:
    """Give the terms of a raw token, each as often as it occurs; bytes that are not UTF-8 separate."""
    text = normalised(raw.decode("utf-8", "replace"))
    tokens = (text,) if raw.isalnum() else TOKEN.findall(text)
    return [term for token in tokens for term in terms_of_token(token)]


def terms_of_token(token: str) -> tuple[str, ...]:
    """Give the different terms of a token of normalised text, the whole of it first.

    A stop word stands for itself alone, and is left out of a name's parts.
    """
    if not is_name(token):
        terms = [term for run in scripts().findall(token) for term in _terms_of_run(*run)]
    elif token.startswith("--"):
        terms = [folded(token[:MAX_NAME])[:MAX_TOKEN], *_terms_of_name(token[2:MAX_NAME])]
    elif token.isalnum():
        terms = _terms_of_word(token)
    else:
        terms = _terms_of_name(token[:MAX_NAME])
    return tuple(dict.fromkeys(terms))


def is_name(token: str) -> bool:
    """Whether the first of a token's terms stands for the whole of it, as it does in most scripts."""
    return token.isascii() or spaceless().search(token) is None


def _terms_of_run(spaceless: str, other: str) -> Iterator[str]:
    for part in TOKEN.findall(other):
        yield from terms_of_token(part)
    if len(spaceless) == 1:
        yield spaceless
    for i in range(len(spaceless) - 1):
        yield spaceless[i : i + 2]


def _terms_of_name(name: str) -> list[str]:
    words = WORD.findall(name)
    if len(words) == 1:
        return _terms_of_word(name)
    terms = [folded(name)[:MAX_TOKEN]]
    for word in words:
        if folded(word) not in STOP_WORDS:
            terms += _terms_of_word(word)
    return terms


def _terms_of_word(word: str) -> list[str]:
    whole = folded(word)
    if whole in STOP_WORDS:
        return [whole]
    if whole.endswith("'s"):
        word, whole = word[:-2], whole[:-2]
    is_plain = _MARKED.search(whole) is None
    term = stem(whole[:MAX_TOKEN]) if is_plain else whole[:MAX_TOKEN]
    parts = [part for part in map(folded, JOINT.split(word)) if part]
    if not parts or (is_plain and len(parts) == 1):
        return [term][: len(parts)]
    return [term, *(stem(part[:MAX_TOKEN]) for part in parts if part not in STOP_WORDS)]
