"""What to say when nothing was found: what emptied the result, and what would not have.

Nothing here is guessed: the question is asked again without each part of it in turn, and a query is suggested
only if it finds something.

Close spellings of a query that found nothing, in words that the documents use.

Only words are corrected that no section holds. The index knows stems, so the word that is shown is read from
the text of a section that holds it; and each query is asked before it is suggested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

from index.analysis import STOP_WORDS, TOKEN, expand
from index.analysis.expansion import JOINT
from index.analysis.words import WORD, folded, normalised
from index.matches import Matcher
from index.page import Record
from index.port import Query
from index.query import MAX_PATH, parse
from index.spelling import distances, is_word
from index.storage.metadata import is_listable
from workspace.nearest import find_nearest

MAX_VALUES_SHOWN = 10


SAMPLE = 200


"""Hits that are looked at to see which values occur."""


_SHOWN = 100


Ask = Callable[[Query, int], Sequence[Record]]


"""Gives the best sections for a question, at most so many."""


@dataclass(frozen=True, slots=True)
class Hint:
    """Why nothing was found, and with which filter values, `path` among them, or queries something is."""

    message: str
    suggested_filters: Mapping[str, tuple[str, ...]]
    suggested_queries: tuple[str, ...] = ()


def hint(question: Query, ask: Ask, spelled: Callable[[], tuple[str, ...]] = tuple) -> Hint:
    """Explain an empty result. `ask` is at the same commit; `spelled` gives close spellings that it finds."""
    if not question.terms:
        return _plain("the query holds no words. Ask with words the documents may use.")
    return (
        _by_each(question, ask)
        or _by_all(question, ask)
        or _by_stop_words(question)
        or _by_spelling(question, spelled)
        or _by_marks(question, ask)
        or _plain("no section holds any of these words. Try other words.", question.path)
    )


def _by_each(question: Query, ask: Ask) -> Hint | None:
    suggested: dict[str, tuple[str, ...]] = {}
    emptied: list[str] = []
    for key, value, other in _narrowings(question):
        if not (found := ask(other, SAMPLE)):
            continue
        emptied.append(f"{key} '{_shown(value)}'")
        values = _folders(found, value) if key == "path" else _values(found, key)
        if values:
            suggested[key] = values
    if not emptied:
        return None
    advice = ", or use one of suggested_filters" if suggested else ""
    return Hint(f"0 results found for {' and for '.join(emptied)}. Leave it out{advice}.", suggested)


def _by_all(question: Query, ask: Ask) -> Hint | None:
    """Blame filters that empty the list only together; each suggested value finds something by itself."""
    narrowings = list(_narrowings(question))
    if len(narrowings) < 2 or not (found := ask(replace(question, filters={}, path=None), SAMPLE)):
        return None
    suggested: dict[str, tuple[str, ...]] = {}
    for key, value, _ in narrowings:
        if values := _folders(found, value) if key == "path" else _values(found, key):
            suggested[key] = values
    named = " and ".join(f"{key} '{_shown(value)}'" for key, value, _ in narrowings)
    advice = ", or use one of suggested_filters in place of them all" if suggested else ""
    return Hint(f"0 results found for {named} together. Leave these filters out{advice}.", suggested)


def _narrowings(question: Query) -> Iterator[tuple[str, str, Query]]:
    """Yield each filter, the path as the last, and the question without it."""
    for key, value in question.filters.items():
        others = {other: kept for other, kept in question.filters.items() if other != key}
        yield key, value, replace(question, filters=others)
    if question.path and question.path.strip("/"):
        yield "path", question.path, replace(question, path=None)


def _values(found: Sequence[Record], key: str) -> tuple[str, ...]:
    """Return the commonest values of a key."""
    counts = Counter(value for record in found for value in record.facets.get(key, ()) if is_listable(value))
    return tuple(_commonest(counts)[:MAX_VALUES_SHOWN])


def _folders(found: Sequence[Record], wanted: str) -> tuple[str, ...]:
    """Give the folders that are named most like a path, then those with most sections; a document in none."""
    counts = Counter(record.path.rpartition("/")[0] or record.path for record in found)
    folders = [folder for folder in _commonest(counts) if len(folder) <= MAX_PATH]
    return tuple(dict.fromkeys((*find_nearest(wanted.strip("/"), folders), *folders)))[:MAX_VALUES_SHOWN]


def _commonest(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))


def _by_stop_words(question: Query) -> Hint | None:
    if not all(term in STOP_WORDS for term in question.terms):
        return None
    return _plain("such words are in almost every text. Name the matter itself.", question.path)


def _by_spelling(question: Query, spelled: Callable[[], tuple[str, ...]]) -> Hint | None:
    if not (queries := spelled()):
        return None
    told = _plain(f"no section holds a word as it is spelt. Did you mean '{queries[0]}'?", question.path)
    return replace(told, suggested_queries=queries)


def _by_marks(question: Query, ask: Ask) -> Hint | None:
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
    where = f" under path '{_shown(path)}'" if path else ""
    return Hint(f"0 results found{where}: {reason}", {})


def _shown(value: str) -> str:
    """Shorten a caller's text for a message, without characters that cannot be shown."""
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


