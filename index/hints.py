"""What to say when nothing was found: what emptied the result, and what would not have.

Nothing here is guessed: the question is asked again without each part of it in turn, and a query is suggested
only if it finds something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from index.analysis import STOP_WORDS
from index.page import Record
from index.port import Query
from index.query import MAX_PATH
from index.storage.metadata import is_listable
from workspace.document.addresses import nearest

SUGGESTED = 10
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
    """Give each filter, the path as the last, and the question without it."""
    for key, value in question.filters.items():
        others = {other: kept for other, kept in question.filters.items() if other != key}
        yield key, value, replace(question, filters=others)
    if question.path and question.path.strip("/"):
        yield "path", question.path, replace(question, path=None)


def _values(found: Sequence[Record], key: str) -> tuple[str, ...]:
    """Give the commonest values of a key."""
    counts = Counter(value for record in found for value in record.facets.get(key, ()) if is_listable(value))
    return tuple(_commonest(counts)[:SUGGESTED])


def _folders(found: Sequence[Record], wanted: str) -> tuple[str, ...]:
    """Give the folders that are named most like a path, then those with most sections; a document in none."""
    counts = Counter(record.path.rpartition("/")[0] or record.path for record in found)
    folders = [folder for folder in _commonest(counts) if len(folder) <= MAX_PATH]
    return tuple(dict.fromkeys((*nearest(wanted.strip("/"), folders), *folders)))[:SUGGESTED]


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
