"""The list that answers a query: the best sections of all parts, page by page.

Sections are listed by score, and equal scores by address. Among the best 50 a page with several good
sections is preferred: each of its sections gains a quarter of its page's second and third best scores. The
list goes on from rank 51 by plain score. Sections with a query's phrases stand above all others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import compress
from operator import eq, itemgetter
from typing import TYPE_CHECKING, NamedTuple

from index.port import Scored
from index.ranking.blocks import Ranked, Statistics, allowed
from index.ranking.bm25 import BONUS_DEPTH, BONUS_SHARE, SCALE, weight
from index.ranking.evaluation import Weighted, evaluate, holding, score, topmost

if TYPE_CHECKING:
    from index.page import Record
    from index.port import Query

MOST_VERIFIED = 500
"""How many candidates are looked into for a phrase."""

UNIT = SCALE * BONUS_SHARE

_below = itemgetter(0)


class Stretch(NamedTuple):
    """A stretch of a list; `more` and `partial` are those of `index.port.Results`."""

    hits: tuple[Scored, ...]
    more: bool
    partial: bool = False


def best(
    statistics: Statistics,
    query: Query,
    *,
    offset: int = 0,
    limit: int = 10,
    required: Sequence[str] = (),
    verify: Callable[[Record], bool] | None = None,
) -> Stretch:
    """Return the hits [offset, offset + limit) of a query.

    With `verify`, sections are asked about in the order of their scores, at most 500 of them: those that hold
    all `required` terms, which phrases need; if there are none, those that the query finds. The others follow
    if the query puts phrases first, and are left out if it does not.
    """
    end = offset + limit
    depth = max(BONUS_DEPTH, end + 1)
    is_partial = False
    if verify is None:
        listed = _listed(statistics, _scored(statistics, query, depth))
    else:
        most = MOST_VERIFIED + 1
        asked = _holding(statistics, query, required, most) if required else _scored(statistics, query, most)
        passed, is_partial = _verified(statistics, asked, verify, depth)
        listed = _listed(statistics, passed)
        if query.phrases_first:
            listed = _followed(statistics, query, listed, depth)
    record = statistics.record
    hits = tuple(
        [Scored(record(place, number), -below / UNIT) for below, place, number, _ in listed[offset:end]]
    )
    return Stretch(hits, len(listed) > end, is_partial)


def _scored(statistics: Statistics, query: Query, k: int) -> list[Ranked]:
    """The k best sections by the query's terms, joined by OR; the largest block first, to set the mark."""
    found: list[Ranked] = []
    floor = 1
    for place, terms in sorted(_weighted(statistics, query).items()):
        block = statistics.blocks[place]
        mask = allowed(block, query, statistics.cache)
        found += block.ranked(evaluate(terms, block.size, k, mask, floor, block.starts))
        found.sort()
        if len(found) >= k:
            floor = -found[k - 1][0] // BONUS_SHARE
    return _ordered(statistics, found)[:k]


def _holding(statistics: Statistics, query: Query, required: Sequence[str], k: int) -> list[Ranked]:
    """The k best of the sections that hold every required term, whether or not the query has terms beside."""
    found: list[Ranked] = []
    weighted = _weighted(statistics, query)
    for place, block in enumerate(statistics.blocks):
        lists = [postings.ids for term in required if (postings := statistics.postings(place, term))]
        if len(lists) == len(required):
            numbers = holding(lists)
            mask = allowed(block, query, statistics.cache)
            if mask is not None:
                numbers = numbers[mask[numbers]]
            found += block.ranked(topmost(score(weighted.get(place, ()), numbers), k, block.starts))
    return _ordered(statistics, found)[:k]


def _weighted(statistics: Statistics, query: Query) -> dict[int, list[Weighted]]:
    """Return the query's terms, with their weights and lists, by the places of the blocks that have them."""
    terms: dict[int, list[Weighted]] = {}
    for term, count in query.terms.items():
        df, places = statistics.word(term)
        if df:
            value = weight(count, df, statistics.number)
            for place in places:
                if (found := statistics.postings(place, term)) is not None:
                    terms.setdefault(place, []).append(Weighted(value, found, value * found.top))
    return terms


def _verified(
    statistics: Statistics, asked: Sequence[Ranked], verify: Callable[[Record], bool], depth: int
) -> tuple[list[Ranked], bool]:
    """The sections that pass, until there are enough; and whether some were left at the end unasked."""
    passed: list[Ranked] = []
    for rank, section in enumerate(asked):
        if len(passed) == depth:
            break
        if rank == MOST_VERIFIED:
            return passed, True
        _, place, number, _ = section
        if verify(statistics.record(place, number)):
            passed.append(section)
    return passed, False


def _followed(statistics: Statistics, query: Query, first: Sequence[Ranked], depth: int) -> list[Ranked]:
    """Lift some sections above all others that the query finds, and let these follow."""
    others = _listed(statistics, _scored(statistics, query, depth + len(first)))
    lift = others[0][0] if others else 0
    lifted = [(below + lift, place, number, page) for below, place, number, page in first]
    known = {(place, number) for _, place, number, _ in first}
    return lifted + [section for section in others if section[1:3] not in known]


def _listed(statistics: Statistics, found: Sequence[Ranked]) -> list[Ranked]:
    """Put found sections into the order of the list: pages with several good ones among the first gain."""
    top, rest = found[:BONUS_DEPTH], found[BONUS_DEPTH:]
    pages: dict[int, list[Ranked]] = {}
    for section in top:
        page = section[3]
        if page in pages:
            pages[page].append(section)
        else:
            pages[page] = [section]
    listed: list[Ranked] = []
    for sections in pages.values():
        if len(sections) > 1:
            gain = sum([below for below, *_ in sections[1:3]]) // BONUS_SHARE
            sections = [(below + gain, place, number, page) for below, place, number, page in sections]
        listed += sections
    return [*_ordered(statistics, listed), *rest]


def _ordered(statistics: Statistics, found: list[Ranked]) -> list[Ranked]:
    """Sort by score, and equal scores by address: within a part the numbers are in its order."""
    found.sort()
    if len(statistics.parts) > 1:
        below = [*map(_below, found)]
        equal = compress(range(len(found)), map(eq, below, below[1:]))
        for points in {below[rank] for rank in equal if found[rank][1] != found[rank + 1][1]}:
            run = slice(bisect_left(below, points), bisect_right(below, points))
            found[run] = sorted(found[run], key=lambda it: statistics.address(it[1], it[2]))
    return found
