"""Hints for empty results: which part of the question excluded everything, and which change finds something.

Nothing is guessed: the search is repeated without each part of the question in turn, and a query is suggested
only if it finds something.

Spelling corrections apply only to words that no section holds. The index holds stems, so the corrected word
is read from the text of a section that holds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

from index.analysis import STOP_WORDS, TOKEN, expand
from index.analysis.expansion import JOINT
from index.analysis.words import WORD, fold, normalize
from index.matches import Matcher
from index.page import SectionRecord
from index.port import Query
from index.query import MAX_PATH, parse
from index.spelling import edit_distances, is_word
from index.storage.metadata import is_listable
from workspace.nearest import find_nearest

MAX_VALUES_SHOWN = 10
SAMPLE = 200
"""Hits that are looked at to see which values occur."""

_SHOWN = 100
Search = Callable[[Query, int], Sequence[SectionRecord]]
"""Gives the best sections for a question, at most so many."""


@dataclass(frozen=True, slots=True)
class Hint:
    """The reason for an empty result, with filter values (also of `path`) or queries that find something."""

    message: str
    suggested_filters: Mapping[str, tuple[str, ...]]
    suggested_queries: tuple[str, ...] = ()


def explain_empty(question: Query, ask: Search, spelled: Callable[[], tuple[str, ...]] = tuple) -> Hint:
    """Explain an empty result. `ask` searches the same commit; `spelled` returns corrected queries."""
    if not question.terms:
        return _plain("the query holds no words. Ask with words the documents may use.")
    return (
        _blame_single_filters(question, ask)
        or _blame_combined_filters(question, ask)
        or _blame_stop_words(question)
        or _blame_spelling(question, spelled)
        or _blame_marks(question, ask)
        or _plain("no section holds any of these words. Try other words.", question.path)
    )


def _blame_single_filters(question: Query, ask: Search) -> Hint | None:
    suggested: dict[str, tuple[str, ...]] = {}
    emptied: list[str] = []
    for key, value, other in _without_each_filter(question):
        if not (found := ask(other, SAMPLE)):
            continue
        emptied.append(f"{key} '{_shorten(value)}'")
        values = _suggest_folders(found, value) if key == "path" else _common_values(found, key)
        if values:
            suggested[key] = values
    if not emptied:
        return None
    advice = ", or use one of suggested_filters" if suggested else ""
    return Hint(f"0 results found for {' and for '.join(emptied)}. Leave it out{advice}.", suggested)


def _blame_combined_filters(question: Query, ask: Search) -> Hint | None:
    """Blame filters that exclude everything only together; each suggested value finds something by itself."""
    narrowings = list(_without_each_filter(question))
    if len(narrowings) < 2 or not (found := ask(replace(question, filters={}, path=None), SAMPLE)):
        return None
    suggested: dict[str, tuple[str, ...]] = {}
    for key, value, _ in narrowings:
        if values := _suggest_folders(found, value) if key == "path" else _common_values(found, key):
            suggested[key] = values
    named = " and ".join(f"{key} '{_shorten(value)}'" for key, value, _ in narrowings)
    advice = ", or use one of suggested_filters in place of them all" if suggested else ""
    return Hint(f"0 results found for {named} together. Leave these filters out{advice}.", suggested)


def _without_each_filter(question: Query) -> Iterator[tuple[str, str, Query]]:
    """Yield each filter, the path last, with the question without it."""
    for key, value in question.filters.items():
        others = {other: kept for other, kept in question.filters.items() if other != key}
        yield key, value, replace(question, filters=others)
    if question.path and question.path.strip("/"):
        yield "path", question.path, replace(question, path=None)


def _common_values(found: Sequence[SectionRecord], key: str) -> tuple[str, ...]:
    """Return the most common values of a key."""
    counts = Counter(value for record in found for value in record.facets.get(key, ()) if is_listable(value))
    return tuple(_most_common(counts)[:MAX_VALUES_SHOWN])


def _suggest_folders(found: Sequence[SectionRecord], wanted: str) -> tuple[str, ...]:
    """Return the folders whose names are most like a path, then those with most sections."""
    counts = Counter(record.path.rpartition("/")[0] or record.path for record in found)
    folders = [folder for folder in _most_common(counts) if len(folder) <= MAX_PATH]
    return tuple(dict.fromkeys((*find_nearest(wanted.strip("/"), folders), *folders)))[:MAX_VALUES_SHOWN]


def _most_common(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))


def _blame_stop_words(question: Query) -> Hint | None:
    if not all(term in STOP_WORDS for term in question.terms):
        return None
    return _plain("such words are in almost every text. Name the matter itself.", question.path)


def _blame_spelling(question: Query, spelled: Callable[[], tuple[str, ...]]) -> Hint | None:
    if not (queries := spelled()):
        return None
    told = _plain(f"no section holds a word as it is spelt. Did you mean '{queries[0]}'?", question.path)
    return replace(told, suggested_queries=queries)


def _blame_marks(question: Query, ask: Search) -> Hint | None:
    unquoted, undashed = replace(question, phrases=()), replace(question, excluded=())
    unmarked = replace(unquoted, excluded=())
    others = {
        "the words are there, but not as the quoted phrase. Leave the quotes out.": unquoted,
        "what is found has a word that a dash excludes; in quotes that word is searched for.": undashed,
        "nothing has the phrase and no excluded word. Leave out both.": unmarked,
    }
    for reason, other in others.items():
        if other != question and ask(other, 1):
            return _plain(reason, question.path)
    if unmarked != question and ask(replace(unmarked, filters={}, path=None), 1):
        return _plain(
            "the words are there, but not with these filters and marks. Leave filters, quotes and dashes out."
        )
    return None


def _plain(reason: str, path: str | None = None) -> Hint:
    where = f" under path '{_shorten(path)}'" if path else ""
    return Hint(f"0 results found{where}: {reason}", {})


def _shorten(value: str) -> str:
    """Shorten a caller's text for a message, without invisible characters."""
    return "".join(character if character.isprintable() else "\ufffd" for character in value[:_SHOWN])


