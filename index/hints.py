"""Hints for empty results: the part of the query that excludes all sections, and queries with hits.

The search is repeated without each part of the query in turn. Only queries with hits are suggested.

Spelling corrections apply only to words that no section contains. The index contains stems, so the corrected
word is read from the text of a section that contains it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

from index.analysis.expansion import JOINT
from index.analysis.terms import extract_token_terms
from index.analysis.words import STOP_WORDS, TOKEN, WORD, fold, normalize
from index.conditions import HasPhrase, HasValue, HasWord, Leaf, list_leaves, replace_leaf
from index.documents import SectionRecord
from index.matches import Matcher
from index.operators import NO_FIELDS, QueryFields
from index.port import MAX_PATH_LENGTH, Query
from index.query import parse_query
from index.spelling import can_check_spelling, compute_edit_distances
from index.storage.metadata import is_listable
from workspace.nearest import find_nearest

MAX_VALUES_SHOWN = 10
SAMPLE_SIZE = 200
"""The number of hits whose values are collected."""

_MAX_SHOWN_CHARACTERS = 100
Search = Callable[[Query, int], Sequence[SectionRecord]]
"""Returns the best sections for a query. The second argument is the largest number of sections."""


@dataclass(frozen=True, slots=True)
class Hint:
    """The reason for an empty result, with queries or filter values (also for `path`) that have hits."""

    message: str
    suggested_filters: Mapping[str, tuple[str, ...]]
    suggested_queries: tuple[str, ...] = ()


def build_hint(query: Query, search: Search, suggest: Callable[[], tuple[str, ...]] = tuple) -> Hint:
    """Explain an empty result. `search` searches the same commit; `suggest` returns corrected queries."""
    if not (query.terms or query.condition or query.expansions):
        return _make_hint("the query has no words. Use words that may occur in the documents.")
    return (
        _explain_single_filters(query, search)
        or _explain_condition(query, search, suggest)
        or _explain_combined_filters(query, search)
        or _explain_stop_words(query)
        or _explain_spelling(query, suggest)
        or _explain_quotes_and_dashes(query, search)
        or _make_hint("no section contains any of these words. Try other words.", query.path)
    )


def _explain_single_filters(query: Query, search: Search) -> Hint | None:
    suggested_filters: dict[str, tuple[str, ...]] = {}
    excluding_filters: list[str] = []
    for key, value, relaxed_query in _drop_each_filter(query):
        if not (records := search(relaxed_query, SAMPLE_SIZE)):
            continue
        excluding_filters.append(f"{key} '{_shorten(value)}'")
        values = _suggest_folders(records, value) if key == "path" else _find_common_values(records, key)
        if values:
            suggested_filters[key] = values
    if not excluding_filters:
        return None
    advice = ", or use one of suggested_filters" if suggested_filters else ""
    object_to_omit = "it" if len(excluding_filters) == 1 else "one of them"
    return Hint(
        f"0 results found for {' and for '.join(excluding_filters)}. Leave {object_to_omit} out{advice}.",
        suggested_filters,
    )


def _explain_combined_filters(query: Query, search: Search) -> Hint | None:
    """Explain filters that exclude everything only together; each suggested value alone has hits."""
    filters = list(_drop_each_filter(query))
    if len(filters) < 2 or not (
        records := search(replace(query, filters={}, path=None, sections=None), SAMPLE_SIZE)
    ):
        return None
    suggested_filters: dict[str, tuple[str, ...]] = {}
    for key, value, _ in filters:
        if values := _suggest_folders(records, value) if key == "path" else _find_common_values(records, key):
            suggested_filters[key] = values
    quoted_filters = " and ".join(f"{key} '{_shorten(value)}'" for key, value, _ in filters)
    advice = ", or use one of suggested_filters in place of them all" if suggested_filters else ""
    return Hint(
        f"0 results found for {quoted_filters} together. Leave these filters out{advice}.", suggested_filters
    )


def _drop_each_filter(query: Query) -> Iterator[tuple[str, str, Query]]:
    """Yield the key and value of each filter, and the query without it; the path and `since` come last."""
    for key, value in query.filters.items():
        remaining_filters = {
            other_key: other_value for other_key, other_value in query.filters.items() if other_key != key
        }
        yield key, value, replace(query, filters=remaining_filters)
    if query.path and query.path.strip("/"):
        yield "path", query.path, replace(query, path=None)
    if query.sections is not None:
        yield query.sections.name, query.sections.value, replace(query, sections=None)


def _find_common_values(records: Sequence[SectionRecord], key: str) -> tuple[str, ...]:
    """Return the ten most common values of a key that are short enough to list."""
    counts = Counter(
        value for record in records for value in record.facets.get(key, ()) if is_listable(value)
    )
    return tuple(_sort_by_count(counts)[:MAX_VALUES_SHOWN])


def _suggest_folders(records: Sequence[SectionRecord], requested_path: str) -> tuple[str, ...]:
    """Return the folders most similar to a path, then the folders with the most sections."""
    counts = Counter(record.path.rpartition("/")[0] or record.path for record in records)
    folders = [folder for folder in _sort_by_count(counts) if len(folder) <= MAX_PATH_LENGTH]
    return tuple(dict.fromkeys((*find_nearest(requested_path.strip("/"), folders), *folders)))[
        :MAX_VALUES_SHOWN
    ]


def _sort_by_count(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))


_MAX_PARTS_CHECKED = 8


def _explain_condition(query: Query, search: Search, suggest: Callable[[], tuple[str, ...]]) -> Hint | None:
    """Explain a condition without hits: a misspelt word, parts without hits, or the condition as a whole."""
    if query.condition is None:
        return None
    if hint := _explain_spelling(query, suggest):
        return hint
    distinct_parts = dict.fromkeys(
        part for part in list_leaves(query.condition) if not isinstance(part, HasWord | HasPhrase)
    )
    all_sections = Query({}, includes_all_selected=True)
    empty_parts = [
        part
        for part in islice(distinct_parts, _MAX_PARTS_CHECKED)
        if not search(replace(all_sections, condition=part), 1)
    ]
    if empty_parts:
        quoted_parts = " and ".join(dict.fromkeys(f"'{_shorten(part.query_text)}'" for part in empty_parts))
        suggestions = list(
            dict.fromkeys(text for part in empty_parts if (text := _suggest_value(part, query, search)))
        )
        if suggestions:
            advice = f"Did you mean {' or '.join(suggestions)}?"
        elif len(empty_parts) == 1:
            advice = "Leave it out, or use another value."
        else:
            advice = "Leave them out, or use other values."
        return _make_hint(f"no section satisfies {quoted_parts}. {advice}", query.path)
    if query.terms and search(replace(query, condition=None, includes_all_selected=False), 1):
        return _make_hint("no section satisfies all fields and operators of the query. Leave some out.")
    return _make_hint("no section satisfies the query. Use fewer words and operators.", query.path)


def _suggest_value(part: Leaf, query: Query, search: Search) -> str | None:
    """Return the field with the nearest value that has hits, as query text; None without such a value."""
    if not isinstance(part, HasValue) or query.condition is None:
        return None
    any_value = Query({}, condition=replace(part, value="", is_prefix=True), includes_all_selected=True)
    for value in find_nearest(part.value, _find_common_values(search(any_value, SAMPLE_SIZE), part.key), 1):
        condition = replace_leaf(query.condition, part, replace(part, value=value, is_prefix=False))
        if search(replace(query, condition=condition), 1):
            quoted_value = f'"{value}"' if " " in value else value
            return f"{part.query_text.lstrip('-').partition(':')[0]}:{quoted_value}"
    return None


def _explain_stop_words(query: Query) -> Hint | None:
    if not all(term in STOP_WORDS for term in query.terms):
        return None
    return _make_hint("these words are in almost every text. Use more specific words.", query.path)


def _explain_spelling(query: Query, suggest: Callable[[], tuple[str, ...]]) -> Hint | None:
    if not (queries := suggest()):
        return None
    hint = _make_hint(
        f"no section contains a word with this spelling. Did you mean '{queries[0]}'?", query.path
    )
    return replace(hint, suggested_queries=queries)


def _explain_quotes_and_dashes(query: Query, search: Search) -> Hint | None:
    """Explain phrases and exclusions, which quotes and dashes mark, if they exclude every section."""
    query_without_phrases, query_without_exclusions = replace(query, phrases=()), replace(query, excluded=())
    query_without_marks = replace(query_without_phrases, excluded=())
    relaxed_queries = {
        "the words occur, but not as the quoted phrase. Leave the quotes out.": query_without_phrases,
        (
            "all matches contain a word that a dash excludes. Put the word in quotes to search for it."
        ): query_without_exclusions,
        "no section has the phrase without an excluded word. Leave out both.": query_without_marks,
    }
    for reason, relaxed_query in relaxed_queries.items():
        if relaxed_query != query and search(relaxed_query, 1):
            return _make_hint(reason, query.path)
    if query_without_marks != query and search(replace(query_without_marks, filters={}, path=None), 1):
        return _make_hint(
            "the words occur, but not with these filters and marks. Leave filters, quotes and dashes out."
        )
    return None


def _make_hint(reason: str, path: str | None = None) -> Hint:
    location_phrase = f" under path '{_shorten(path)}'" if path else ""
    return Hint(f"0 results found{location_phrase}: {reason}", {})


def _shorten(value: str) -> str:
    """Shorten a caller's text for a message, without invisible characters."""
    return "".join(
        character if character.isprintable() else "\ufffd" for character in value[:_MAX_SHOWN_CHARACTERS]
    )


