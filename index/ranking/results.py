"""The results of a query: a range of the best sections of all segments.

Sections are sorted by score, then by address. Among the best 50, documents with several good sections are
preferred: each of their sections gains a quarter of the document's second and third best scores. The section
then gains up to 15 % for the words of the query in the title of its document. From rank 51 on, results are in
order of plain score. Sections with a query's phrases rank above all others. A scored phrase is a term whose
postings are found by reading sections.
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
    BONUS_DIVISOR,
    SCORE_SCALE,
    compute_min_score_before_title,
    compute_title_gain,
    compute_weight,
)
from index.ranking.evaluation import (
    NO_SECTIONS,
    Mask,
    Numbers,
    WeightedTerm,
    evaluate,
    intersect,
    score_sections,
    top_k,
)
from index.ranking.hybrid import fuse, get_lexical_depth
from index.ranking.segment_groups import RankedSection, Statistics, flag_allowed_sections

if TYPE_CHECKING:
    from index.documents import SectionRecord
    from index.port import Query

MAX_VERIFIED_SECTIONS = 500
"""The largest number of candidates that are checked for required phrases, and again for scored phrases."""

SCORE_UNIT = SCORE_SCALE * BONUS_DIVISOR

WeightedTerms = dict[int, list[WeightedTerm]]
"""The terms of a query by the index of each group that has them."""

_negated_score = itemgetter(0)


class ScoredPhrase(NamedTuple):
    """A phrase that counts as a term.

    Every section with the phrase has the `required_terms`. `weigh` returns the weight of the phrase in a
    section.
    """

    required_terms: Sequence[str]
    weigh: Callable[[SectionRecord], int]


class ResultRange(NamedTuple):
    """A range of results; `has_more` and `is_partial` have the meaning of `index.port.Results`."""

    hits: tuple[ScoredSection, ...]
    has_more: bool
    is_partial: bool = False


class EvaluatedOperators(NamedTuple):
    """The evaluated operators of a query: a condition on sections, and further terms.

    `flags` has a flag for each section of each group: True if the query's condition allows it; None without a
    condition. `unions` are further terms, each given as a list of index terms.
    """

    flags: Sequence[Mask] | None = None
    unions: Sequence[tuple[str, ...]] = ()


NO_OPERATORS = EvaluatedOperators()


def find_top_results(
    statistics: Statistics,
    query: Query,
    *,
    offset: int = 0,
    limit: int = 10,
    required_terms: Sequence[str] = (),
    verify: Callable[[SectionRecord], bool] | None = None,
    scored_phrases: Sequence[ScoredPhrase] = (),
    operators: EvaluatedOperators = NO_OPERATORS,
) -> ResultRange:
    """Return the hits [offset, offset + limit) of a query.

    With `verify`, at most 500 sections are checked in the order of their scores: those that contain all
    `required_terms` of the phrases, or, without required terms, the sections that match the query. The
    other sections follow if `phrases_first` is True, and are left out otherwise. Scored phrases are terms.
    With a `vector_ranking`, the list is fused with the nearest sections (`index.ranking.hybrid`).
    """
    end = offset + limit
    ranking = query.vector_ranking
    depth = end if ranking is None else get_lexical_depth(end)
    ordered_sections, is_partial = _order_all(
        statistics, query, depth, required_terms, verify, scored_phrases, operators
    )
    record = statistics.record
    if ranking is not None:
        masks = [
            _flag_possible_results(statistics, index, query, operators)
            for index in range(len(statistics.groups))
        ]
        sections = fuse(statistics, query, ranking, ordered_sections, masks)
        hits = tuple([ScoredSection(record(*section[1:]), section[0]) for section in sections[offset:end]])
        return ResultRange(hits, len(sections) > end, is_partial)
    hits = tuple(
        [
            ScoredSection(record(index, number), -negated_score / SCORE_UNIT)
            for negated_score, index, number, _ in ordered_sections[offset:end]
        ]
    )
    return ResultRange(hits, len(ordered_sections) > end, is_partial)


def _order_all(
    statistics: Statistics,
    query: Query,
    end: int,
    required_terms: Sequence[str],
    verify: Callable[[SectionRecord], bool] | None,
    scored_phrases: Sequence[ScoredPhrase],
    operators: EvaluatedOperators,
) -> tuple[list[RankedSection], bool]:
    """Return the sections with the words of a query, of which the first `end` are in the order of results.

    If there are more than `end`, at least one further section is returned. The flag is True if some sections
    were not checked for a phrase.
    """
    depth = max(BONUS_DEPTH, end + 1)
    is_partial = False
    terms = _weigh_terms(statistics, query, operators)
    if scored_phrases:
        terms, is_partial = _add_scored_phrases(statistics, query, terms, scored_phrases, operators)
    if verify is None:
        ordered_sections = _order_results(
            statistics, query, _find_best_sections(statistics, query, terms, depth, operators), end
        )
    else:
        candidate_limit = MAX_VERIFIED_SECTIONS + 1
        candidates = (
            _find_best_sections_with_terms(
                statistics, query, terms, required_terms, candidate_limit, operators
            )
            if required_terms
            else _find_best_sections(statistics, query, terms, candidate_limit, operators)
        )
        verified_sections, is_cut = _verify_candidates(statistics, candidates, verify, depth)
        is_partial |= is_cut
        ordered_sections = _order_results(statistics, query, verified_sections, end)
        if query.phrases_first:
            ordered_sections = _append_other_sections(
                statistics, query, terms, ordered_sections, depth, operators
            )
    return ordered_sections, is_partial


def _find_best_sections(
    statistics: Statistics, query: Query, terms: WeightedTerms, k: int, operators: EvaluatedOperators
) -> list[RankedSection]:
    """Return the k best sections by the terms, joined by OR; each group raises the threshold of the next."""
    ranked_sections: list[RankedSection] = []
    min_score = 1
    for index, group in enumerate(statistics.groups):
        group_terms = terms.get(index, ())
        if query.includes_all_selected:
            mask = _flag_possible_results(statistics, index, query, operators)
            numbers = np.arange(group.size) if mask is None else mask.nonzero()[0]
            best_numbers = top_k(score_sections(group_terms, numbers.astype(np.uint32)), k, group.starts)
        elif group_terms:
            mask = _flag_possible_results(statistics, index, query, operators)
            best_numbers = evaluate(group_terms, group.size, k, mask, min_score, group.starts)
        else:
            continue
        ranked_sections += group.rank(best_numbers)
        ranked_sections.sort()
        if len(ranked_sections) >= k:
            min_score = max(-ranked_sections[k - 1][0] // BONUS_DIVISOR, 1)
    return _sort(statistics, ranked_sections)[:k]


def _find_best_sections_with_terms(
    statistics: Statistics,
    query: Query,
    terms: WeightedTerms,
    required_terms: Sequence[str],
    k: int,
    operators: EvaluatedOperators,
) -> list[RankedSection]:
    """Return the k best of the sections that contain every required term."""
    ranked_sections: list[RankedSection] = []
    for index, group in enumerate(statistics.groups):
        mask = _flag_possible_results(statistics, index, query, operators)
        numbers = _find_sections_with_terms(statistics, index, required_terms, mask)
        ranked_sections += group.rank(top_k(score_sections(terms.get(index, ()), numbers), k, group.starts))
    return _sort(statistics, ranked_sections)[:k]


def _flag_possible_results(
    statistics: Statistics, index: int, query: Query, operators: EvaluatedOperators
) -> Mask | None:
    """Return a flag for each section of a group: True if it may be a result. None if all may be results."""
    mask = flag_allowed_sections(statistics, statistics.groups[index], query)
    if operators.flags is None:
        return mask
    return operators.flags[index] if mask is None else mask & operators.flags[index]


def _find_sections_with_terms(
    statistics: Statistics, index: int, required_terms: Sequence[str], mask: Mask | None
) -> Numbers:
    """Return the sections of a group that contain every required term and that the mask allows."""
    lists = [postings.ids for term in required_terms if (postings := statistics.postings(index, term))]
    if len(lists) < len(required_terms):
        return NO_SECTIONS.numbers
    numbers = intersect(lists)
    return numbers if mask is None else numbers[mask[numbers]]


def _weigh_terms(statistics: Statistics, query: Query, operators: EvaluatedOperators) -> WeightedTerms:
    """Return the query's terms with their weights and postings, by the index of each group that has them."""
    weighted_terms: WeightedTerms = {}
    for term, count in query.terms.items():
        df, indexes = statistics.get_term_statistics(term)
        if df:
            term_weight = compute_weight(count, df, statistics.section_count)
            for index in indexes:
                if (postings := statistics.postings(index, term)) is not None:
                    weighted_terms.setdefault(index, []).append(
                        WeightedTerm(term_weight, postings, term_weight * postings.max_impact)
                    )
    for terms in operators.unions:
        df, by_index = statistics.join_postings(terms)
        term_weight = compute_weight(1, df, statistics.section_count)
        for index, postings in by_index.items() if df else ():
            weighted_terms.setdefault(index, []).append(
                WeightedTerm(term_weight, postings, term_weight * postings.max_impact)
            )
    return weighted_terms


