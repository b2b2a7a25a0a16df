"""Candidates for what a person begins to type: paths, addresses, refs, and arguments of prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools.tool import Context
    from workspace.snapshot.snapshot import Snapshot

MOST = 100
"""Candidates in one answer (MCP, "Completion": at most 100)."""

_LONGEST = 500  # characters of a beginning; nobody types more


class Candidates(NamedTuple):
    """The best candidates, and how many there are in all."""

    values: tuple[str, ...]
    total: int


NONE = Candidates((), 0)


def rank_names(names: Iterable[str], typed: str) -> Candidates:
    """Return the names that begin with the typed text, then those that contain it.

    If there are none, the nearest.

    Case does not count.
    """
    if len(typed) > _LONGEST:
        return NONE
    known = list(dict.fromkeys(names))
    wanted = typed.casefold()
    begin: list[str] = []
    hold: list[str] = []
    for name in known:
        place = name.casefold().find(wanted)
        if place >= 0:
            (hold if place else begin).append(name)
    found = [*begin, *hold] or find_nearest(typed, known)
    return Candidates(tuple(found[:MOST]), len(found))


def complete_path(context: Context, typed: str, given: Mapping[str, str]) -> Candidates:
    """Return the paths of documents; at a commit if `given` has a `ref`."""
    return rank_names(_snapshot(context, given).documents, typed)


def complete_section(context: Context, typed: str, given: Mapping[str, str]) -> Candidates:
    """Return the addresses of the sections of the document that `given` has as its `path`.

    An address whose heading begins with what was typed, or holds it, is a candidate too.
    """
    path = given.get("path", "")
    try:
        document = _snapshot(context, given).document(path)
    except WorkspaceError:
        return NONE
    found = rank_names((section.key for section in document.sections), typed)
    wanted = typed.strip().casefold()
    if not wanted or len(wanted) > _LONGEST or any(wanted in value.casefold() for value in found.values):
        return found
    titled = [section.key for section in document.sections if wanted in section.title.casefold()]
    return Candidates(tuple(titled[:MOST]), len(titled)) if titled else found


def complete_address(context: Context, typed: str, given: Mapping[str, str]) -> Candidates:
    """Return paths of documents; after a `#`, the addresses of the sections of that document."""
    path, mark, section = typed.partition("#")
    if not mark:
        return complete_path(context, typed, given)
    found = complete_section(context, section, {**given, "path": path})
    return found._replace(values=tuple(f"{path}#{value}" for value in found.values))


def complete_ref(context: Context, typed: str, given: Mapping[str, str]) -> Candidates:
    """Return HEAD, branches, tags, remote branches, and the ids of open proposals."""
    from workspace.revisions import list_ref_names

    return rank_names(list_ref_names(context.workspace.git), typed)


def complete_folder(context: Context, typed: str, given: Mapping[str, str]) -> Candidates:
    """Return the folders that hold documents."""
    folders = {
        "/".join(parts[:depth])
        for path in context.snapshot().documents
        if len(parts := path.split("/")) > 1
        for depth in range(1, len(parts))
    }
    return rank_names(sorted(folders), typed)


def complete_type(context: Context, typed: str, given: Mapping[str, str]) -> Candidates:
    """Return the types that a new document may have."""
    from workspace.snapshot.document_types import BrokenType, read_types

    types = read_types(context.snapshot())
    return rank_names((name for name, found in types.items() if not isinstance(found, BrokenType)), typed)


def _snapshot(context: Context, given: Mapping[str, str]) -> Snapshot:
    """Return the commit of a `ref`, else the tip; also the tip if the ref is incomplete."""
    if ref := given.get("ref"):
        try:
            return context.snapshot(ref)
        except WorkspaceError:
            pass
    return context.snapshot()
