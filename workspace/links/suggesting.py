"""Suggestions: what a link that leads nowhere may have meant."""

from __future__ import annotations

import difflib
from itertools import islice
from typing import TYPE_CHECKING

from workspace.links.fragments import names_of
from workspace.links.resolver import Status
from workspace.links.targets import document_suffixes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from workspace.links.resolver import Resolved, World

# Comparing spellings takes time, a folder may hold thousands of files, and a page thousands of headings.
_COMPARED = 200
_LONGEST = 200
_BEGIN = 3
# Below this likeness (difflib's ratio) two names share letters, not a meaning.
_LIKENESS = 0.75


def suggest(world: World, resolved: Resolved) -> str | None:
    """The path or fragment that a broken link may have meant, the nearest there is; None if none is near.

    A path is relative to the repository's root, as `Target.path` is. In the same folder names that differ in
    letter case come first, then a document of the same name elsewhere, then names spelled alike.
    """
    target = resolved.target
    if target is None or not resolved.is_broken:
        return None
    if resolved.status is Status.MISSING_FILE:
        return _path(world, target.path)
    document = world.document(resolved.path) if resolved.path is not None else None
    if document is None or not target.fragment:
        return None
    return _alike(target.fragment, names_of(document, world.rules.dialect))


def _path(world: World, path: str) -> str | None:
    folder, _, name = path.rpartition("/")
    folder = _in_right_case(world, folder)
    inside: Collection[str] = ()
    if world.is_folder(folder):
        inside = world.entries(folder)
        wanted = (name.lower(), *(name.lower() + suffix for suffix in document_suffixes(world.rules)))
        same = [other for other in inside if other.lower() in wanted]
        if same:
            return f"{folder}/{same[0]}" if folder else same[0]
    elsewhere = [
        other
        for other in world.stems.get(name.rpartition(".")[0].lower() or name.lower(), ())
        if other.rpartition("/")[2].lower() == name.lower()
    ]
    if elsewhere:
        return min(elsewhere, key=lambda other: (-_shared(other, path), other))
    near = _alike(name, inside)
    return None if near is None else f"{folder}/{near}" if folder else near


def _in_right_case(world: World, folder: str) -> str:
    """A folder as it is spelled, where only letter case differs; else the folder as it is."""
    if world.is_folder(folder):
        return folder
    found = ""
    for part in folder.split("/"):
        inside = world.entries(found)
        if part not in inside:
            part = next((other for other in inside if other.lower() == part.lower()), "")
            if not part:
                return folder
        found = f"{found}/{part}" if found else part
    return found


def _shared(path: str, other: str) -> int:
    """How many folders two paths have in common, from the root on."""
    pairs = zip(path.split("/"), other.split("/"), strict=False)
    return next((number for number, (one, two) in enumerate(pairs) if one != two), 0)


def _alike(word: str, names: Iterable[str]) -> str | None:
    """Of some names, the one spelled most like a word; of very many, one of those that begin like it."""
    known = [name for name in names if name]
    same = next((name for name in known if name.lower() == word.lower()), None)
    if same is not None:
        return same
    if len(known) > _COMPARED:
        begin = word.lower()[:_BEGIN]
        known = list(islice((name for name in known if name.lower().startswith(begin)), _COMPARED))
    lowered = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower()[:_LONGEST], lowered, n=1, cutoff=_LIKENESS)
    return lowered[near[0]] if near else None