MAX_SUGGESTIONS = 3

# These limits bound the time: a longer query, or a query with more unknown words, is not corrected.
_MAX_QUERY_LENGTH = 200
_MAX_UNKNOWN_WORDS = 4
_MIN_WORD_LENGTH = 4
_MAX_CANDIDATES = 3
_MAX_SECTIONS_READ = 3
_MAX_CHARACTERS_READ = 50_000
FindSimilarTerms = Callable[[str, int], tuple[str, ...]]
"""Returns the terms that a folded word may mean. The second argument is the largest number of terms."""


def suggest_queries(
    text: str,
    query: Query,
    search: Search,
    find_similar_terms: FindSimilarTerms,
    read: Callable[[SectionRecord], str],
    fields: QueryFields = NO_FIELDS,
) -> tuple[str, ...]:
    """Return corrected queries, the best first; each has hits with the same filters.

    `query` was parsed from `text` with `fields`. `read` returns the Markdown of a section without its
    heading.
    """
    text = " ".join(normalize(text).split())
    if len(text) > _MAX_QUERY_LENGTH or not text.isprintable():
        return ()
    unknown_words = list(islice(_find_unknown_words(text, query, search), _MAX_UNKNOWN_WORDS + 1))
    if len(unknown_words) > _MAX_UNKNOWN_WORDS:
        return ()
    corrections: dict[str, list[str]] = {}
    for word in unknown_words:
        terms = find_similar_terms(fold(word), _MAX_CANDIDATES)
        if spellings := list(dict.fromkeys(_find_spellings(word, terms, query, search, read))):
            corrections[word] = spellings
    if not corrections:
        return ()
    choices = (dict(zip(corrections, choice, strict=True)) for choice in product(*corrections.values()))
    # The search for a phrase reads many texts, which takes long.
    has_phrases = bool(query.phrases or query.scored_phrases)
    choices_to_try = islice(choices, MAX_SUGGESTIONS if has_phrases else 2 * MAX_SUGGESTIONS)
    corrected_texts = (_correct_spelling(text, spellings) for spellings in choices_to_try)
    useful_texts = (
        corrected_text
        for corrected_text in corrected_texts
        if search(
            replace(parse_query(corrected_text, query.filters, query.path, fields), sections=query.sections),
            1,
        )
    )
    return tuple(islice(useful_texts, 1 if has_phrases else MAX_SUGGESTIONS))


