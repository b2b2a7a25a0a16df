"""The results of a query: the best sections of all parts, page by page.

Sections are sorted by score, then by address. Among the best 50, pages with several good sections are
preferred: each of their sections gains a quarter of the page's second and third best scores. It then gains up
to 15 % for the words of the query in the title of its page. From rank 51 on results are in order of plain
score. Sections with a query's phrases rank above all others. A scored phrase is a term whose postings are
found by reading sections.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress
from operator import eq, itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from index.port import ScoredSection
from index.ranking.bm25 import (
    BONUS_DEPTH,
    BONUS_SHARE,
    SCORE_SCALE,
    compute_title_gain,
    compute_weight,
    min_score_before_title,
)
from index.ranking.evaluation import (
    NO_SECTIONS,
    Mask,
    Numbers,
    WeightedTerm,
    evaluate,
    intersect,
    score,
    top_k,
)
from index.ranking.segment_groups import RankedSection, Statistics, flag_allowed_sections

if TYPE_CHECKING:
    from index.page import SectionRecord
    from index.port import Query

MAX_VERIFIED = 500
"""The largest number of candidates that are checked for phrases, and as many for scored phrases."""

SCORE_UNIT = SCORE_SCALE * BONUS_SHARE

WeightedTerms = dict[int, list[WeightedTerm]]
"""The terms of a query by the index of each group that has them."""

_negated_score = itemgetter(0)


class ScoredPhrase(NamedTuple):
    """A phrase that counts as a term: the terms of every section with it, and its weight in a section."""

    required: Sequence[str]
    weigh: Callable[[SectionRecord], int]


class ResultRange(NamedTuple):
    """A range of results; `has_more` and `is_partial` have the meaning of `index.port.Results`."""

    hits: tuple[ScoredSection, ...]
    has_more: bool
    is_partial: bool = False


class Selection(NamedTuple):
    """A condition and further terms, which the operators of a query add to its words.

    `flags` has a flag for each section of each group that the query's condition allows; None without a
    condition. `unions` are further terms, each given as the terms of the index that it matches.
    """

    flags: Sequence[Mask] | None = None
    unions: Sequence[tuple[str, ...]] = ()


NO_SELECTION = Selection()


def find_top_results(
    statistics: Statistics,
    query: Query,
    *,
    offset: int = 0,
    limit: int = 10,
    required: Sequence[str] = (),
    verify: Callable[[SectionRecord], bool] | None = None,
    scored_phrases: Sequence[ScoredPhrase] = (),
    selection: Selection = NO_SELECTION,
) -> ResultRange:
    """Return the hits [offset, offset + limit) of a query.

    With `verify`, at most 500 sections are checked in the order of their scores: those that contain all
    `required` terms of the phrases, or, without required terms, those that match the query. The other
    sections follow if the query puts phrases first, and are left out otherwise. Scored phrases are terms.
    """
    end = offset + limit
    depth = max(BONUS_DEPTH, end + 1)
    is_partial = False
    terms = _weigh_terms(statistics, query, selection)
    if scored_phrases:
        terms, is_partial = _add_scored_phrases(statistics, query, terms, scored_phrases, selection)
    if verify is None:
        ordered = _order_results(
            statistics, query, _find_best(statistics, query, terms, depth, selection), end
        )
    else:
        candidate_limit = MAX_VERIFIED + 1
        candidates = (
            _find_best_with_required(statistics, query, terms, required, candidate_limit, selection)
            if required
            else _find_best(statistics, query, terms, candidate_limit, selection)
        )
        passed, is_cut = _verify_candidates(statistics, candidates, verify, depth)
        is_partial |= is_cut
        ordered = _order_results(statistics, query, passed, end)
        if query.phrases_first:
            ordered = _append_others(statistics, query, terms, ordered, depth, selection)
    record = statistics.record
    hits = tuple(
        [
            ScoredSection(record(index, number), -negated_score / SCORE_UNIT)
            for negated_score, index, number, _ in ordered[offset:end]
        ]
    )
    return ResultRange(hits, len(ordered) > end, is_partial)


def _find_best(
    statistics: Statistics, query: Query, terms: WeightedTerms, k: int, selection: Selection
) -> list[RankedSection]:
    """Return the k best sections by the terms, joined by OR; the largest group sets the threshold."""
    ranked: list[RankedSection] = []
    min_score = 1
    for index, group in enumerate(statistics.groups):
        group_terms = terms.get(index, ())
        if query.selects_all:
            mask = _flag_allowed(statistics, index, query, selection)
            numbers = np.arange(group.size) if mask is None else mask.nonzero()[0]
            best_numbers = top_k(score(group_terms, numbers.astype(np.uint32)), k, group.starts)
        elif group_terms:
            mask = _flag_allowed(statistics, index, query, selection)
            best_numbers = evaluate(group_terms, group.size, k, mask, min_score, group.starts)
        else:
            continue
        ranked += group.rank(best_numbers)
        ranked.sort()
        if len(ranked) >= k:
            min_score = max(-ranked[k - 1][0] // BONUS_SHARE, 1)
    return _sort(statistics, ranked)[:k]


def _find_best_with_required(
    statistics: Statistics,
    query: Query,
    terms: WeightedTerms,
    required: Sequence[str],
    k: int,
    selection: Selection,
) -> list[RankedSection]:
    """Return the k best of the sections that contain every required term."""
    ranked: list[RankedSection] = []
    for index, group in enumerate(statistics.groups):
        mask = _flag_allowed(statistics, index, query, selection)
        numbers = _find_required(statistics, index, required, mask)
        ranked += group.rank(top_k(score(terms.get(index, ()), numbers), k, group.starts))
    return _sort(statistics, ranked)[:k]


def _flag_allowed(statistics: Statistics, index: int, query: Query, selection: Selection) -> Mask | None:
    """Return a flag for each section of a group that may be found; None if all of them may."""
    mask = flag_allowed_sections(statistics, statistics.groups[index], query)
    if selection.flags is None:
        return mask
    return selection.flags[index] if mask is None else mask & selection.flags[index]


def _find_required(statistics: Statistics, index: int, required: Sequence[str], mask: Mask | None) -> Numbers:
    """Return the sections of a group that contain every required term and that the mask allows."""
    lists = [postings.ids for term in required if (postings := statistics.postings(index, term))]
    if len(lists) < len(required):
        return NO_SECTIONS.numbers
    numbers = intersect(lists)
    return numbers if mask is None else numbers[mask[numbers]]


def _weigh_terms(statistics: Statistics, query: Query, selection: Selection) -> WeightedTerms:
    """Return the query's terms with their weights and postings, by the index of each group that has them."""
    weighted: WeightedTerms = {}
    for term, count in query.terms.items():
        df, indexes = statistics.term(term)
        if df:
            term_weight = compute_weight(count, df, statistics.number)
            for index in indexes:
                if (postings := statistics.postings(index, term)) is not None:
                    weighted.setdefault(index, []).append(
                        WeightedTerm(term_weight, postings, term_weight * postings.max_impact)
                    )
    for terms in selection.unions:
        df, by_index = statistics.union(terms)
        term_weight = compute_weight(1, df, statistics.number)
        for index, postings in by_index.items() if df else ():
            weighted.setdefault(index, []).append(
                WeightedTerm(term_weight, postings, term_weight * postings.max_impact)
            )
    return weighted


