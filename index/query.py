"""The query grammar: what a person or an agent typed becomes a question to an engine.

    words              joined by OR; stop words ("the", "and") count for nothing beside others
    "exact phrase"     must occur, or comes first where other words stand beside; any quotes but single ones
    -word  -"word"     must not occur; the dash begins the query or follows a space

All else is text: there are no wildcards, ranges, fuzziness, brackets, fields or operators, and nothing is
wrong but too much. Identifiers keep their form: `--dry-run`, `-1` and `-rf` are searched for.

Exact phrases: whether words stand one after another in a section, and which terms it must have for that.

An index knows which sections hold the words of a phrase, not where. So a section that holds them all is read,
and the phrase looked for in its words: case and accents make no difference, endings do, and whatever is not
part of a word (punctuation, line breaks, the marks of emphasis and code) only separates words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from index.analysis import STOP_WORDS, TOKEN, expand, strip_markup, weigh
from index.analysis.words import fold, normalize, script_runs_pattern, spaceless_pattern
from index.page import SectionRecord
from index.port import Query
from workspace.errors import WorkspaceError

_JOINERS = "./@:-"  # an underscore and an apostrophe stay in their word


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of normalised text as they are written; in scripts without spaces, runs of characters.

    `snake_case`, `don't` and `C++` are words, `node.js` and `std::vector` are two.
    """
    words = " ".join(TOKEN.findall(text))
    for joiner in _JOINERS:
        words = words.replace(joiner, " ")
    if "_" in words:
        return tuple(bare for word in words.split() if (bare := word.strip("_")))
    return tuple(words.split())


def required_terms(phrase: Iterable[str]) -> tuple[str, ...]:
    """Return the index terms that each section with this phrase in its text holds; stop words are none.

    There are none for a phrase of stop words, so other terms of a query must say which sections to read.
    """
    words = (word for word in phrase if fold(word) not in STOP_WORDS)
    return tuple(dict.fromkeys(term for word in words for term in _terms_anywhere(word)))


def _terms_anywhere(word: str) -> Iterable[str]:
    """Return the terms that a word leaves in the index even where it is part of a longer name."""
    return (term for term in expand(f"x.{word}")[1:] if term != "x")


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases that must all occur, each as a run of folded words."""

    runs: tuple[str, ...]

    @classmethod
    def of(cls, phrases: Iterable[Iterable[str]]) -> Phrases:
        """Return the phrases of a query, each given as its words."""
        runs = (_run(" ".join(phrase)) for phrase in phrases)
        return cls(tuple(run for run in runs if not run.isspace()))

    def occur_in(self, heading: str, text: bytes) -> bool:
        """Return True if each stands in a section's heading or in its Markdown.

        Takes time linear in the text.
        """
        read = _run(strip_markup(text).decode("utf-8", "replace"))
        return all(run in read or run in _run(heading) for run in self.runs)


def make_phrase_filter(
    phrases: Iterable[Iterable[str]], read: Callable[[SectionRecord], bytes]
) -> Callable[[SectionRecord], bool]:
    """Make the function that says whether a section holds all the phrases.

    `read` gives the Markdown under the heading of a section.
    """
    wanted = Phrases.of(phrases)
    return lambda record: wanted.occur_in(record.heading, read(record))


def _run(text: str) -> str:
    """Write a text as its folded words with a space on both sides of each, or of each spaceless character."""
    words = " ".join(split_words(fold(normalize(text))))
    if not words.isascii():
        words = " ".join(script_runs_pattern().sub(_separate_spaceless, words).split())
    return f" {words} "


def _separate_spaceless(run: re.Match[str]) -> str:
    return f" {' '.join(run[1])} " if run[1] else run[0]


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
        text = normalize(text)
    if len(text) > MAX_CHARACTERS:
        raise _too_broad("characters", len(text), MAX_CHARACTERS, _FEWER_WORDS)
    if path is not None and len(path) > MAX_PATH:
        raise _too_broad("characters in its path", len(path), MAX_PATH, "Filter by a folder, such as guides.")
    parts = _split_marks(text) if _MARK.search(text) else _Parts(text)
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
    """Return True if a query has words beside what is quoted or excluded."""
    tokens = TOKEN.findall(_MARKED.sub(" ", text))
    return any(term not in STOP_WORDS for token in tokens for term in expand(token))


def _split_marks(text: str) -> _Parts:
    kept: list[str] = []
    phrases: dict[tuple[str, ...], None] = {}
    excluded: dict[str, None] = {}
    end = 0
    for marked in _MARKED.finditer(text):
        phrase = marked["quoted"] or marked["pointed"] or ""
        unwanted = marked["excluded"] or (phrase if marked["dash"] else "")
        if unwanted:
            if (term := _excluded_term(unwanted, is_quoted=bool(phrase))) is None:
                continue
            if term not in STOP_WORDS:
                excluded[term] = None
        elif words := split_words(phrase):
            phrases[words] = None
            continue
        kept.append(text[end : marked.start()])
        end = marked.end()
    kept.append(text[end:])
    return _Parts(" ".join(kept), tuple(phrases), tuple(excluded))


def _excluded_term(text: str, *, is_quoted: bool) -> str | None:
    """Return the term that stands for the whole of a word; None if the text is to be searched for."""
    tokens = TOKEN.findall(text)
    if len(tokens) == 1:
        [token] = tokens
        terms = expand(token)
        if len(terms) == 1 or spaceless_pattern().search(token) is None:
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