def suggestions(
    text: str, question: Query, ask: Ask, similar: Similar, read: Callable[[Record], str]
) -> tuple[str, ...]:
    """Correct the words of a query, best first; all that is given finds something with the same filters.

    `question` is what was read from `text`; `read` gives the Markdown of a section beside its heading.
    """
    text = " ".join(normalised(text).split())
    if len(text) > _MAX_QUERY or not text.isprintable():
        return ()
    unknown = list(islice(_unknown(text, question, ask), _MAX_WORDS + 1))
    if len(unknown) > _MAX_WORDS:
        return ()
    corrections: dict[str, list[str]] = {}
    for word in unknown:
        terms = similar(folded(word), _CANDIDATES)
        if spellings := list(dict.fromkeys(_spellings(word, terms, question, ask, read))):
            corrections[word] = spellings
    if not corrections:
        return ()
    choices = (dict(zip(corrections, choice, strict=True)) for choice in product(*corrections.values()))
    # Each phrase is looked for in many texts, which takes a while.
    tried = islice(choices, MAX_QUERIES if question.phrases else 2 * MAX_QUERIES)
    asked = (_corrected(text, spellings) for spellings in tried)
    found = (query for query in asked if ask(parse(query, question.filters, question.path), 1))
    return tuple(islice(found, 1 if question.phrases else MAX_QUERIES))


def _unknown(text: str, question: Query, ask: Ask) -> Iterator[str]:
    """Yield the words that are asked for and that no section holds, as they are written."""
    for word in dict.fromkeys(WORD.findall(text)):
        if len(word) < _SHORTEST or not is_word(folded(word)):
            continue
        terms = expand(word)
        if len(terms) == 1 and terms[0] in question.terms and not ask(Query({terms[0]: 1}), 1):
            yield word


def _spellings(
    word: str, terms: Iterable[str], question: Query, ask: Ask, read: Callable[[Record], str]
) -> Iterator[str]:
    """Yield each of the terms as it is spelt in the best sections that the rest of the question leaves in.

    Of several spellings it is the one nearest to the word, and of these the commonest.
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
            yield spellings[int(distances(word, spellings).argmin())]


def _corrected(text: str, spellings: Mapping[str, str]) -> str:
    return WORD.sub(lambda word: spellings.get(word[0], word[0]), text)


def _pieces(token: str) -> Iterator[str]:
    """Yield the words of a token, and the parts of these, that are letters alone."""
    for word in WORD.findall(normalised(token)):
        yield from (piece for piece in dict.fromkeys((word, *JOINT.split(word))) if is_word(folded(piece)))
