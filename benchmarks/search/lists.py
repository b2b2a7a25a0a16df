"""The same question on the same commit always gets the same list, or a run fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Lists = Sequence[Sequence[Sequence[object]]]
"""For each query the ids and scores of its list."""


class ListsDiffer(Exception):
    """Two lists that must be equal are not; the message has the first of them."""


def check_same(queries: Sequence[str], lists: Mapping[str, Lists]) -> int:
    """Compare ids and scores, exactly; returns how many lists were compared. Raises ListsDiffer.

    `lists` are those of all queries, by where they come from; the first is what the others are held against.
    """
    (first, expected), *others = lists.items()
    for name, found in others:
        for query, right, other in zip(queries, expected, found, strict=True):
            if [list(hit) for hit in right] != [list(hit) for hit in other]:
                raise ListsDiffer(
                    f"two lists for {query!r} differ:\n{first}: {right}\n{name}: {other}",
                )
    return len(others) * len(queries)
