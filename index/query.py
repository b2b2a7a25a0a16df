"""The query grammar, and the parser that converts a query's text to a `Query` for an engine.

    words              joined by OR; stop words ("the", "and") are ignored if there are other words
    "exact phrase"     must occur; any quotes except single quotes are allowed. If the query also has other
                       words, phrases are optional: a phrase of one or two words is scored like a rare word,
                       and sections with a longer phrase rank first
    -word  -"word"     must not occur; the dash begins the query or follows a space

`index.operators` parses prefixes, similar words, fields, AND, OR, NOT and brackets. Everything else is text.
The only errors are an empty query, a query over a limit and an excluded phrase. Identifiers keep their form:
`--dry-run`, `-1` and `-rf` are searched for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

from index.analysis.terms import extract_name_parts, extract_token_terms, weigh_query_terms
from index.analysis.words import STOP_WORDS, TOKEN, get_script_runs_pattern, get_spaceless_pattern, normalize
from index.conditions import HasPhrase, HasWord, list_leaves
from index.operators import NO_FIELDS, Operators, QueryFields, parse_operators
from index.phrases import can_be_scored, split_phrase_words
from index.port import MAX_PATH_LENGTH, Query, QueryTooBroad
from workspace.errors import WorkspaceError

MAX_CHARACTERS = 10_000
"""The largest number of characters of a query."""

MAX_TERMS = 256
"""The largest number of index terms that a query includes or excludes; an identifier has several terms."""

MAX_PHRASES = 16
"""The largest number of different phrases of a query."""

_FIX_FEWER_WORDS = "Use the few most important words, such as 'retry backoff'."
_STRAIGHT_QUOTES = '"\u201c\u201d\u201e\u201f'
_QUOTES = f"{_STRAIGHT_QUOTES}\u00ab\u00bb"

# A quote right after a letter or digit opens no phrase: it may mean inches. A dash before a number or
# another dash excludes nothing. Possessive quantifiers (`++`) keep the time linear.
_MARKED_PART = re.compile(
    rf"""
    (?P<dash> (?<!\S)- )?
    (?: (?<![A-Za-z0-9_]) [{_STRAIGHT_QUOTES}] (?P<quoted> [^{_STRAIGHT_QUOTES}]*+ ) [{_STRAIGHT_QUOTES}]
      | \u00ab (?P<guillemets> [^\u00ab\u00bb]*+ ) \u00bb )
    | (?<!\S)- (?P<excluded> [^\W\d_][^\s{_QUOTES}]++ )
    """,
    re.VERBOSE,
)

_MARK = re.compile(f"[{_QUOTES}-]")


# An identifier or a flag has an underscore, a digit after a letter, a capital after a small letter, a dash at
# its start, or punctuation between letters.
_NAME = re.compile(r"_|[^\W\d_]\d|[a-z][A-Z]|\A-|[^\W\d_](?:::|[./@])[^\W\d_]")


class EmptyQuery(WorkspaceError):
    """The query of a search is empty or blank."""

    code: ClassVar[str] = "EMPTY_QUERY"


@dataclass(frozen=True, slots=True)
class _ParsedText:
    """The phrases and the excluded terms of a query, and its text without the exclusions."""

    text: str
    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[str, ...] = ()


MAX_MISSING_WORDS = 20
"""The largest number of missing words that a search reports."""

_MAX_MISSING_WORD_LENGTH = 100


def find_missing_words(text: str, query: Query, absent_terms: Collection[str]) -> tuple[str, ...]:
    """Return the words of a query that occur in no section of the index, in the order of the text.

    `absent_terms` are the terms of the query that no section contains. A word occurs if its stem does. A name
    such as `RateLimitError` occurs if it or each of its parts does. A run of a script without spaces occurs
    if two adjacent characters of it do. Excluded words and words of stop words, such as "how-to", are never
    missing.
    """
    if not absent_terms:
        return ()
    words: dict[str, None] = {}
    for token in TOKEN.findall(normalize(text)):
        for spaceless_run, other_run in get_script_runs_pattern().findall(token):
            whole, *parts = extract_token_terms(spaceless_run or other_run) or ("",)
            if whole not in query.terms or whole not in absent_terms:
                continue
            if STOP_WORDS.issuperset(whole.split("-")):  # "how-to"
                continue
            has_absent_part = (all if spaceless_run else any)(part in absent_terms for part in parts)
            if has_absent_part or not parts:
                words.setdefault((spaceless_run or other_run)[:_MAX_MISSING_WORD_LENGTH])
    return tuple(words)[:MAX_MISSING_WORDS]


ALL_HITS = 1 << 30
"""More than the number of sections of any index."""


def count_exact_hits(text: str) -> int:
    """Return the number of hits by words that precede the hits by meaning.

    All do so for a query of a single word, or of names and quoted phrases alone: they are searched for as
    they are written. The first does so for a query with a name or a phrase among other words.
    """
    text = normalize(text[:MAX_CHARACTERS])
    has_phrase = any(part["quoted"] or part["guillemets"] for part in _MARKED_PART.finditer(text))
    tokens = TOKEN.findall(_MARKED_PART.sub(" ", text))
    words = [token for token in tokens if not STOP_WORDS.issuperset(extract_token_terms(token))]
    names = [token for token in words if _NAME.search(token)]
    if len(words) <= 1 or len(names) == len(words):
        return ALL_HITS
    return 1 if has_phrase or names else 0


def parse_query(
    text: str,
    filters: Mapping[str, str] | None = None,
    path: str | None = None,
    fields: QueryFields = NO_FIELDS,
) -> Query:
    """Parse a query. Raises EmptyQuery if it is blank, QueryTooBroad if it is over a limit.

    The words of phrases are also terms. A query of punctuation alone has no terms and no results.
    `fields` has the fields that operators can use.
    """
    if not text or text.isspace():
        raise EmptyQuery("the query is empty", fix="Use a few words, such as 'retry backoff'.")
    if len(text) <= MAX_CHARACTERS:
        text = normalize(text)
    if len(text) > MAX_CHARACTERS:
        raise _make_too_broad_error("characters", len(text), MAX_CHARACTERS, _FIX_FEWER_WORDS)
    if path is not None and len(path) > MAX_PATH_LENGTH:
        raise _make_too_broad_error(
            "characters in its path", len(path), MAX_PATH_LENGTH, "Filter by a folder, such as guides."
        )
    operators = parse_operators(text, fields) or Operators(text)
    parsed_text = _parse_words(operators)
    terms = weigh_query_terms(TOKEN.findall(parsed_text.text))
    condition, includes_all_selected, notes = (
        operators.condition,
        operators.is_boolean,
        operators.notes,
    )
    if (
        condition is not None
        and not (includes_all_selected or operators.expansions)
        and STOP_WORDS.issuperset(terms)
    ):
        if operators.can_select:
            includes_all_selected, terms = (
                True,
                weigh_query_terms(TOKEN.findall(operators.ranking_text)),
            )
        else:
            condition, notes = None, (*notes, "the query was searched as words: it only excludes words")
            parsed_text, terms = _ParsedText(text), weigh_query_terms(TOKEN.findall(text))
    elif not terms and parsed_text.excluded and condition is None:
        # A query of exclusions alone has no results, so `-Wall` by itself is searched for as text.
        parsed_text, terms = _ParsedText(text), weigh_query_terms(TOKEN.findall(text))
    leaves = list(list_leaves(condition))
    distinct_phrases = {*parsed_text.phrases, *(leaf.words for leaf in leaves if isinstance(leaf, HasPhrase))}
    if len(distinct_phrases) > MAX_PHRASES:
        raise _make_too_broad_error(
            "phrases", len(distinct_phrases), MAX_PHRASES, "Put fewer phrases in quotes."
        )
    word_terms = {term for leaf in leaves if isinstance(leaf, HasWord) for term in leaf.terms}
    if (count := len(word_terms | terms.keys()) + len(parsed_text.excluded)) > MAX_TERMS:
        raise _make_too_broad_error("different words and parts of words", count, MAX_TERMS, _FIX_FEWER_WORDS)
    scored_phrases: tuple[tuple[str, ...], ...] = ()
    if is_mixed := bool(parsed_text.phrases) and _has_unmarked_terms(operators.text):
        scored_phrases = tuple(filter(can_be_scored, parsed_text.phrases))
    phrases = tuple(phrase for phrase in parsed_text.phrases if phrase not in scored_phrases)
    return Query(
        terms,
        parsed_text.excluded,
        phrases,
        dict(filters or {}),
        path,
        phrases_first=is_mixed and bool(phrases),
        scored_phrases=scored_phrases,
        condition=condition,
        expansions=operators.expansions,
        includes_all_selected=includes_all_selected,
        notes=notes,
        name_parts=extract_name_parts(TOKEN.findall(parsed_text.text)),
    )


def _parse_words(operators: Operators) -> _ParsedText:
    """Parse the phrases and exclusions in the text that remains after the operators."""
    text = operators.text
    return _parse_marks(text) if not operators.is_boolean and _MARK.search(text) else _ParsedText(text)


def _has_unmarked_terms(text: str) -> bool:
    """Return True if a query has words, other than stop words, outside its phrases and exclusions."""
    tokens = TOKEN.findall(_MARKED_PART.sub(" ", text))
    return any(term not in STOP_WORDS for token in tokens for term in extract_token_terms(token))


def _parse_marks(text: str) -> _ParsedText:
    remaining_text: list[str] = []
    phrases: dict[tuple[str, ...], None] = {}
    excluded: dict[str, None] = {}
    end = 0
    for part in _MARKED_PART.finditer(text):
        phrase = part["quoted"] or part["guillemets"] or ""
        excluded_text = part["excluded"] or (phrase if part["dash"] else "")
        if excluded_text:
            if (term := _find_excluded_term(excluded_text, is_quoted=bool(phrase))) is None:
                continue
            if term not in STOP_WORDS:
                excluded[term] = None
        elif words := split_phrase_words(phrase):
            phrases[words] = None
            continue
        remaining_text.append(text[end : part.start()])
        end = part.end()
    remaining_text.append(text[end:])
    return _ParsedText(" ".join(remaining_text), tuple(phrases), tuple(excluded))


def _find_excluded_term(text: str, *, is_quoted: bool) -> str | None:
    """Return the term of an excluded word; None for a flag or unquoted text of several words.

    Such text is searched for. Raises QueryTooBroad for a quoted phrase.
    """
    tokens = TOKEN.findall(text)
    if len(tokens) == 1:
        [token] = tokens
        terms = extract_token_terms(token)
        if len(terms) == 1 or get_spaceless_pattern().search(token) is None:
            # One or two ASCII letters are flags, as in `rm -rf`; in other scripts they may be a word.
            return terms[0] if is_quoted or len(token) > 2 or not token.isascii() else None
    elif not tokens or not is_quoted:
        return None
    raise QueryTooBroad(
        "a phrase cannot be excluded, only a word",
        fix='Put the dash before one word, such as -draft, or write NOT: deployment NOT "blue green".',
    )


def _make_too_broad_error(unit: str, count: int, limit: int, fix: str) -> QueryTooBroad:
    return QueryTooBroad(f"the query has {count:,} {unit} (limit {limit:,})", fix=fix, limit=limit)