def _add_scored_phrases(
    statistics: Statistics,
    query: Query,
    terms: WeightedTerms,
    phrases: Sequence[ScoredPhrase],
    operators: EvaluatedOperators,
) -> tuple[WeightedTerms, bool]:
    """Return the terms together with the phrases as terms, and True if not all allowed sections were read.

    All live sections that contain a phrase's required terms are read, up to 500 divided by the number of
    phrases. If there are more, the best allowed sections by the terms are read. An unread section counts in
    the document frequency of the phrase, but gains nothing from the phrase.
    """
    max_candidates = MAX_VERIFIED_SECTIONS // len(phrases)
    query_without_filters = replace(query, excluded=(), filters={}, path=None)
    all_terms = {index: list(group_terms) for index, group_terms in terms.items()}
    is_partial = False
    for phrase in phrases:
        candidate_count = sum(
            len(_find_sections_with_terms(statistics, index, phrase.required_terms, group.live_flags))
            for index, group in enumerate(statistics.groups)
        )
        candidate_query, candidate_operators = (
            (query_without_filters, NO_OPERATORS) if candidate_count <= max_candidates else (query, operators)
        )
        candidates = _find_best_sections_with_terms(
            statistics, candidate_query, terms, phrase.required_terms, max_candidates + 1, candidate_operators
        )
        is_partial |= len(candidates) > max_candidates
        df = candidate_count
        weights: dict[int, dict[int, int]] = {}
        for _, index, section, _ in candidates[:max_candidates]:
            if phrase_weight := phrase.weigh(statistics.record(index, section)):
                weights.setdefault(index, {})[section] = phrase_weight
            else:
                df -= 1
        term_weight = compute_weight(1, df, statistics.section_count)
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
    """Return at most `depth` sections that `verify` accepts, and True if the limit ended the checks."""
    verified_sections: list[RankedSection] = []
    for rank, section in enumerate(candidates):
        if len(verified_sections) == depth:
            break
        if rank == MAX_VERIFIED_SECTIONS:
            return verified_sections, True
        _, index, number, _ = section
        if verify(statistics.record(index, number)):
            verified_sections.append(section)
    return verified_sections, False


