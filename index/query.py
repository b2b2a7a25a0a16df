"""The query grammar: the text of a query is parsed to a `Query` for an engine.

    words              joined by OR; stop words ("the", "and") are ignored if there are other words
    "exact phrase"     must occur; in any quotes but single ones. Among other words, a phrase of one or two
                       words counts as a rare word, and sections with a longer one rank first
    -word  -"word"     must not occur; the dash begins the query or follows a space

Everything else is text: there are no wildcards, ranges, fuzziness, brackets, fields or operators. The only
errors are an empty query and a query over a limit. Identifiers keep their form: `--dry-run`, `-1` and `-rf`
are searched for.

Exact phrases: an index has no positions of words. Each section with all words of a phrase is therefore read,
and the phrase is searched for in its words. Case and accents make no difference; word endings do. All other
characters (punctuation, line breaks, the marks of emphasis and code) only separate words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from index.analysis import HEADING_WEIGHT, MAX_WEIGHT, STOP_WORDS, TOKEN, expand, strip_markup, weigh
from index.analysis.words import fold, normalize, script_runs_pattern, spaceless_pattern
from index.page import SectionRecord
from index.port import Query
from workspace.errors import WorkspaceError

_JOINERS = "./@:-"  # an underscore and an apostrophe stay in their word


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of normalised text as written; in scripts without spaces, runs of characters.

    `snake_case`, `don't` and `C++` are words, `node.js` and `std::vector` are two.
    """
    words = " ".join(TOKEN.findall(text))
    for joiner in _JOINERS:
        words = words.replace(joiner, " ")
    if "_" in words:
        return tuple(bare for word in words.split() if (bare := word.strip("_")))
    return tuple(words.split())


def required_terms(phrase: Iterable[str]) -> tuple[str, ...]:
    """Return the index terms of every section that contains this phrase, without stop words.

    The result is empty for a phrase of stop words. The other terms of the query then select the sections.
    """
    words = (word for word in phrase if fold(word) not in STOP_WORDS)
    return tuple(dict.fromkeys(term for word in words for term in _terms_inside_names(word)))


def _terms_inside_names(word: str) -> Iterable[str]:
    """Return the index terms that a word also has as part of a longer name."""
    return (term for term in expand(f"x.{word}")[1:] if term != "x")


@dataclass(frozen=True, slots=True)
class Phrases:
    """Phrases that must all occur, each as a sequence of folded words."""

    runs: tuple[str, ...]

    @classmethod
    def of(cls, phrases: Iterable[Iterable[str]]) -> Phrases:
        """Return the phrases of a query, each given as its words."""
        runs = (_run(" ".join(phrase)) for phrase in phrases)
        return cls(tuple(run for run in runs if not run.isspace()))

    def occur_in(self, heading: str, text: bytes) -> bool:
        """Return True if each phrase occurs in a section's heading or in its Markdown.

        Takes time linear in the text.
        """
        body = _run(strip_markup(text).decode("utf-8", "replace"))
        return all(run in body or run in _run(heading) for run in self.runs)


def make_phrase_filter(
    phrases: Iterable[Iterable[str]], read: Callable[[SectionRecord], bytes]
) -> Callable[[SectionRecord], bool]:
    """Return a function that returns True if a section contains all the phrases.

    `read` returns the Markdown under the heading of a section.
    """
    required_phrases = Phrases.of(phrases)
    return lambda record: required_phrases.occur_in(record.heading, read(record))


MAX_SCORED_WORDS = 2
"""The largest number of words of a phrase that counts as a term among other words."""


def can_be_scored(phrase: Iterable[str]) -> bool:
    """Return True if a phrase is short, and not of stop words alone.

    The sections with a phrase of stop words cannot be listed.
    """
    phrase = tuple(phrase)
    return len(_run(" ".join(phrase)).split()) <= MAX_SCORED_WORDS and bool(required_terms(phrase))


def make_phrase_counter(
    phrase: Iterable[str], read: Callable[[SectionRecord], bytes]
) -> Callable[[SectionRecord], int]:
    """Return a function that returns the weight of a phrase in a section, 0 if it does not occur there.

    The weight is that of a term: an occurrence in the heading counts twice. Headings above do not count.
    """
    # With two spaces between words, neighbouring occurrences share no character.
    spaced = _run(" ".join(phrase)).replace(" ", "  ")[1:-1]

    def count(text: str) -> int:
        return _run(text).replace(" ", "  ").count(spaced)

    def weigh_phrase(record: SectionRecord) -> int:
        body = strip_markup(read(record)).decode("utf-8", "replace")
        return min(count(body) + HEADING_WEIGHT * count(record.heading), MAX_WEIGHT)

    return weigh_phrase


def _run(text: str) -> str:
    """Return the folded words of a text with a space on both sides of each.

    In scripts without spaces each character counts as a word.
    """
    words = " ".join(split_words(fold(normalize(text))))
    if not words.isascii():
        words = " ".join(script_runs_pattern().sub(_separate_spaceless, words).split())
    return f" {words} "


def _separate_spaceless(run: re.Match[str]) -> str:
    return f" {' '.join(run[1])} " if run[1] else run[0]


MAX_CHARACTERS = 10_000
"""The largest number of characters of a query."""

