"""Completion of arguments, as a user types them: paths, addresses, refs, and arguments of prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools.tool import Context
    from workspace.snapshot.snapshot import Snapshot

MAX_CANDIDATES = 100
"""The largest number of candidates in a response (MCP, "Completion": at most 100)."""

_MAX_TYPED_CHARACTERS = 500


class Candidates(NamedTuple):
    """The best candidates, and the total number of candidates."""

    values: tuple[str, ...]
    total: int


NO_CANDIDATES = Candidates((), 0)


def rank_names(names: Iterable[str], typed_text: str) -> Candidates:
    """Return the names that begin with the typed text, then those that contain it; else the nearest names.

    Case is ignored.
    """
    if len(typed_text) > _MAX_TYPED_CHARACTERS:
        return NO_CANDIDATES
    unique_names = list(dict.fromkeys(names))
    folded_text = typed_text.casefold()
    prefix_matches: list[str] = []
    other_matches: list[str] = []
    for name in unique_names:
        position = name.casefold().find(folded_text)
        if position >= 0:
            (other_matches if position else prefix_matches).append(name)
    candidates = [*prefix_matches, *other_matches] or find_nearest(typed_text, unique_names)
    return Candidates(tuple(candidates[:MAX_CANDIDATES]), len(candidates))


def complete_path(context: Context, typed_text: str, arguments: Mapping[str, str]) -> Candidates:
    """Return the paths of documents; at a commit if `arguments` has a `ref`."""
    return rank_names(_resolve_snapshot(context, arguments).documents, typed_text)


def complete_section(context: Context, typed_text: str, arguments: Mapping[str, str]) -> Candidates:
    """Return the addresses of the sections of the document at the argument `path`.

    If no address contains the typed text, sections whose titles contain it are returned.
    """
    path = arguments.get("path", "")
    try:
        document = _resolve_snapshot(context, arguments).document(path)
    except WorkspaceError:
        return NO_CANDIDATES
    candidates = rank_names((section.key for section in document.sections), typed_text)
    folded_text = typed_text.strip().casefold()
    if (
        not folded_text
        or len(folded_text) > _MAX_TYPED_CHARACTERS
        or any(folded_text in value.casefold() for value in candidates.values)
    ):
        return candidates
    keys_with_matching_title = [
        section.key for section in document.sections if folded_text in section.title.casefold()
    ]
    return (
        Candidates(tuple(keys_with_matching_title[:MAX_CANDIDATES]), len(keys_with_matching_title))
        if keys_with_matching_title
        else candidates
    )


def complete_address(context: Context, typed_text: str, arguments: Mapping[str, str]) -> Candidates:
    """Return paths of documents; after a `#`, addresses of the document's sections."""
    path, separator, typed_section = typed_text.partition("#")
    if not separator:
        return complete_path(context, typed_text, arguments)
    candidates = complete_section(context, typed_section, {**arguments, "path": path})
    return candidates._replace(values=tuple(f"{path}#{value}" for value in candidates.values))


def complete_ref(context: Context, typed_text: str, arguments: Mapping[str, str]) -> Candidates:
    """Return HEAD, branches, tags, remote branches, and the ids of open proposals."""
    from workspace.revisions import list_ref_names

    return rank_names(list_ref_names(context.workspace.git), typed_text)


def complete_folder(context: Context, typed_text: str, arguments: Mapping[str, str]) -> Candidates:
    """Return the folders that contain documents."""
    folders = {
        "/".join(parts[:depth])
        for path in context.snapshot().documents
        if len(parts := path.split("/")) > 1
        for depth in range(1, len(parts))
    }
    return rank_names(sorted(folders), typed_text)


def complete_type(context: Context, typed_text: str, arguments: Mapping[str, str]) -> Candidates:
    """Return the names of the valid document types."""
    from workspace.snapshot.document_types import BrokenType, read_document_types

    types = read_document_types(context.snapshot())
    return rank_names(
        (name for name, document_type in types.items() if not isinstance(document_type, BrokenType)),
        typed_text,
    )


def _resolve_snapshot(context: Context, arguments: Mapping[str, str]) -> Snapshot:
    """Return the snapshot at the argument `ref`; the tip without a ref, or if the ref is incomplete."""
    if ref := arguments.get("ref"):
        try:
            return context.snapshot(ref)
        except WorkspaceError:
            pass
    return context.snapshot()
