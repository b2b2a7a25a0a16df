"""The index terms of a token.

The term of a plain word is its stem. The terms of a name are the full name and each of its parts.
`RateLimitError` is found by "ratelimiterror" and by "rate limits", `/v1/search` by "v1/search" and by
"search", `--labels` by "labels" too. A digit is not split from the letter before it, so `token4` is not found
by "token".
The terms of text in scripts without spaces are pairs of neighbouring characters.

`expand_raw_tokens` returns the same terms for many raw tokens at once, several times as fast. Almost every
raw token is a word or a name in ASCII with some punctuation around it. These tokens are processed together,
as lines of one text: one search, one case folding, one call to the stemmer. Each other token is passed to
`expand_raw_token`.
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
    get_script_runs_pattern,
    get_spaceless_pattern,
    normalize,
    stem,
    stem_all,
)

MAX_TERM_LENGTH = 64
"""The largest number of characters of a term. Longer terms (hashes, encoded data) are cut."""

MAX_NAME_LENGTH = 4096
"""The number of characters after which a name is cut before it is split into parts. Longer names are data."""

JOINT = re.compile(
    r"[_.'\u2019+\#-]+ | (?<=[a-z])(?=[A-Z]) | (?<=[A-Z0-9])(?=[A-Z](?!s(?![a-z]))[a-z])", re.VERBOSE
)
"""Positions between the parts of a word: at joining characters, between a lower-case and an upper-case
letter, and between a capital or digit and a capital with a lower-case letter, except in plurals such as
`APIs`."""

_JOINING_CHARACTER = re.compile(r"[_.'+#-]")
_WORD_JOINER = re.compile("[/@:]")  # joins the words of a name, as in `TOKEN`


def expand_raw_token(raw_token: bytes) -> list[str]:
    """Return the terms of a raw token. A term that occurs several times is repeated.

    Bytes that are not UTF-8 separate words.
    """
    text = normalize(raw_token.decode("utf-8", "replace"))
    tokens = (text,) if raw_token.isalnum() else TOKEN.findall(text)
    return [term for token in tokens for term in expand_token(token)]


def expand_token(token: str) -> tuple[str, ...]:
    """Return the distinct terms of a token of normalized text, the full token first.

    The only term of a stop word is the word itself. Stop words are dropped from the parts of a name.
    """
    if not has_full_term(token):
        terms = [
            term for run in get_script_runs_pattern().findall(token) for term in _expand_script_run(*run)
        ]
    elif token.startswith("--"):
        terms = [fold(token[:MAX_NAME_LENGTH])[:MAX_TERM_LENGTH], *_expand_name(token[2:MAX_NAME_LENGTH])]
    elif token.isalnum():
        terms = _expand_word(token)
    else:
        terms = _expand_name(token[:MAX_NAME_LENGTH])
    return tuple(dict.fromkeys(terms))


def has_full_term(token: str) -> bool:
    """Return True if the first term of a token is the full token, as in all scripts with spaces."""
    return token.isascii() or get_spaceless_pattern().search(token) is None


def _expand_script_run(spaceless: str, other: str) -> Iterator[str]:
    for part in TOKEN.findall(other):
        yield from expand_token(part)
    if len(spaceless) == 1:
        yield spaceless
    for start in range(len(spaceless) - 1):
        yield spaceless[start : start + 2]


def _expand_name(name: str) -> list[str]:
    words = WORD.findall(name) if _WORD_JOINER.search(name) else []
    if len(words) <= 1:
        return _expand_word(name)
    terms = [fold(name)[:MAX_TERM_LENGTH]]
    for word in words:
        if fold(word) not in STOP_WORDS:
            terms += _expand_word(word)
    return terms


def _expand_word(word: str) -> list[str]:
    full_word = fold(word)
    if full_word in STOP_WORDS:
        return [full_word]
    if word.isalnum() and word.isascii() and word[1:].islower():  # most words have no joint
        return [stem(full_word[:MAX_TERM_LENGTH])]
    if full_word.endswith("'s"):
        word, full_word = word[:-2], full_word[:-2]
    is_plain = _JOINING_CHARACTER.search(full_word) is None
    term = stem(full_word[:MAX_TERM_LENGTH]) if is_plain else full_word[:MAX_TERM_LENGTH]
    parts = [part for part in map(fold, JOINT.split(word)) if part]
    if not parts or (is_plain and len(parts) == 1):
        return [term][: len(parts)]
    return [term, *stem_all([part[:MAX_TERM_LENGTH] for part in parts if part not in STOP_WORDS])]


# Matches every line. The group is the token if the line is one plain ASCII word or name, else empty.
_SINGLE_TOKEN_LINE = re.compile(
    r"^[./:@']*+ -?(\w++(?:(?:[/.@-]|::)\w++)*) [./:@'-]*+$ | ^.*$", re.ASCII | re.MULTILINE | re.VERBOSE
)

# The joining characters of ASCII words, which have no other characters between their parts.
_JOINT_TABLE = str.maketrans("_.-", "   ")

_IS_LOWER, _IS_UPPER, _IS_DIGIT = (
    np.array([is_kind(chr(code)) for code in range(128)])
    for is_kind in (str.islower, str.isupper, str.isdigit)
)


def expand_raw_tokens(raw_tokens: Sequence[bytes]) -> list[list[str]]:
    """Return the terms of each raw token. A term that occurs several times is repeated."""
    if not raw_tokens:
        return []
    tokens = _SINGLE_TOKEN_LINE.findall(b"\n".join(raw_tokens).decode("utf-8", "replace"))
    tokens = [token if len(token) <= MAX_TERM_LENGTH else "" for token in tokens]
    names = [name.split("/") for name in _join_lines(tokens).replace("::", "/").replace("@", "/").split("\n")]
    words = list(set(chain.from_iterable(names)))
    terms = dict(zip(words, _expand_words(words), strict=True))
    return [
        (terms[token] if len(name) == 1 else _expand_ascii_name(token, name, terms))
        if token
        else expand_raw_token(raw_token)
        for raw_token, token, name in zip(raw_tokens, tokens, names, strict=True)
    ]


def _expand_ascii_name(token: str, words: Iterable[str], terms_by_word: dict[str, list[str]]) -> list[str]:
    name_terms = [token.lower()]
    for word in words:
        if word.lower() not in STOP_WORDS:
            name_terms += terms_by_word[word]
    return list(dict.fromkeys(name_terms))


def _expand_words(words: Iterable[str]) -> list[list[str]]:
    text = _join_lines(words)
    full_words = text.lower().split("\n")
    split_words = _split_joints(text).lower()
    distinct_words = list({*full_words, *split_words.split()})
    stem_of_word = dict(zip(distinct_words, stem_all(distinct_words), strict=True))
    # Stop words are not among the parts of a name.
    part_of_word = {**stem_of_word, **dict.fromkeys(STOP_WORDS & stem_of_word.keys(), "")}
    term_lists: list[list[str]] = []
    for full_word, line in zip(full_words, split_words.split("\n"), strict=True):
        if full_word == line or full_word in STOP_WORDS:
            term_lists.append([part_of_word[full_word] or full_word])
        elif parts := line.split():
            terms = dict.fromkeys(
                [
                    stem_of_word[full_word] if full_word.isalnum() else full_word,
                    *map(part_of_word.__getitem__, parts),
                ]
            )
            terms.pop("", None)
            term_lists.append(list(terms))
        else:
            term_lists.append([])
    return term_lists


def _split_joints(text: str) -> str:
    """Put a space wherever `JOINT` splits ASCII words.

    This is eight times as fast as the regular expression.
    """
    codes = np.frombuffer(text.encode("ascii") + b"\n\n", np.uint8)
    is_lower, is_upper = _IS_LOWER[codes], _IS_UPPER[codes]
    is_lower_after = is_lower[2:] & ((codes[2:] != ord("s")) | np.append(is_lower[3:], False))
    is_part_start = is_upper[1:-1] & (is_lower[:-2] | ((is_upper | _IS_DIGIT[codes])[:-2] & is_lower_after))
    codes_with_spaces = np.insert(codes[:-2], np.flatnonzero(is_part_start) + 1, ord(" "))
    return codes_with_spaces.tobytes().decode("ascii").translate(_JOINT_TABLE)


def _join_lines(words: Iterable[str]) -> str:
    return "\n".join(words)
