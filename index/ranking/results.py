"""The results of a query: the best sections of all parts, page by page.

Sections are listed by score, and equal scores by address. Among the best 50 a page with several good sections
is preferred: each of its sections gains a quarter of its page's second and third best scores. From rank 51
results are in order of plain score. Sections with a query's phrases rank above all others.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import compress
from operator import eq, itemgetter
from typing import TYPE_CHECKING, NamedTuple

from index.port import Scored
from index.ranking.blocks import RankedSections, Statistics, allowed_flags
from index.ranking.bm25 import BONUS_DEPTH, BONUS_SHARE, SCALE, weight
from index.ranking.evaluation import WeightedTerm, evaluate, intersect, score, top_k

if TYPE_CHECKING:
    from index.page import SectionRecord
    from index.port import Query

MOST_VERIFIED = 500
"""How many candidates are looked into for a phrase."""

UNIT = SCALE * BONUS_SHARE

_below = itemgetter(0)


class ResultRange(NamedTuple):
    """A stretch of a list; `more` and `partial` are those of `index.port.Results`."""

    hits: tuple[Scored, ...]
    more: bool
    partial: bool = False


def top_results(
    statistics: Statistics,
    query: Query,
    *,
    offset: int = 0,
    limit: int = 10,
    required: Sequence[str] = (),
    verify: Callable[[SectionRecord], bool] | None = None,
) -> ResultRange:
    """Return the hits [offset, offset + limit) of a query.

    With `verify`, at most 500 sections are checked in the order of their scores: those that hold all
    `required` terms of the phrases, or, without required terms, those that the query finds. The others follow
    if the query puts phrases first, and are left out if it does not.
    """
    end = offset + limit
    depth = max(BONUS_DEPTH, end + 1)
    is_partial = False
    if verify is None:
        listed = _order_results(statistics, _score(statistics, query, depth))
    else:
        most = MOST_VERIFIED + 1
        asked = (
            _with_required(statistics, query, required, most) if required else _score(statistics, query, most)
        )
        passed, is_partial = _verify(statistics, asked, verify, depth)
        listed = _order_results(statistics, passed)
        if query.phrases_first:
            listed = _append_rest(statistics, query, listed, depth)
    record = statistics.record
    hits = tuple(
        [Scored(record(place, number), -below / UNIT) for below, place, number, _ in listed[offset:end]]
    )
    return ResultRange(hits, len(listed) > end, is_partial)


def _score(statistics: Statistics, query: Query, k: int) -> list[RankedSections]:
    """Return the k best sections by the query's terms, joined by OR; the largest group sets the threshold."""
    found: list[RankedSections] = []
    floor = 1
    for place, terms in sorted(_weigh_terms(statistics, query).items()):
        block = statistics.blocks[place]
        mask = allowed_flags(block, query, statistics.cache)
        found += block.ranked(evaluate(terms, block.size, k, mask, floor, block.starts))
        found.sort()
        if len(found) >= k:
            floor = -found[k - 1][0] // BONUS_SHARE
    return _sort(statistics, found)[:k]


def _with_required(
    statistics: Statistics, query: Query, required: Sequence[str], k: int
) -> list[RankedSections]:
    """Return the k best of the sections that hold every required term."""
    found: list[RankedSections] = []
    weighted = _weigh_terms(statistics, query)
    for place, block in enumerate(statistics.blocks):
        lists = [postings.ids for term in required if (postings := statistics.postings(place, term))]
        if len(lists) == len(required):
            numbers = intersect(lists)
            mask = allowed_flags(block, query, statistics.cache)
            if mask is not None:
                numbers = numbers[mask[numbers]]
            found += block.ranked(top_k(score(weighted.get(place, ()), numbers), k, block.starts))
    return _sort(statistics, found)[:k]


def _weigh_terms(statistics: Statistics, query: Query) -> dict[int, list[WeightedTerm]]:
    """Return the query's terms, with their weights and lists, by the places of the blocks that have them."""
    terms: dict[int, list[WeightedTerm]] = {}
    for term, count in query.terms.items():
        df, places = statistics.term(term)
        if df:
            value = weight(count, df, statistics.number)
            for place in places:
                if (found := statistics.postings(place, term)) is not None:
                    terms.setdefault(place, []).append(WeightedTerm(value, found, value * found.top))
    return terms


def _verify(
    statistics: Statistics,
    asked: Sequence[RankedSections],
    verify: Callable[[SectionRecord], bool],
    depth: int,
) -> tuple[list[RankedSections], bool]:
    """Return the sections that pass until there are enough, and whether some were left unchecked."""
    passed: list[RankedSections] = []
    for rank, section in enumerate(asked):
        if len(passed) == depth:
            break
        if rank == MOST_VERIFIED:
            return passed, True
        _, place, number, _ = section
        if verify(statistics.record(place, number)):
            passed.append(section)
    return passed, False


def _append_rest(
    statistics: Statistics, query: Query, first: Sequence[RankedSections], depth: int
) -> list[RankedSections]:
    """Rank some sections above all others that the query finds, and append those."""
    others = _order_results(statistics, _score(statistics, query, depth + len(first)))
    lift = others[0][0] if others else 0
    lifted = [(below + lift, place, number, page) for below, place, number, page in first]
    known = {(place, number) for _, place, number, _ in first}
    return lifted + [section for section in others if section[1:3] not in known]


def _order_results(statistics: Statistics, found: Sequence[RankedSections]) -> list[RankedSections]:
    """Put sections into the order of results: pages with several good sections among the first gain."""
    top, rest = found[:BONUS_DEPTH], found[BONUS_DEPTH:]
    pages: dict[int, list[RankedSections]] = {}
    for section in top:
        page = section[3]
        if page in pages:
            pages[page].append(section)
        else:
            pages[page] = [section]
    listed: list[RankedSections] = []
    for sections in pages.values():
        if len(sections) > 1:
            gain = sum([below for below, *_ in sections[1:3]]) // BONUS_SHARE
            sections = [(below + gain, place, number, page) for below, place, number, page in sections]
        listed += sections
    return [*_sort(statistics, listed), *rest]


def _sort(statistics: Statistics, found: list[RankedSections]) -> list[RankedSections]:
    """Sort by score, and equal scores by address: within a part the numbers are in its order."""
    found.sort()
    if len(statistics.parts) > 1:
        below = [*map(_below, found)]
        equal = compress(range(len(found)), map(eq, below, below[1:]))
        for points in {below[rank] for rank in equal if found[rank][1] != found[rank + 1][1]}:
            run = slice(bisect_left(below, points), bisect_right(below, points))
            found[run] = sorted(found[run], key=lambda it: statistics.address(it[1], it[2]))
    return found