def _append_other_sections(
    statistics: Statistics,
    query: Query,
    terms: WeightedTerms,
    preferred_sections: Sequence[RankedSection],
    depth: int,
    operators: EvaluatedOperators,
) -> list[RankedSection]:
    """Return the preferred sections, followed by the best other sections that match the query.

    The scores of the preferred sections are raised above the scores of the others.
    """
    end = depth + len(preferred_sections)
    other_sections = _order_results(
        statistics, query, _find_best_sections(statistics, query, terms, end, operators), end
    )
    boost = other_sections[0][0] if other_sections else 0
    boosted_sections = [
        (negated_score + boost, index, number, document)
        for negated_score, index, number, document in preferred_sections
    ]
    preferred_ids = {(index, number) for _, index, number, _ in preferred_sections}
    return boosted_sections + [section for section in other_sections if section[1:3] not in preferred_ids]


def _order_results(
    statistics: Statistics, query: Query, ranked_sections: Sequence[RankedSection], end: int
) -> list[RankedSection]:
    """Return sections, of which the first `end` are in the order of results.

    Among the best 50, sections gain from other good sections of their document, and from its title.
    """
    best_sections, other_sections = ranked_sections[:BONUS_DEPTH], ranked_sections[BONUS_DEPTH:]
    sections_by_document: dict[int, list[RankedSection]] = {}
    for section in best_sections:
        document = section[3]
        if document in sections_by_document:
            sections_by_document[document].append(section)
        else:
            sections_by_document[document] = [section]
    ordered_sections: list[RankedSection] = []
    for sections in sections_by_document.values():
        if len(sections) > 1:
            gain = sum(map(_negated_score, sections[1:3])) // BONUS_DIVISOR
            sections = [
                (negated_score + gain, index, number, document)
                for negated_score, index, number, document in sections
            ]
        ordered_sections += sections
    return [*_add_title_gains(statistics, query, _sort(statistics, ordered_sections), end), *other_sections]


