"""The list that answers a query: the best sections of all parts, page by page.

Sections are listed by score, and equal scores by address. Among the best 50 a page with several good
sections is preferred: each of its sections gains a quarter of its page's second and third best scores. The
list goes on from rank 51 by plain score. Sections with a query's phrases stand above all others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from index.port import Scored
from index.ranking.allowed import allowed
from index.ranking.blocks import Block
from index.ranking.evaluation import NOTHING, Found, Scores, Weighted, evaluate, holding, kth, score, topmost
from index.ranking.formula import BONUS_DEPTH, BONUS_SHARE, SCALE, weight
from index.ranking.statistics import Statistics

if TYPE_CHECKING:
    from index.page import Record
    from index.port import Query

MOST_VERIFIED = 500
"""How many candidates are looked into for a phrase."""

UNIT = SCALE * BONUS_SHARE


class Stretch(NamedTuple):
    """A stretch of a list; `more` and `partial` are those of `index.port.Results`."""

    hits: tuple[Scored, ...]
    more: bool
    partial: bool = False


class _Ranking(NamedTuple):
    """Sections in the order of a list: their scores, the places of their parts, and their numbers there.

    `pages` has a number for the page of each.
    """

    scores: Scores
    places: NDArray[np.intp]
    numbers: NDArray[np.int64]
    pages: NDArray[np.int64]

    @classmethod
    def of(cls, block: Block, found: Found) -> _Ranking:
        return cls(found.scores, *block.locate(found.numbers), block.pages_of(found.numbers))

    def at(self, order: slice | Sequence[int] | NDArray[np.intp]) -> _Ranking:
        """Give some of the sections, in this order."""
        scores, places, numbers, pages = self
        return _Ranking(scores[order], places[order], numbers[order], pages[order])


def best(
    statistics: Statistics,
    query: Query,
    *,
    offset: int = 0,
    limit: int = 10,
    required: Sequence[str] = (),
    verify: Callable[[Record], bool] | None = None,
) -> Stretch:
    """Give the hits [offset, offset + limit) of a query.

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
    shown = listed.at(slice(offset, end))
    rows = zip(shown.scores.tolist(), shown.places.tolist(), shown.numbers.tolist(), strict=True)
    hits = [Scored(statistics.record(place, number), points / UNIT) for points, place, number in rows]
    return Stretch(tuple(hits), len(listed.scores) > end, is_partial)


def _scored(statistics: Statistics, query: Query, k: int) -> _Ranking:
    """The k best sections by the query's terms, joined by OR; the largest block first, to set the mark."""
    found: list[_Ranking] = []
    floor = 1
    for place, terms in sorted(_weighted(statistics, query).items()):
        block = statistics.blocks[place]
        mask = allowed(block, query, statistics.cache)
        found.append(_Ranking.of(block, evaluate(terms, block.size, k, mask, floor, block.starts)))
        if place + 1 < len(statistics.blocks):
            scores = np.concatenate([ranking.scores for ranking in found])
            floor = kth(scores, k) if len(scores) >= k else 1
    return _ordered(statistics, _joined(found)).at(slice(k))


def _holding(statistics: Statistics, query: Query, required: Sequence[str], k: int) -> _Ranking:
    """The k best of the sections that hold every required term, whether or not the query has terms beside."""
    found: list[_Ranking] = []
    weighted = _weighted(statistics, query)
    for place, block in enumerate(statistics.blocks):
        lists = [postings.ids for term in required if (postings := statistics.postings(place, term))]
        if len(lists) == len(required):
            numbers = holding(lists)
            mask = allowed(block, query, statistics.cache)
            if mask is not None:
                numbers = numbers[mask[numbers]]
            scored = score(weighted.get(place, ()), numbers)
            found.append(_Ranking.of(block, topmost(scored, k, block.starts)))
    return _ordered(statistics, _joined(found)).at(slice(k))


def _weighted(statistics: Statistics, query: Query) -> dict[int, list[Weighted]]:
    """The query's terms, with their weights and lists, by the places of the blocks that have them."""
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
    statistics: Statistics, asked: _Ranking, verify: Callable[[Record], bool], depth: int
) -> tuple[_Ranking, bool]:
    """The sections that pass, until there are enough; and whether some were left at the end unasked."""
    passed: list[int] = []
    is_partial = False
    for rank, (place, number) in enumerate(zip(asked.places.tolist(), asked.numbers.tolist(), strict=True)):
        if len(passed) == depth:
            break
        if rank == MOST_VERIFIED:
            is_partial = True
            break
        if verify(statistics.record(place, number)):
            passed.append(rank)
    return asked.at(np.array(passed, np.intp)), is_partial


def _followed(statistics: Statistics, query: Query, first: _Ranking, depth: int) -> _Ranking:
    """Lift some sections above all others that the query finds, and let these follow."""
    others = _listed(statistics, _scored(statistics, query, depth + len(first.scores)))
    known = set(zip(first.places.tolist(), first.numbers.tolist(), strict=True))
    found = zip(others.places.tolist(), others.numbers.tolist(), strict=True)
    rest = others.at([rank for rank, section in enumerate(found) if section not in known])
    return _joined([first._replace(scores=first.scores + others.scores[:1].sum()), rest])


def _listed(statistics: Statistics, found: _Ranking) -> _Ranking:
    """Put found sections into the order of the list; from here on scores count in UNITs."""
    top = _with_bonus(statistics, found.at(slice(BONUS_DEPTH)))
    if len(found.scores) <= BONUS_DEPTH:
        return top
    rest = found.at(slice(BONUS_DEPTH, None))
    return _joined([top, rest._replace(scores=BONUS_SHARE * rest.scores)])


def _with_bonus(statistics: Statistics, top: _Ranking) -> _Ranking:
    """Prefer pages with several good sections among the first."""
    order = top.pages.argsort(kind="stable")
    pages = top.pages[order]
    first = pages.searchsorted(pages)  # where the sections of the same page begin
    rank = np.arange(len(first)) - first
    gains = np.bincount(first, top.scores[order] * ((rank == 1) | (rank == 2)), len(first))
    scores = BONUS_SHARE * top.scores
    scores[order] += gains[first].astype(np.int64)
    return _ordered(statistics, top._replace(scores=scores))


def _joined(rankings: Sequence[_Ranking]) -> _Ranking:
    if len(rankings) == 1:
        return rankings[0]
    return _Ranking(*map(np.concatenate, zip(*(rankings or [_NOTHING]), strict=True)))


def _ordered(statistics: Statistics, found: _Ranking) -> _Ranking:
    """Sort by score, and equal scores by address: within a part the numbers are in its order."""
    if len(statistics.parts) == 1:
        return found.at(np.lexsort((found.numbers, -found.scores)))
    found = found.at(np.lexsort((found.numbers, found.places, -found.scores)))
    minus = -found.scores
    shared = minus[1:][(minus[1:] == minus[:-1]) & (found.places[1:] != found.places[:-1])]
    if not len(shared):
        return found
    order = np.arange(len(minus))
    for points in set(shared.tolist()):
        equal = range(minus.searchsorted(points), minus.searchsorted(points, "right"))
        order[equal.start : equal.stop] = sorted(equal, key=partial(_address, statistics, found))
    return found.at(order)


def _address(statistics: Statistics, found: _Ranking, rank: int) -> tuple[str, str]:
    return statistics.address(int(found.places[rank]), int(found.numbers[rank]))


_NOTHING = _Ranking(NOTHING.scores, np.empty(0, np.intp), *(np.empty(0, np.int64),) * 2)
