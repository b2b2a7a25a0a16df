"""Completion of questions as a user types them: from the headings and the frequent words of a source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from index.sources.settings import ALL_NAMESPACES
from tools.completion import MAX_CANDIDATES, NO_CANDIDATES, Candidates, rank_names
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.service import Hit
    from index.sources.source import Source
    from tools.retrieval.context import RetrievalContext

_MAX_SOURCES = 5
_MAX_SECTIONS = 30
_MAX_WORDS = 20
_MAX_TYPED_CHARACTERS = 500
_LAST_WORD = re.compile(r"\w+\Z")
_WORD = re.compile(r"\w+(?:[-.]\w+)*")


def complete_namespace(
    context: RetrievalContext, typed_text: str, arguments: Mapping[str, str]
) -> Candidates:
    """Return the names of the sources."""
    return rank_names((source.name for source in context.sources), typed_text)


def complete_query(context: RetrievalContext, typed_text: str, arguments: Mapping[str, str]) -> Candidates:
    """Return headings that contain the typed text, and the text with its last word completed.

    The source is that of the argument `namespace`; without it, the first sources of the server are searched.
    There are no candidates for an unknown or unavailable source, and none if the text does not end with a
    word.
    """
    last_word = _LAST_WORD.search(typed_text)
    if last_word is None or len(typed_text) > _MAX_TYPED_CHARACTERS:
        return NO_CANDIDATES
    titled_hits: list[Hit] = []
    hits: list[Hit] = []
    prefix = f"{last_word[0]}*"
    try:
        sources = context.sources.select(arguments.get("namespace") or ALL_NAMESPACES)
    except WorkspaceError:
        return NO_CANDIDATES
    for source in sources[:_MAX_SOURCES]:
        with suppress(WorkspaceError):
            titled_hits += _search(source, f"title:{prefix}")
            hits += _search(source, typed_text[: last_word.start()] + prefix)
    hits = hits or titled_hits
    folded_text, folded_word = typed_text.casefold(), last_word[0].casefold()
    headings = [hit.heading for hit in (*titled_hits, *hits) if folded_text in hit.heading.casefold()]
    words = Counter(word for hit in hits for word in _iterate_words(hit) if word.startswith(folded_word))
    del words[folded_word]
    completed_texts = [typed_text[: last_word.start()] + word for word, _ in words.most_common(_MAX_WORDS)]
    by_folded_text: dict[str, str] = {}
    for text in (*rank_names(headings, typed_text).values, *completed_texts):
        by_folded_text.setdefault(text.casefold(), text)
    return Candidates(tuple(by_folded_text.values())[:MAX_CANDIDATES], len(by_folded_text))


def _search(source: Source, query: str) -> tuple[Hit, ...]:
    """Return the best sections of a query; none if too many words begin like its last one."""
    from index.port import QueryTooBroad

    try:
        return source.search(query, _MAX_SECTIONS).hits
    except QueryTooBroad:
        return ()


def _iterate_words(hit: Hit) -> Iterator[str]:
    """Yield the words of a section, folded."""
    text = f"{hit.heading}\n{str(hit.text, 'utf-8', 'replace')}"
    return (match[0] for match in _WORD.finditer(text.casefold()))