def _add_scored_phrases(
    statistics: Statistics,
    query: Query,
    terms: WeightedTerms,
    phrases: Sequence[ScoredPhrase],
    selection: Selection,
) -> tuple[WeightedTerms, bool]:
    """Return the terms with those of the phrases, and True if allowed sections were left unread.

    All live sections that contain a phrase's required terms are read, up to an equal share of 500. If there
    are more, the best allowed ones by the terms are read. An unread section counts as one with the phrase in
    the phrase's document frequency, but gains nothing from it.
    """
    share = MAX_VERIFIED // len(phrases)
    live_selection = replace(query, excluded=(), filters={}, path=None), NO_SELECTION
    all_terms = {index: list(group_terms) for index, group_terms in terms.items()}
    is_partial = False
    for phrase in phrases:
        candidate_count = sum(
            len(_find_required(statistics, index, phrase.required, group.alive))
            for index, group in enumerate(statistics.groups)
        )
        readable, selected = live_selection if candidate_count <= share else (query, selection)
        candidates = _find_best_with_required(
            statistics, readable, terms, phrase.required, share + 1, selected
        )
        is_partial |= len(candidates) > share
        df = candidate_count
        weights: dict[int, dict[int, int]] = {}
        for _, index, section, _ in candidates[:share]:
            if phrase_weight := phrase.weigh(statistics.record(index, section)):
                weights.setdefault(index, {})[section] = phrase_weight
            else:
                df -= 1
        term_weight = compute_weight(1, df, statistics.number)
        for index, group in enumerate(statistics.groups):
            if (postings := group.make_postings(weights, statistics.average)) is not None:
                all_terms.setdefault(index, []).append(
                    WeightedTerm(term_weight, postings, term_weight * postings.max_impact)
                )
    return all_terms, is_partial