def _find_unknown_words(text: str, query: Query, search: Search) -> Iterator[str]:
    """Yield the words of at least four letters that no section contains, as the query spells them."""
    for word in dict.fromkeys(WORD.findall(text)):
        if len(word) < _MIN_WORD_LENGTH or not can_check_spelling(fold(word)):
            continue
        terms = extract_token_terms(word)
        if len(terms) == 1 and terms[0] in query.terms and not search(Query({terms[0]: 1}), 1):
            yield word


def _find_spellings(
    word: str, terms: Iterable[str], query: Query, search: Search, read: Callable[[SectionRecord], str]
) -> Iterator[str]:
    """Yield each term in the spelling of the best matching sections.

    The spelling nearest to the word is used; among equally near spellings, the most common.
    """
    for term in terms:
        matcher = Matcher([term])
        counts: Counter[str] = Counter()
        term_query = Query({term: 1}, query.excluded, (), query.filters, query.path, sections=query.sections)
        for record in search(term_query, _MAX_SECTIONS_READ):
            for text in (record.heading, read(record)[:_MAX_CHARACTERS_READ]):
                tokens = (TOKEN.match(text, start) for start, _ in matcher.find_matches(text))
                parts = (part for token in tokens if token for part in _split_into_word_parts(token[0]))
                counts.update(part for part in parts if extract_token_terms(part)[:1] == (term,))
        if spellings := sorted(counts, key=lambda spelling: -counts[spelling]):
            yield spellings[int(compute_edit_distances(word, spellings).argmin())]


def _correct_spelling(text: str, spellings: Mapping[str, str]) -> str:
    return WORD.sub(lambda word: spellings.get(word[0], word[0]), text)


def _split_into_word_parts(token: str) -> Iterator[str]:
    """Yield the words of a token and the parts of these words, if they consist of letters alone."""
    for word in WORD.findall(normalize(token)):
        yield from (
            part for part in dict.fromkeys((word, *JOINT.split(word))) if can_check_spelling(fold(part))
        )
