"""The query grammar: what a person or an agent typed becomes a question to an engine.

    words              joined by OR; stop words ("the", "and") count for nothing beside others
    "exact phrase"     must occur, or comes first where other words stand beside; any quotes but single ones
    -word  -"word"     must not occur; the dash begins the query or follows a space

All else is text: there are no wildcards, ranges, fuzziness, brackets, fields or operators, and nothing is
wrong but too much. Identifiers keep their form: `--dry-run`, `-1` and `-rf` are searched for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from index.analysis import STOP_WORDS, TOKEN, expand, weigh
from index.analysis.words import normalised, spaceless
from index.phrases import words_of
from index.port import Query
from workspace.errors import WorkspaceError

MAX_CHARACTERS = 10_000
"""The length of a query."""

MAX_TERMS = 256
"""The different index terms that a query asks for or excludes; an identifier has several."""

MAX_PHRASES = 16
"""The different phrases of a query."""

MAX_PATH = 1_000
"""The length of a path or glob to filter by."""

_FEWER_WORDS = "Ask with the few words that matter most, such as 'retry backoff'."

_STRAIGHT = '"\u201c\u201d\u201e\u201f'
_QUOTES = f"{_STRAIGHT}\u00ab\u00bb"

# A quote right after a letter or digit opens nothing: it is a mark of inches, say. A dash before a number, or
# before a dash, excludes nothing. What repeats keeps what it took (`++`), so reading takes linear time.
_MARKED = re.compile(
    rf"""
    (?P<dash> (?<!\S)- )?
    (?: (?<![A-Za-z0-9_]) [{_STRAIGHT}] (?P<quoted> [^{_STRAIGHT}]*+ ) [{_STRAIGHT}]
      | \u00ab (?P<pointed> [^\u00ab\u00bb]*+ ) \u00bb )
    | (?<!\S)- (?P<excluded> [^\W\d_][^\s{_QUOTES}]++ )
    """,
    re.VERBOSE,
)
_MARK = re.compile(f"[{_QUOTES}-]")


class EmptyQuery(WorkspaceError):
    """A search without a query."""

    code: ClassVar[str] = "EMPTY_QUERY"


class QueryTooBroad(WorkspaceError):
    """A query that asks for more than is looked up at once; `details` has the `limit`, if it is a number."""

    code: ClassVar[str] = "QUERY_TOO_BROAD"


@dataclass(frozen=True, slots=True)
class _Parts:
    """A query taken apart: its text, which has the words of the phrases too, and what is marked in it."""

    text: str
    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[str, ...] = ()


def parse(text: str, filters: Mapping[str, str] | None = None, path: str | None = None) -> Query:
    """Read a query. Raises EmptyQuery if it is blank, QueryTooBroad if it is over a limit.

    The words of phrases are among the terms. A query of punctuation alone has no terms, and finds nothing.
    """
    if not text or text.isspace():
        raise EmptyQuery("the query is empty", fix="Ask with a few words, such as 'retry backoff'.")
    if len(text) <= MAX_CHARACTERS:
        text = normalised(text)
    if len(text) > MAX_CHARACTERS:
        raise _too_broad("characters", len(text), MAX_CHARACTERS, _FEWER_WORDS)
    if path is not None and len(path) > MAX_PATH:
        raise _too_broad("characters in its path", len(path), MAX_PATH, "Filter by a folder, such as guides.")
    parts = _taken_apart(text) if _MARK.search(text) else _Parts(text)
    terms = weigh(TOKEN.findall(parts.text))
    if not terms and parts.excluded:
        # Nobody excludes from nothing: `-Wall` by itself is what to search for.
        parts = _Parts(text)
        terms = weigh(TOKEN.findall(text))
    if len(parts.phrases) > MAX_PHRASES:
        raise _too_broad("phrases", len(parts.phrases), MAX_PHRASES, "Put less of it in quotes.")
    if (count := len(terms) + len(parts.excluded)) > MAX_TERMS:
        raise _too_broad("different words and parts of words", count, MAX_TERMS, _FEWER_WORDS)
    return Query(
        terms,
        parts.excluded,
        parts.phrases,
        dict(filters or {}),
        path,
        phrases_first=bool(parts.phrases) and _says_more(text),
    )


def _says_more(text: str) -> bool:
    """Whether a query has words beside what is quoted or excluded."""
    tokens = TOKEN.findall(_MARKED.sub(" ", text))
    return any(term not in STOP_WORDS for token in tokens for term in expand(token))


def _taken_apart(text: str) -> _Parts:
    kept: list[str] = []
    phrases: dict[tuple[str, ...], None] = {}
    excluded: dict[str, None] = {}
    end = 0
    for marked in _MARKED.finditer(text):
        phrase = marked["quoted"] or marked["pointed"] or ""
        unwanted = marked["excluded"] or (phrase if marked["dash"] else "")
        if unwanted:
            if (term := _excluded(unwanted, is_quoted=bool(phrase))) is None:
                continue
            if term not in STOP_WORDS:
                excluded[term] = None
        elif words := words_of(phrase):
            phrases[words] = None
            continue
        kept.append(text[end : marked.start()])
        end = marked.end()
    kept.append(text[end:])
    return _Parts(" ".join(kept), tuple(phrases), tuple(excluded))


def _excluded(text: str, *, is_quoted: bool) -> str | None:
    """Give the term that stands for the whole of a word; None if the text is to be searched for."""
    tokens = TOKEN.findall(text)
    if len(tokens) == 1:
        [token] = tokens
        terms = expand(token)
        if len(terms) == 1 or spaceless().search(token) is None:
            # One or two letters are flags, as in `rm -rf`; in other scripts they may be a word.
            return terms[0] if is_quoted or len(token) > 2 or not token.isascii() else None
    elif not tokens or not is_quoted:
        return None
    raise QueryTooBroad(
        "a phrase cannot be excluded, only a word",
        fix="Put the dash before one word, such as -draft, or leave it out.",
    )


def _too_broad(what: str, count: int, limit: int, fix: str) -> QueryTooBroad:
    return QueryTooBroad(f"the query has {count:,} {what}, and {limit:,} is the limit", fix=fix, limit=limit)
