"""Filters: which documents of a segment may answer at all."""

from __future__ import annotations

from fnmatch import fnmatchcase

from index.generation import PATH, Part
from index.ranking import Filter


def by_value(key: str, value: str) -> Filter:
    """Keep the chunks that have this value, among others perhaps, for a taxonomy key."""

    def choose(part: Part) -> set[int]:
        return set(part.live(key, value))

    return choose


def by_path(pattern: str) -> Filter:
    """Keep the chunks of a document, of a folder, or of what a glob matches (`*` crosses folders)."""
    wanted = pattern.strip("/")

    def matches(path: str) -> bool:
        return not wanted or path == wanted or path.startswith(wanted + "/") or fnmatchcase(path, wanted)

    def choose(part: Part) -> set[int]:
        paths = filter(matches, part.segment.terms(PATH))
        return {document for path in paths for document in part.live(PATH, path)}

    return choose
