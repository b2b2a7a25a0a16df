"""Which index terms one token stands for.

A plain word gives its stem. A name gives itself whole and each of its parts: `RateLimitError` is found by
"ratelimiterror" and by "rate limits", `/v1/search` by "v1/search" and by "search", `--labels` by "labels"
too. Letters are not parted from digits, so `token4` is not found by "token5". Text in scripts without spaces
gives pairs of neighbouring characters.

The terms of many raw tokens at once: those of `index.analysis.expansion`, found several times as fast.

Almost every raw token is a word or a name in ASCII with a little punctuation around it. These are handled all
together, as lines of one text: one search, one folding, one call to the stemmer. The others are left to
`terms_of_raw`, one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from index.analysis.words import STOP_WORDS, TOKEN, WORD, folded, normalised, scripts, spaceless, stem, stems

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
    """Return the terms of a raw token, each as often as it occurs; bytes that are not UTF-8 separate."""
    text = normalised(raw.decode("utf-8", "replace"))
    tokens = (text,) if raw.isalnum() else TOKEN.findall(text)
    return [term for token in tokens for term in terms_of_token(token)]


def terms_of_token(token: str) -> tuple[str, ...]:
    """Return the different terms of a token of normalised text, the whole of it first.

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
    """Return True if the first of a token's terms stands for the whole of it, as it does in most scripts."""
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


def terms_of_raws(raws: Sequence[bytes]) -> list[list[str]]:
    """Return the terms of each raw token, each as often as it occurs."""
    if not raws:
        return []
    tokens = _TOKEN.findall(b"\n".join(raws).decode("utf-8", "replace"))
    tokens = [token if len(token) <= MAX_TOKEN else "" for token in tokens]
    names = [name.split("/") for name in _lines(tokens).replace("::", "/").replace("@", "/").split("\n")]
    words = list(set(chain.from_iterable(names)))
    terms = dict(zip(words, _terms_of_words(words), strict=True))
    return [
        (terms[token] if len(name) == 1 else _bulk_terms_of_name(token, name, terms))
        if token
        else terms_of_raw(raw)
        for raw, token, name in zip(raws, tokens, names, strict=True)
    ]


def _bulk_terms_of_name(token: str, words: Iterable[str], terms: dict[str, list[str]]) -> list[str]:
    found = [token.lower()]
    for word in words:
        if word.lower() not in STOP_WORDS:
            found += terms[word]
    return list(dict.fromkeys(found))


def _terms_of_words(words: Iterable[str]) -> list[list[str]]:
    text = _lines(words)
    wholes = text.lower().split("\n")
    parted = _parted(text).lower()
    distinct = list({*wholes, *parted.split()})
    stem = dict(zip(distinct, stems(distinct), strict=True))
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


def _parted(text: str) -> str:
    """Put a space wherever `expansion.JOINT` parts words in ASCII: the same, and eight times as fast."""
    codes = np.frombuffer(text.encode("ascii") + b"\n\n", np.uint8)
    lower, upper = _IS_LOWER[codes], _IS_UPPER[codes]
    after = lower[2:] & ((codes[2:] != ord("s")) | np.append(lower[3:], False))
    begins = upper[1:-1] & (lower[:-2] | ((upper | _IS_DIGIT[codes])[:-2] & after))
    spaced = np.insert(codes[:-2], np.flatnonzero(begins) + 1, ord(" "))
    return spaced.tobytes().decode("ascii").translate(_JOINTS)


def _lines(words: Iterable[str]) -> str:
    return "\n".join(words)
