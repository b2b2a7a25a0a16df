"""The union of two versions of the event files: each file of either is in it, and none is ever lost.

A name is given once, since it holds a digest of the file's bytes. If someone has given it again all the same,
the file whose blob has the least id keeps it, and each other one has its blob's id in its name beside it. So
the union is the same in whichever order, and however often, versions are brought together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

Files = Mapping[str, str]
"""The blob of each file of one folder, by its name."""

_SECOND_NAME = re.compile(r"((?:~[0-9a-f]{40})+)(?=\.json$|$)")


def first_name(name: str) -> str:
    """The name that a file was given first."""
    found = _SECOND_NAME.search(name)
    return name[: found.start()] + name[found.end() :] if found else name


def union(versions: Iterable[Files]) -> dict[str, str]:
    """All files of some versions of a folder, in order of names."""
    blobs: dict[str, set[str]] = {}
    for files in versions:
        for name, blob in files.items():
            blobs.setdefault(first_name(name), set()).add(blob)
    found: dict[str, str] = {}
    for name, ids in blobs.items():
        least, *others = sorted(ids)
        found[name] = least
        found.update((_second_name(name, blob), blob) for blob in others)
    return dict(sorted(found.items()))


def _second_name(name: str, blob: str) -> str:
    stem, extension = (name[:-5], ".json") if name.endswith(".json") else (name, "")
    return f"{stem}~{blob}{extension}"