def _verify_candidates(
    statistics: Statistics,
    candidates: Sequence[RankedSection],
    verify: Callable[[SectionRecord], bool],
    depth: int,
) -> tuple[list[RankedSection], bool]:
    """Return the sections that pass, up to `depth`, and True if some were not checked."""
    passed: list[RankedSection] = []
    for rank, section in enumerate(candidates):
        if len(passed) == depth:
            break
        if rank == MAX_VERIFIED:
            return passed, True
        _, index, number, _ = section
        if verify(statistics.record(index, number)):
            passed.append(section)
    return passed, False


def _append_others(
    statistics: Statistics,
    query: Query,
    terms: WeightedTerms,
    preferred: Sequence[RankedSection],
    depth: int,
    selection: Selection,
) -> list[RankedSection]:
    """Return the preferred sections, ranked above all others that match the query, followed by those."""
    end = depth + len(preferred)
    others = _order_results(statistics, query, _find_best(statistics, query, terms, end, selection), end)
    boost = others[0][0] if others else 0
    boosted = [
        (negated_score + boost, index, number, page) for negated_score, index, number, page in preferred
    ]
    preferred_ids = {(index, number) for _, index, number, _ in preferred}
    return boosted + [section for section in others if section[1:3] not in preferred_ids]


def _order_results(
    statistics: Statistics, query: Query, ranked: Sequence[RankedSection], end: int
) -> list[RankedSection]:
    """Return sections with the first `end` in the order of results.

    Among the best 50, pages with several good sections, or with words of the query in the title, gain.
    """
    top, others = ranked[:BONUS_DEPTH], ranked[BONUS_DEPTH:]
    pages: dict[int, list[RankedSection]] = {}
    for section in top:
        page = section[3]
        if page in pages:
            pages[page].append(section)
        else:
            pages[page] = [section]
    ordered: list[RankedSection] = []
    for sections in pages.values():
        if len(sections) > 1:
            gain = sum(map(_negated_score, sections[1:3])) // BONUS_SHARE
            sections = [
                (negated_score + gain, index, number, page) for negated_score, index, number, page in sections
            ]
        ordered += sections
    return [*_add_title_gains(statistics, query, _sort(statistics, ordered), end), *others]


def _add_title_gains(
    statistics: Statistics, query: Query, ordered: list[RankedSection], end: int
) -> list[RankedSection]:
    """Return sorted sections with their gains from titles, the first `end` in order.

    Only the titles of sections that can be among the first `end` are read.
    """
    unchanged: list[RankedSection] = []
    if end < len(ordered):
        lowest = min_score_before_title(-ordered[end - 1][0])
        count = bisect_right(ordered, -lowest, end, key=_negated_score)
        ordered, unchanged = ordered[:count], ordered[count:]
    shares: dict[int, tuple[int, int]] = {}
    terms = query.terms
    for rank, (negated_score, index, number, page) in enumerate(ordered):
        share = shares.get(page)
        if share is None:
            share = shares[page] = statistics.title_share(index, number, terms)
        if share[0]:
            ordered[rank] = negated_score - compute_title_gain(-negated_score, *share), index, number, page
    return [*_sort(statistics, ordered), *unchanged]


def _sort(statistics: Statistics, ranked: list[RankedSection]) -> list[RankedSection]:
    """Sort by score, then by address. Within a part, section numbers are in the order of addresses."""
    # Negated scores sort first, then parts and numbers; only equal scores of different parts need addresses.
    ranked.sort()
    if len(statistics.parts) > 1:
        negated_score = [*map(_negated_score, ranked)]
        equal_ranks = compress(range(len(ranked)), map(eq, negated_score, negated_score[1:]))
        for score_value in {
            negated_score[rank] for rank in equal_ranks if ranked[rank][1] != ranked[rank + 1][1]
        }:
            run = slice(bisect_left(negated_score, score_value), bisect_right(negated_score, score_value))
            ranked[run] = sorted(ranked[run], key=lambda section: statistics.address(section[1], section[2]))
    return ranked
