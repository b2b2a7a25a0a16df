"""What `metadata.json` says of an index: its figures, and the values by which it can be filtered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from index.storage.metadata import (
    MAX_KEYS,
    MAX_VALUES,
    VERSION,
    Facet,
    Metadata,
    Stats,
    is_listable,
    one_line,
)
from workspace.config.taxonomy import BUILT_IN

if TYPE_CHECKING:
    from index.port import State


def describe(
    state: State,
    values: Mapping[str, Collection[str]],
    corpus_description: str,
    descriptions: Mapping[str, str | None],
) -> Metadata:
    """Tell of an index by its state and the values found of each taxonomy key.

    `descriptions` names the keys, in their order, with what is said of each; of more than 64 the first count.
    A built-in key of which nothing is said or found is left out.
    """
    told = [key for key, text in descriptions.items() if key not in BUILT_IN or text or values.get(key)]
    taxonomy = {key: facet(values.get(key, ()), descriptions[key]) for key in told[:MAX_KEYS]}
    return Metadata(
        metadata_version=VERSION,
        corpus_description=corpus_description,
        taxonomy=taxonomy,
        stats=Stats(
            total_chunks=state.chunks,
            total_files=state.files,
            indexed_at=state.indexed_at,
            source_commit=state.commit,
        ),
    )


def facet(values: Iterable[str], description: str | None = None) -> Facet:
    """Make a facet of the values found; it lists none where there are so many that they cannot be an enum.

    Values that are too long, or hold characters that cannot be seen, stay searchable but are not listed.
    """
    found = frozenset(values)
    return _facet(found, description) if len(found) <= MAX_VALUES else _facet_of_many(found, description)


def _facet_of_many(values: Iterable[str], description: str | None) -> Facet:
    listed: set[str] = set()
    for value in values:
        if is_listable(trimmed := value.strip()):
            listed.add(trimmed)
            if len(listed) > MAX_VALUES:
                return Facet(description=description, values=())
    return Facet(description=description, values=tuple(listed))


# A commit changes the values of few keys, and tens of thousands of others need not be looked at again.
_facet = lru_cache(maxsize=2 * MAX_KEYS)(_facet_of_many)


def corpus_description(configured: str | None, name: str) -> str:
    """Return one line about the documents: the settings' own, else "documentation of NAME"."""
    return one_line(configured or "") or one_line(f"documentation of {name}")
