"""Comparison of result lists: the same query on the same commit must give the same list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ResultLists = Sequence[Sequence[Sequence[object]]]
"""The result list of each query, with ids and scores."""


class ResultListsDiffer(Exception):
    """Two result lists that must be equal differ. The message contains the first such pair."""


def check_equal_result_lists(queries: Sequence[str], lists_by_origin: Mapping[str, ResultLists]) -> int:
    """Compare ids and scores exactly; return the number of compared lists. Raises ResultListsDiffer.

    `lists_by_origin` has the result lists of all queries by origin. The first origin is compared with each of
    the others.
    """
    (first_name, expected_lists), *other_origins = lists_by_origin.items()
    for name, actual_lists in other_origins:
        for query, expected_list, actual_list in zip(queries, expected_lists, actual_lists, strict=True):
            if [list(hit) for hit in expected_list] != [list(hit) for hit in actual_list]:
                raise ResultListsDiffer(
                    f"two result lists for {query!r} differ:\n"
                    f"{first_name}: {expected_list}\n{name}: {actual_list}",
                )
    return len(other_origins) * len(queries)
