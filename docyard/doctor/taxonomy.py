"""Checks of what searches can be filtered by: manifests, and the values that the index has of each key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from docyard.doctor.finding import Finding, Severity, count, some

if TYPE_CHECKING:
    from index.service import SearchIndex
    from workspace.snapshot.snapshot import Snapshot

_LARGE = 20_000
"""Bytes of keys and values in the definition of search_docs that an agent ought not to read each time."""


def check_manifests(snapshot: Snapshot) -> Iterator[Finding]:
    """The manifests of a commit that cannot be used."""
    for error in snapshot.manifest_problems():
        yield Finding(
            Severity.WARNING, "repository", f"{error.message}, so all that it says is left out", error.fix
        )


def check_values(index: SearchIndex) -> Iterator[Finding]:
    """The keys and values of the index that search_docs cannot list."""
    from index.storage.metadata import MAX_KEYS, MAX_VALUE_LENGTH, MAX_VALUES, is_listable

    listed: dict[str, list[str]] = {}
    for key, values in index.values().items():
        seen = [value for value in values if is_listable(value)]
        if len(seen) < len(values):
            hidden = [value for value in values if not is_listable(value)]
            yield Finding(
                Severity.NOTE,
                "index",
                f"{count(hidden, 'value of', 'values of')} {key} can be searched for and not listed: over "
                f"{MAX_VALUE_LENGTH} characters, or with some that cannot be seen",
                f"Shorten or mend them in the documents, if agents are to filter by {key}.",
            )
        if len(seen) > MAX_VALUES:
            yield Finding(
                Severity.NOTE,
                "index",
                f"{key} has {len(seen):,} values; search_docs lists up to {MAX_VALUES}, so it lists none of "
                "these, and answers a wrong one with the nearest",
            )
        listed[key] = seen if len(seen) <= MAX_VALUES else []
    if len(listed) > MAX_KEYS:
        yield Finding(
            Severity.NOTE,
            "index",
            f"the taxonomy has over {MAX_KEYS} keys, those of every workspace included; search_docs lists no "
            f"values of {some([*listed][MAX_KEYS:])}",
        )
    size = len(json.dumps(listed).encode())
    if size > _LARGE:
        yield Finding(
            Severity.NOTE,
            "index",
            f"the keys and values of the taxonomy take {size:,} bytes in the definition of search_docs, and "
            "agents read them in every conversation",
            "Declare fewer keys in docyard.toml, or give them fewer values.",
        )
