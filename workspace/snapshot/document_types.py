"""Document types: those that are built in, and those that the workspace keeps under `.docyard/templates/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templates import DocumentType, InvalidTemplate, builtin_types, parse_type
from workspace.config.toml import DEEP_KEY
from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workspace.snapshot.snapshot import Snapshot

FOLDER = ".docyard/templates"
PARTS = ("type.toml", "document.md")
"""The files of a type's folder."""

MAX_TYPES = 64
_MAX_BYTES = 100_000


class UnknownType(WorkspaceError):
    """No document type has this name. `valid_types` are those that exist."""

    code = "UNKNOWN_TYPE"


class BrokenType(WorkspaceError):
    """A type of the workspace cannot be read. `field` is the invalid field."""

    code = "INVALID_TEMPLATE"


def read_types(snapshot: Snapshot) -> Mapping[str, DocumentType | BrokenType]:
    """Return the types by name in display order; a workspace's own type replaces a built-in one."""
    types: dict[str, DocumentType | BrokenType] = dict(builtin_types())
    folder = snapshot.entry(FOLDER)
    if folder is None or not folder.is_tree:
        return types
    for entry in snapshot.git.tree(folder.id)[:MAX_TYPES]:
        if entry.is_tree:
            types[entry.name] = _read(snapshot, entry.name)
    return types


def read_type_named(snapshot: Snapshot, name: str) -> DocumentType:
    """Return the type of a name. Raises UnknownType, BrokenType."""
    types = read_types(snapshot)
    found = types.get(name)
    if found is None:
        close = find_nearest(name, types)
        shown = name if len(name) <= 100 else name[:100] + "…"
        raise UnknownType(
            f"Invalid doc_type: '{shown}'",
            fix=f"Did you mean '{close[0]}'?" if close else "Use one of valid_types.",
            valid_types=[key for key, value in types.items() if isinstance(value, DocumentType)],
        )
    if isinstance(found, BrokenType):
        raise found
    return found


def _read(snapshot: Snapshot, name: str) -> DocumentType | BrokenType:
    found = ((part, snapshot.entry(f"{FOLDER}/{name}/{part}")) for part in PARTS)
    blobs = {part: entry.id for part, entry in found if entry is not None and entry.is_blob}
    git = snapshot.git
    sizes = {part: git.blob_size(blob) for part, blob in blobs.items()}
    return read_type(name, sizes, lambda part: git.blob(blobs[part]))


def read_type(name: str, sizes: Mapping[str, int], read: Callable[[str], bytes]) -> DocumentType | BrokenType:
    """Return the type of a folder that has some of `PARTS`, with their sizes in bytes; `read` reads one."""
    missing = [part for part in PARTS if part not in sizes]
    if missing:
        return BrokenType(
            f"the document type '{name}' has no {missing[0]}",
            fix=f"Add {FOLDER}/{name}/{missing[0]} and commit it.",
        )
    large = [part for part, size in sizes.items() if size > _MAX_BYTES]
    if large:
        return BrokenType(
            f"{large[0]} of the document type '{name}' is over {_MAX_BYTES:,} bytes",
            fix=f"Shorten {FOLDER}/{name}/{large[0]} and commit it.",
            limit=_MAX_BYTES,
        )
    data = {part: read(part) for part in PARTS}
    if DEEP_KEY.search(data["type.toml"]):
        return BrokenType(
            f"the document type '{name}' cannot be read: type.toml is nested too deeply",
            fix=f"Keep the values of {FOLDER}/{name}/type.toml flat, and commit it.",
        )
    try:
        return parse_type(name, data["type.toml"], data["document.md"])
    except InvalidTemplate as error:
        return BrokenType(
            f"the document type '{name}' cannot be read: {error.field}: {error.message}",
            fix=f"Correct {FOLDER}/{name}/ and commit it.",
            field=error.field,
        )
