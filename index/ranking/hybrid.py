"""The list of words and the list of vectors as one list.

The best 200 sections of each list are fused; the other sections with the query's words follow in their order.
Sections that equal scores would leave in any order are sorted by their ranks in the list of words.

* `rank`: reciprocal rank fusion (Cormack et al. 2009), score = sum of weight / (60 + rank)
* `sum`: the weighted sum of both scores, each divided by the best of its list
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from index.port import Fusion, Query, VectorRanking
    from index.ranking.evaluation import Mask
    from index.ranking.segment_groups import RankedSection, Statistics

MAX_CANDIDATES = 200
"""The largest number of sections of each list that are fused."""

_RANK_CONSTANT = 60
_COSINE_UNIT = 1 << 20

SectionNumber = tuple[int, int]
"""The index of a section's segment, and the section's number in the segment."""

FusedSection = tuple[float, int, int]
"""The score of a section, the index of its segment, and its number there."""


class _Candidate(NamedTuple):
    """A section near to the question, and its cosine."""

    cosine: float
    section: SectionNumber


def get_lexical_depth(end: int) -> int:
    """Return the number of sections with the query's words from which `end` results are fused.

    Of the sections after the first 200, up to 200 may be among the nearest sections.
    """
    return max(end, MAX_CANDIDATES) + MAX_CANDIDATES


def fuse(
    statistics: Statistics,
    query: Query,
    ranking: VectorRanking,
    lexical_list: Sequence[RankedSection],
    masks: Sequence[Mask | None],
) -> list[FusedSection]:
    """Return all results in order. `masks` has the sections of each group that the query allows.

    Every section with the phrases of a query precedes the others, and phrases that must occur exclude
    sections without them.
    """
    lexical_sections = [(index, number) for _, index, number, _ in lexical_list]
    candidates = _find_nearest(statistics, ranking, masks)
    if query.phrases and not query.phrases_first:
        allowed_sections = {*lexical_sections}
        candidates = [candidate for candidate in candidates if candidate.section in allowed_sections]
    if ranking.fusion is None:
        return [(cosine, *section) for cosine, section in candidates]
    scores = _score(statistics, ranking, ranking.fusion, lexical_list[:MAX_CANDIDATES], candidates)
    lexical_ranks = {section: rank for rank, section in enumerate(lexical_sections)}
    last_rank = len(lexical_sections)
    pinned_sections = lexical_sections[: last_rank if query.phrases else ranking.pinned_count]
    # A pinned section has the best score, so that scores never increase along the list.
    scores |= dict.fromkeys(pinned_sections, max(scores.values(), default=0.0))
    pinned_set = {*pinned_sections}
    fused_sections = sorted(
        [section for section in scores if section not in pinned_set],
        key=lambda section: (-scores[section], lexical_ranks.get(section, last_rank)),
    )
    return [
        (scores.get(section, 0.0), *section)
        for section in dict.fromkeys([*pinned_sections, *fused_sections, *lexical_sections])
    ]


def _find_nearest(
    statistics: Statistics, ranking: VectorRanking, masks: Sequence[Mask | None]
) -> list[_Candidate]:
    """Return the nearest sections that the masks allow, by their exact cosines."""
    estimates = [_NO_ESTIMATES]
    sections: list[SectionNumber] = []
    first_index = 0
    for group, mask in zip(statistics.groups, masks, strict=True):
        for reader, start in zip(group.segment_readers, group.starts.tolist(), strict=True):
            segment = reader.segment
            values = ranking.estimate(segment.id, segment.digests)
            if mask is not None:
                values = np.where(mask[start : start + segment.size], values, -np.inf)
            best = _select_best(values)
            estimates.append(values[best])
            sections += [(first_index, number) for number in best.tolist()]
            first_index += 1
    best = _select_best(np.concatenate(estimates)).tolist()
    return _measure(statistics, ranking, [sections[number] for number in best])


_NO_ESTIMATES = np.empty(0, np.float32)


def _select_best(values: NDArray[np.float32]) -> NDArray[np.intp]:
    """Return the numbers of the largest finite values, the largest first; equal values in their order."""
    count = min(MAX_CANDIDATES, len(values))
    if count < len(values):
        threshold = np.partition(values, len(values) - count)[len(values) - count]
        numbers = (values >= threshold).nonzero()[0]
    else:
        numbers = np.arange(len(values))
    numbers = numbers[np.isfinite(values[numbers])]
    order: NDArray[np.intp] = np.argsort(-values[numbers], kind="stable")
    best: NDArray[np.intp] = numbers[order[:count]]
    return best


def _measure(
    statistics: Statistics, ranking: VectorRanking, sections: Sequence[SectionNumber]
) -> list[_Candidate]:
    """Return sections by their exact cosines, the nearest first; equal ones in order of their addresses."""
    readers = statistics.segment_readers
    digests = [readers[index].segment.digests[number].tobytes() for index, number in sections]
    candidates = [
        _Candidate(round(cosine * _COSINE_UNIT) / _COSINE_UNIT, section)
        for cosine, section in zip(ranking.measure(digests), sections, strict=True)
        if np.isfinite(cosine)
    ]
    return sorted(
        candidates,
        key=lambda candidate: (-candidate.cosine, statistics.address(*candidate.section)),
    )


def _score(
    statistics: Statistics,
    ranking: VectorRanking,
    fusion: Fusion,
    lexical_list: Sequence[RankedSection],
    candidates: Sequence[_Candidate],
) -> dict[SectionNumber, float]:
    """Return the score of each section of two lists, from 0 to 1."""
    scores: dict[SectionNumber, float] = {}
    weight = fusion.lexical_weight
    if fusion.method == "rank":
        total = (weight + 1) / (_RANK_CONSTANT + 1)
        for rank, (_, index, number, _) in enumerate(lexical_list, 1):
            scores[index, number] = weight / (_RANK_CONSTANT + rank) / total
        for rank, candidate in enumerate(candidates, 1):
            section = candidate.section
            scores[section] = scores.get(section, 0.0) + 1 / (_RANK_CONSTANT + rank) / total
        return scores
    cosines = {section: cosine for cosine, section in candidates}
    others = [(index, number) for _, index, number, _ in lexical_list if (index, number) not in cosines]
    cosines |= {section: cosine for cosine, section in _measure(statistics, ranking, others)}
    best_cosine = max(cosines.values(), default=0.0)
    if best_cosine > 0:
        scores = {
            section: (1 - weight) * max(cosine, 0.0) / best_cosine for section, cosine in cosines.items()
        }
    for negated_score, index, number, _ in lexical_list:
        share = negated_score / lexical_list[0][0] if lexical_list[0][0] else 0.0
        scores[index, number] = scores.get((index, number), 0.0) + weight * share
    return scores
