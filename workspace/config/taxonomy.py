"""The keys by which searches can be filtered, and what a document's front matter and place say of each.

A value comes from the front matter; else from the nearest manifest above the document, there from the last
override that matches, else from its defaults (`workspace.manifests`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from workspace.frontmatter import as_text

if TYPE_CHECKING:
    from workspace.config.manifests import Manifest

MANIFEST = ".taxonomy.toml"
BUILT_IN = ("type", "tags")
"""The keys of every workspace."""

KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
"""What hosts take as the name of a property."""

RESERVED = ("query", "limit", "cursor", "ref", "path")
"""What a key cannot be called: a search has parameters of these names."""

MAX_KEYS = 64
MAX_VALUES = 64
"""Values of one key that one document has at most; further ones are left out."""

Values = Mapping[str, tuple[str, ...]]
"""The values of each key that has any."""


class Taxonomy(NamedTuple):
    """The keys, each with its description, and the manifests by folder (`""` is the top one)."""

    keys: Mapping[str, str | None]
    manifest_in: Callable[[str], Manifest | None]

    def gathered(self, folders: Iterable[str]) -> Taxonomy:
        """The same, with the manifests of these folders at hand; this one can go to another process."""
        found = ((folder, self.manifest_in(folder)) for folder in folders)
        return Taxonomy(self.keys, {folder: manifest for folder, manifest in found if manifest}.get)

    def governed(self, path: str) -> Values:
        """What the nearest manifest says of a document; nothing if there is none above it."""
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            manifest = self.manifest_in(folder)
            if manifest is not None:
                return manifest.values(path[len(folder) + 1 :] if folder else path)
        return {}

    def values(self, path: str, front_matter: Mapping[str, object]) -> Values:
        """The values of a document, by key."""
        governed = self.governed(path)
        found = {key: read_values(key, front_matter.get(key)) or governed.get(key, ()) for key in self.keys}
        return {key: values for key, values in found.items() if values}


def read_values(key: str, value: object) -> tuple[str, ...]:
    """The texts of a value, or of each in a list, in order and once each; `tags` are parted at commas."""
    if key == "tags" and isinstance(value, str):
        value = value.split(",")
    items = value if isinstance(value, list) else [value]
    texts = dict.fromkeys(text for text in map(_text, items) if text)
    return tuple(texts)[:MAX_VALUES]


def _text(value: object) -> str | None:
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat()
        case bytes():
            return None
        case _:
            return as_text(value)
