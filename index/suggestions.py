"""Close spellings of a query that found nothing, in words that the documents use.

Only words are corrected that no section holds. The index knows stems, so the word that is shown is read from
the text of a section that holds it; and each query is asked before it is suggested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice, product

from index.analysis import TOKEN, expand
from index.analysis.expansion import JOINT
from index.analysis.words import WORD, folded, normalised
from index.hints import Ask
from index.matches import Matcher
from index.page import Record
from index.port import Query
from index.query import parse
from index.spelling import distances, is_word

SUGGESTED = 3

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
    tried = islice(choices, SUGGESTED if question.phrases else 2 * SUGGESTED)
    asked = (_corrected(text, spellings) for spellings in tried)
    found = (query for query in asked if ask(parse(query, question.filters, question.path), 1))
    return tuple(islice(found, 1 if question.phrases else SUGGESTED))


def _unknown(text: str, question: Query, ask: Ask) -> Iterator[str]:
    """Give the words that are asked for and that no section holds, as they are written."""
    for word in dict.fromkeys(WORD.findall(text)):
        if len(word) < _SHORTEST or not is_word(folded(word)):
            continue
        terms = expand(word)
        if len(terms) == 1 and terms[0] in question.terms and not ask(Query({terms[0]: 1}), 1):
            yield word


def _spellings(
    word: str, terms: Iterable[str], question: Query, ask: Ask, read: Callable[[Record], str]
) -> Iterator[str]:
    """Give each of the terms as it is spelt in the best sections that the rest of the question leaves in.

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
    """Give the words of a token, and the parts of these, that are letters alone."""
    for word in WORD.findall(normalised(token)):
        yield from (piece for piece in dict.fromkeys((word, *JOINT.split(word))) if is_word(folded(piece)))
