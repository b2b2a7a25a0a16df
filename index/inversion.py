"""Documents come in with their terms; terms go out with their documents."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator


class Inversion:
    """Posting lists in the making: one list of documents and one of weights for each term of each field.

    A posting costs eight bytes here, so a whole corpus is inverted without temporary files.
    """

    def __init__(self) -> None:
        self._fields: dict[str, dict[str, tuple[array[int], array[float]]]] = {}

    def add(self, field: str, document: int, terms: Iterable[tuple[str, float]]) -> None:
        """Add a document's terms; documents come in ascending order."""
        lists = self._fields.setdefault(field, {})
        for term, weight in terms:
            found = lists.get(term)
            if found is None:
                found = lists[term] = (array("I"), array("f"))
            found[0].append(document)
            found[1].append(weight)

    def __iter__(self) -> Iterator[tuple[str, list[tuple[str, array[int], array[float]]]]]:
        """Give each field in order with its terms in order, each list by ascending document."""
        for field, lists in sorted(self._fields.items()):
            yield field, [(term, *_ascending(*lists[term])) for term in sorted(lists)]


def _ascending(ids: array[int], weights: array[float]) -> tuple[array[int], array[float]]:
    # Segments that are merged in come with documents of their own after the new ones.
    if all(ids[i] < ids[i + 1] for i in range(len(ids) - 1)):
        return ids, weights
    pairs = sorted(zip(ids, weights, strict=True))
    return array("I", (number for number, _ in pairs)), array("f", (weight for _, weight in pairs))
