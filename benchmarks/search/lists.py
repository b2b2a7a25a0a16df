"""Comparison of result lists: the same query on the same commit must give the same list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ResultLists = Sequence[Sequence[Sequence[object]]]
"""The result list of each query, with ids and scores."""


class ResultListsDiffer(Exception):
    """Two lists differ that must be equal. The message contains the first such pair."""


def check_equal_lists(queries: Sequence[str], lists: Mapping[str, ResultLists]) -> int:
    """Compare ids and scores exactly; return the number of compared lists. Raises ResultListsDiffer.

    `lists` has the lists of all queries by origin. Each other origin is compared with the first.
    """
    (first_name, expected), *other_origins = lists.items()
    for name, actual_lists in other_origins:
        for query, expected_list, actual_list in zip(queries, expected, actual_lists, strict=True):
            if [list(hit) for hit in expected_list] != [list(hit) for hit in actual_list]:
                raise ResultListsDiffer(
                    f"two lists for {query!r} differ:\n{first_name}: {expected_list}\n{name}: {actual_list}",
                )
    return len(other_origins) * len(queries)