def _add_title_gains(
    statistics: Statistics, query: Query, ordered_sections: list[RankedSection], end: int
) -> list[RankedSection]:
    """Return sorted sections with their gains from titles; the first `end` are in order.

    Only the titles of sections that can be among the first `end` are read.
    """
    unchanged_sections: list[RankedSection] = []
    if end < len(ordered_sections):
        min_score = compute_min_score_before_title(-ordered_sections[end - 1][0])
        count = bisect_right(ordered_sections, -min_score, end, key=_negated_score)
        ordered_sections, unchanged_sections = ordered_sections[:count], ordered_sections[count:]
    title_weights: dict[int, tuple[int, int]] = {}
    terms = query.terms
    for rank, (negated_score, index, number, document) in enumerate(ordered_sections):
        weights = title_weights.get(document)
        if weights is None:
            weights = statistics.weigh_title_terms(index, number, terms, query.name_parts)
            title_weights[document] = weights
        if weights[0]:
            ordered_sections[rank] = (
                negated_score - compute_title_gain(-negated_score, *weights),
                index,
                number,
                document,
            )
    return [*_sort(statistics, ordered_sections), *unchanged_sections]


def _sort(statistics: Statistics, ranked_sections: list[RankedSection]) -> list[RankedSection]:
    """Sort by score, then by address. Within a segment, section numbers are in the order of addresses."""
    # The tuples sort by negated score, segment and number. Only equal scores of different segments need
    # addresses.
    ranked_sections.sort()
    if len(statistics.segment_readers) > 1:
        negated_scores = [*map(_negated_score, ranked_sections)]
        equal_ranks = compress(range(len(ranked_sections)), map(eq, negated_scores, negated_scores[1:]))
        for score_value in {
            negated_scores[rank]
            for rank in equal_ranks
            if ranked_sections[rank][1] != ranked_sections[rank + 1][1]
        }:
            equal_scores = slice(
                bisect_left(negated_scores, score_value), bisect_right(negated_scores, score_value)
            )
            ranked_sections[equal_scores] = sorted(
                ranked_sections[equal_scores], key=lambda section: statistics.address(section[1], section[2])
            )
    return ranked_sections
