"""Document types: those that are built in, and those that the workspace keeps under `.docyard/templates/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templates import DocumentType, InvalidTemplate, builtin_types, parse_type
from workspace.addresses import nearest
from workspace.errors import WorkspaceError
from workspace.toml import DEEP_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.snapshot import Snapshot

FOLDER = ".docyard/templates"
_MAX_TYPES = 64
_MAX_BYTES = 100_000


class UnknownType(WorkspaceError):
    """No document type has this name. `valid_types` are those that exist."""

    code = "UNKNOWN_TYPE"


class BrokenType(WorkspaceError):
    """A type of the workspace cannot be read. `field` says where it is wrong."""

    code = "INVALID_TEMPLATE"


def document_types(snapshot: Snapshot) -> Mapping[str, DocumentType | BrokenType]:
    """The types by name, in the order to list them in; a workspace's own type replaces a built-in one."""
    types: dict[str, DocumentType | BrokenType] = dict(builtin_types())
    folder = snapshot.entry(FOLDER)
    if folder is None or not folder.is_tree:
        return types
    for entry in snapshot.git.tree(folder.id)[:_MAX_TYPES]:
        if entry.is_tree:
            types[entry.name] = _read(snapshot, entry.name)
    return types


def document_type(snapshot: Snapshot, name: str) -> DocumentType:
    """The type of a name. Raises UnknownType, BrokenType."""
    types = document_types(snapshot)
    found = types.get(name)
    if found is None:
        close = nearest(name, types)
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
    files = {part: snapshot.entry(f"{FOLDER}/{name}/{part}") for part in ("type.toml", "document.md")}
    missing = [part for part, entry in files.items() if entry is None or not entry.is_blob]
    if missing:
        return BrokenType(
            f"the document type '{name}' has no {missing[0]}",
            fix=f"Add {FOLDER}/{name}/{missing[0]} and commit it.",
        )
    large = [part for part, entry in files.items() if entry and snapshot.git.blob_size(entry.id) > _MAX_BYTES]
    if large:
        return BrokenType(
            f"{large[0]} of the document type '{name}' is over {_MAX_BYTES:,} bytes",
            fix=f"Shorten {FOLDER}/{name}/{large[0]} and commit it.",
            limit=_MAX_BYTES,
        )
    data = {part: snapshot.git.blob(entry.id) for part, entry in files.items() if entry}
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
            fix=f"Mend {FOLDER}/{name}/ and commit it.",
            field=error.field,
        )
