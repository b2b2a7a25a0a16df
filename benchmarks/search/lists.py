"""Comparison of result lists: the same query on the same commit must give the same list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Lists = Sequence[Sequence[Sequence[object]]]
"""The ids and scores of the list of each query."""


class ListsDiffer(Exception):
    """Two lists that must be equal differ; the message contains the first pair."""


def check_same(queries: Sequence[str], lists: Mapping[str, Lists]) -> int:
    """Compare ids and scores exactly; return the number of compared lists. Raises ListsDiffer.

    `lists` are the lists of all queries by their origin; the others are compared with the first.
    """
    (first, expected), *others = lists.items()
    for name, found in others:
        for query, right, other in zip(queries, expected, found, strict=True):
            if [list(hit) for hit in right] != [list(hit) for hit in other]:
                raise ListsDiffer(
                    f"two lists for {query!r} differ:\n{first}: {right}\n{name}: {other}",
                )
    return len(others) * len(queries)