MAX_QUERIES = 3

# What bounds the time that this takes: of a longer query, or more words, nothing is corrected.
_MAX_QUERY = 200
_MAX_WORDS = 4
_SHORTEST = 4
_CANDIDATES = 3
_READ = 3
_READ_CHARACTERS = 50_000
Similar = Callable[[str, int], tuple[str, ...]]
"""Gives at most so many terms that a folded word may have meant."""


def suggest_queries(
    text: str, question: Query, ask: Search, similar: Similar, read: Callable[[SectionRecord], str]
) -> tuple[str, ...]:
    """Correct the words of a query, best first; every suggestion finds something with the same filters.

    `question` was parsed from `text`; `read` returns the Markdown of a section without its heading.
    """
    text = " ".join(normalize(text).split())
    if len(text) > _MAX_QUERY or not text.isprintable():
        return ()
    unknown = list(islice(_unknown_words(text, question, ask), _MAX_WORDS + 1))
    if len(unknown) > _MAX_WORDS:
        return ()
    corrections: dict[str, list[str]] = {}
    for word in unknown:
        terms = similar(fold(word), _CANDIDATES)
        if spellings := list(dict.fromkeys(_spellings(word, terms, question, ask, read))):
            corrections[word] = spellings
    if not corrections:
        return ()
    choices = (dict(zip(corrections, choice, strict=True)) for choice in product(*corrections.values()))
    # Each phrase is looked for in many texts, which takes a while.
    tried = islice(choices, MAX_QUERIES if question.phrases else 2 * MAX_QUERIES)
    asked = (_correct(text, spellings) for spellings in tried)
    found = (query for query in asked if ask(parse(query, question.filters, question.path), 1))
    return tuple(islice(found, 1 if question.phrases else MAX_QUERIES))


def _unknown_words(text: str, question: Query, ask: Search) -> Iterator[str]:
    """Yield the words of the query that no section holds, as they are spelled there."""
    for word in dict.fromkeys(WORD.findall(text)):
        if len(word) < _SHORTEST or not is_word(fold(word)):
            continue
        terms = expand(word)
        if len(terms) == 1 and terms[0] in question.terms and not ask(Query({terms[0]: 1}), 1):
            yield word


def _spellings(
    word: str, terms: Iterable[str], question: Query, ask: Search, read: Callable[[SectionRecord], str]
) -> Iterator[str]:
    """Yield each term as the best matching sections spell it.

    Of several spellings the one nearest to the word is returned, and of these the most common.
    """
    for term in terms:
        matcher = Matcher([term])
        counts: Counter[str] = Counter()
        for record in ask(replace(question, terms={term: 1}, phrases=()), _READ):
            for text in (record.heading, read(record)[:_READ_CHARACTERS]):
                tokens = (TOKEN.match(text, start) for start, _ in matcher.matches(text))
                pieces = (piece for token in tokens if token for piece in _pieces(token[0]))
                counts.update(piece for piece in pieces if expand(piece)[:1] == (term,))
        if spellings := sorted(counts, key=lambda spelling: -counts[spelling]):
            yield spellings[int(edit_distances(word, spellings).argmin())]


def _correct(text: str, spellings: Mapping[str, str]) -> str:
    return WORD.sub(lambda word: spellings.get(word[0], word[0]), text)


def _pieces(token: str) -> Iterator[str]:
    """Yield the words of a token, and their parts, that consist of letters alone."""
    for word in WORD.findall(normalize(token)):
        yield from (piece for piece in dict.fromkeys((word, *JOINT.split(word))) if is_word(fold(piece)))
