"""What a segment keeps of pages and sections beside their words, gathered page by page."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from index.segments.strings import Strings, encoded

if TYPE_CHECKING:
    from index.page import Page

COLUMNS = 8
"""The numbers of a section: position, place of its parent, start, heading_start, body, end, line, end_line.

The parent's place is its number among the sections of its page, by key; -1 if there is none.
"""

SHORTENED = b"\xff"
"""Begins a key that goes on after its parent's key and a slash; no UTF-8 holds this byte."""

_OWN = attrgetter("position", "start", "heading_start", "body", "end", "line", "end_line")


class Tables:
    """Pages in ascending order of path, and their sections in order of key."""

    def __init__(self) -> None:
        self._firsts = array("I", [0])
        # The numbers of sections but for the places of their parents, which are by themselves.
        self._numbers = array("i")
        self._parents = array("i")
        self._blobs = bytearray()
        self._paths, self._facets, self._keys, self._titles = Strings(), Strings(), Strings(), Strings()

    def __len__(self) -> int:
        """Count the pages."""
        return len(self._firsts) - 1

    def add(self, page: Page) -> None:
        sections = page.by_key
        places = {section.position: place for place, section in enumerate(sections)}
        keys: list[bytes] = []
        for section in sections:
            parent, key = section.parent, section.key
            keys.append(encoded(key) if parent is None else _shortened(key, page.sections[parent].key))
        self._numbers.extend(chain.from_iterable(map(_OWN, sections)))
        self._parents.extend(
            [-1 if section.parent is None else places[section.parent] for section in sections]
        )
        self._keys.extend(keys)
        self._titles.extend([encoded(section.title) for section in sections])
        self._paths.extend([encoded(page.path)])
        self._facets.extend([_facets(page.facets)])
        self._blobs += bytes.fromhex(page.blob)
        self._firsts.append(self._firsts[-1] + len(sections))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give the arrays of a segment that are not about words."""
        firsts = np.frombuffer(self._firsts, np.uint32)
        own = np.frombuffer(self._numbers, np.int32).reshape(-1, COLUMNS - 1)
        keys, key_offsets = self._keys.arrays()
        titles, title_offsets = self._titles.arrays()
        paths, path_offsets = self._paths.arrays()
        facets, facet_offsets = self._facets.arrays()
        return {
            "firsts": firsts,
            "page_of": np.repeat(np.arange(len(self), dtype=np.uint32), np.diff(firsts)),
            "numbers": np.insert(own, 1, np.frombuffer(self._parents, np.int32), axis=1),
            "keys": keys,
            "key_offsets": key_offsets,
            "titles": titles,
            "title_offsets": title_offsets,
            "paths": paths,
            "path_offsets": path_offsets,
            "blobs": np.frombuffer(self._blobs, np.uint8).reshape(len(self), -1),
            "facets": facets,
            "facet_offsets": facet_offsets,
        }


def _shortened(key: str, parent: str) -> bytes:
    return SHORTENED + encoded(key[len(parent) + 1 :]) if key.startswith(parent + "/") else encoded(key)


def _facets(facets: Mapping[str, tuple[str, ...]]) -> bytes:
    return json.dumps(dict(facets), separators=(",", ":")).encode() if facets else b""