MAX_TERMS = 256
"""The largest number of index terms that a query includes or excludes; an identifier has several terms."""

MAX_PHRASES = 16
"""The largest number of different phrases of a query."""

MAX_PATH = 1_000
"""The largest number of characters of a path or glob to filter by."""

_FIX_FEWER_WORDS = "Use the few most important words, such as 'retry backoff'."
_STRAIGHT = '"\u201c\u201d\u201e\u201f'
_QUOTES = f"{_STRAIGHT}\u00ab\u00bb"

# A quote right after a letter or digit opens no phrase: it may be a mark of inches. A dash before a number or
# another dash excludes nothing. Possessive quantifiers (`++`) keep the time linear.
_MARKED_PART = re.compile(
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
    """A query over a limit, or with an excluded phrase; `details` has the `limit`, if it is a number."""

    code: ClassVar[str] = "QUERY_TOO_BROAD"


@dataclass(frozen=True, slots=True)
class _ParsedText:
    """The parts of a query: its text, including the words of phrases, then its phrases and excluded terms."""

    text: str
    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[str, ...] = ()


def parse(text: str, filters: Mapping[str, str] | None = None, path: str | None = None) -> Query:
    """Parse a query. Raises EmptyQuery if it is blank, QueryTooBroad if it is over a limit.

    The words of phrases are also terms. A query of punctuation alone has no terms, and finds nothing.
    """
    if not text or text.isspace():
        raise EmptyQuery("the query is empty", fix="Use a few words, such as 'retry backoff'.")
    if len(text) <= MAX_CHARACTERS:
        text = normalize(text)
    if len(text) > MAX_CHARACTERS:
        raise _too_broad("characters", len(text), MAX_CHARACTERS, _FIX_FEWER_WORDS)
    if path is not None and len(path) > MAX_PATH:
        raise _too_broad("characters in its path", len(path), MAX_PATH, "Filter by a folder, such as guides.")
    parts = _parse_marks(text) if _MARK.search(text) else _ParsedText(text)
    terms = weigh(TOKEN.findall(parts.text))
    if not terms and parts.excluded:
        # A query of exclusions alone finds nothing, so `-Wall` by itself is searched for as text.
        parts = _ParsedText(text)
        terms = weigh(TOKEN.findall(text))
    if len(parts.phrases) > MAX_PHRASES:
        raise _too_broad("phrases", len(parts.phrases), MAX_PHRASES, "Put fewer phrases in quotes.")
    if (count := len(terms) + len(parts.excluded)) > MAX_TERMS:
        raise _too_broad("different words and parts of words", count, MAX_TERMS, _FIX_FEWER_WORDS)
    scored: tuple[tuple[str, ...], ...] = ()
    if is_mixed := bool(parts.phrases) and _has_unmarked_terms(text):
        scored = tuple(filter(can_be_scored, parts.phrases))
    phrases = tuple(phrase for phrase in parts.phrases if phrase not in scored)
    return Query(
        terms,
        parts.excluded,
        phrases,
        dict(filters or {}),
        path,
        phrases_first=is_mixed and bool(phrases),
        scored_phrases=scored,
    )


def _has_unmarked_terms(text: str) -> bool:
    """Return True if a query has words outside its phrases and exclusions."""
    tokens = TOKEN.findall(_MARKED_PART.sub(" ", text))
    return any(term not in STOP_WORDS for token in tokens for term in expand(token))


def _parse_marks(text: str) -> _ParsedText:
    remaining_text: list[str] = []
    phrases: dict[tuple[str, ...], None] = {}
    excluded: dict[str, None] = {}
    end = 0
    for part in _MARKED_PART.finditer(text):
        phrase = part["quoted"] or part["pointed"] or ""
        excluded_text = part["excluded"] or (phrase if part["dash"] else "")
        if excluded_text:
            if (term := _excluded_term(excluded_text, is_quoted=bool(phrase))) is None:
                continue
            if term not in STOP_WORDS:
                excluded[term] = None
        elif words := split_words(phrase):
            phrases[words] = None
            continue
        remaining_text.append(text[end : part.start()])
        end = part.end()
    remaining_text.append(text[end:])
    return _ParsedText(" ".join(remaining_text), tuple(phrases), tuple(excluded))


def _excluded_term(text: str, *, is_quoted: bool) -> str | None:
    """Return the term of the full excluded word; None if the text is a flag, which is searched for."""
    tokens = TOKEN.findall(text)
    if len(tokens) == 1:
        [token] = tokens
        terms = expand(token)
        if len(terms) == 1 or spaceless_pattern().search(token) is None:
            # One or two ASCII letters are flags, as in `rm -rf`; in other scripts they may be a word.
            return terms[0] if is_quoted or len(token) > 2 or not token.isascii() else None
    elif not tokens or not is_quoted:
        return None
    raise QueryTooBroad(
        "a phrase cannot be excluded, only a word",
        fix="Put the dash before one word, such as -draft, or leave it out.",
    )


def _too_broad(unit: str, count: int, limit: int, fix: str) -> QueryTooBroad:
    return QueryTooBroad(f"the query has {count:,} {unit} (limit {limit:,})", fix=fix, limit=limit)
