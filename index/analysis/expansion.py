"""The index terms of a token.

A plain word gives its stem. A name gives the whole name and each of its parts: `RateLimitError` is found by
"ratelimiterror" and by "rate limits", `/v1/search` by "v1/search" and by "search", `--labels` by "labels"
too. Letters are not split from digits, so `token4` is not found by "token5". Text in scripts without spaces
gives pairs of neighbouring characters.

`expand_raws` returns the same terms for many raw tokens at once, several times as fast. Almost every raw
token is a word or a name in ASCII with some punctuation around it. These are processed together, as lines of
one text: one search, one case folding, one call to the stemmer. The others go through `expand_raw` one by
one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from index.analysis.words import (
    STOP_WORDS,
    TOKEN,
    WORD,
    fold,
    normalize,
    script_runs_pattern,
    spaceless_pattern,
    stem,
    stem_all,
)

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


def expand_raw(raw: bytes) -> list[str]:
    """Return the terms of a raw token, each as often as it occurs.

    Bytes that are not UTF-8 separate words.
    """
    text = normalize(raw.decode("utf-8", "replace"))
    tokens = (text,) if raw.isalnum() else TOKEN.findall(text)
    return [term for token in tokens for term in expand_token(token)]


def expand_token(token: str) -> tuple[str, ...]:
    """Return the distinct terms of a token of normalized text, the whole token first.

    A stop word is its own only term, and is dropped from the parts of a name.
    """
    if not is_name(token):
        terms = [term for run in script_runs_pattern().findall(token) for term in _expand_run(*run)]
    elif token.startswith("--"):
        terms = [fold(token[:MAX_NAME])[:MAX_TOKEN], *_expand_name(token[2:MAX_NAME])]
    elif token.isalnum():
        terms = _expand_word(token)
    else:
        terms = _expand_name(token[:MAX_NAME])
    return tuple(dict.fromkeys(terms))


def is_name(token: str) -> bool:
    """Return True if the first term of a token is the whole token, as it is in most scripts."""
    return token.isascii() or spaceless_pattern().search(token) is None


def _expand_run(spaceless: str, other: str) -> Iterator[str]:
    for part in TOKEN.findall(other):
        yield from expand_token(part)
    if len(spaceless) == 1:
        yield spaceless
    for i in range(len(spaceless) - 1):
        yield spaceless[i : i + 2]


def _expand_name(name: str) -> list[str]:
    words = WORD.findall(name)
    if len(words) == 1:
        return _expand_word(name)
    terms = [fold(name)[:MAX_TOKEN]]
    for word in words:
        if fold(word) not in STOP_WORDS:
            terms += _expand_word(word)
    return terms


def _expand_word(word: str) -> list[str]:
    whole = fold(word)
    if whole in STOP_WORDS:
        return [whole]
    if whole.endswith("'s"):
        word, whole = word[:-2], whole[:-2]
    is_plain = _MARKED.search(whole) is None
    term = stem(whole[:MAX_TOKEN]) if is_plain else whole[:MAX_TOKEN]
    parts = [part for part in map(fold, JOINT.split(word)) if part]
    if not parts or (is_plain and len(parts) == 1):
        return [term][: len(parts)]
    return [term, *(stem(part[:MAX_TOKEN]) for part in parts if part not in STOP_WORDS)]


# A line that is one token, which is the group; or any other line.
_TOKEN = re.compile(
    r"^[./:@']*+ -?(\w++(?:(?:[/.@-]|::)\w++)*) [./:@'-]*+$ | ^.*$", re.ASCII | re.MULTILINE | re.VERBOSE
)

# Of ASCII alone, in which a word is parted by these, and is told from a name of several parts.
_JOINTS = str.maketrans("_.-", "   ")

_IS_LOWER, _IS_UPPER, _IS_DIGIT = (
    np.array([is_kind(chr(code)) for code in range(128)])
    for is_kind in (str.islower, str.isupper, str.isdigit)
)


def expand_raws(raws: Sequence[bytes]) -> list[list[str]]:
    """Return the terms of each raw token, each as often as it occurs."""
    if not raws:
        return []
    tokens = _TOKEN.findall(b"\n".join(raws).decode("utf-8", "replace"))
    tokens = [token if len(token) <= MAX_TOKEN else "" for token in tokens]
    names = [name.split("/") for name in _lines(tokens).replace("::", "/").replace("@", "/").split("\n")]
    words = list(set(chain.from_iterable(names)))
    terms = dict(zip(words, _expand_words(words), strict=True))
    return [
        (terms[token] if len(name) == 1 else _expand_ascii_name(token, name, terms))
        if token
        else expand_raw(raw)
        for raw, token, name in zip(raws, tokens, names, strict=True)
    ]


def _expand_ascii_name(token: str, words: Iterable[str], terms: dict[str, list[str]]) -> list[str]:
    found = [token.lower()]
    for word in words:
        if word.lower() not in STOP_WORDS:
            found += terms[word]
    return list(dict.fromkeys(found))


def _expand_words(words: Iterable[str]) -> list[list[str]]:
    text = _lines(words)
    wholes = text.lower().split("\n")
    parted = _split_joints(text).lower()
    distinct = list({*wholes, *parted.split()})
    stem = dict(zip(distinct, stem_all(distinct), strict=True))
    # What is left out of a name's parts.
    part = {**stem, **dict.fromkeys(STOP_WORDS & stem.keys(), "")}
    found: list[list[str]] = []
    for whole, line in zip(wholes, parted.split("\n"), strict=True):
        if whole == line or whole in STOP_WORDS:
            found.append([part[whole] or whole])
        elif parts := line.split():
            terms = dict.fromkeys([stem[whole] if whole.isalnum() else whole, *map(part.__getitem__, parts)])
            terms.pop("", None)
            found.append(list(terms))
        else:
            found.append([])
    return found


def _split_joints(text: str) -> str:
    """Put a space wherever `JOINT` splits ASCII words.

    This is eight times as fast as the regular expression.
    """
    codes = np.frombuffer(text.encode("ascii") + b"\n\n", np.uint8)
    lower, upper = _IS_LOWER[codes], _IS_UPPER[codes]
    after = lower[2:] & ((codes[2:] != ord("s")) | np.append(lower[3:], False))
    begins = upper[1:-1] & (lower[:-2] | ((upper | _IS_DIGIT[codes])[:-2] & after))
    spaced = np.insert(codes[:-2], np.flatnonzero(begins) + 1, ord(" "))
    return spaced.tobytes().decode("ascii").translate(_JOINTS)


def _lines(words: Iterable[str]) -> str:
    return "\n".join(words)
