"""Document types: the built-in types, and those of the workspace in `.docyard/templates/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templates import DocumentType, InvalidTemplate, builtin_types, parse_type
from workspace.config.toml import DEEP_KEY
from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest
from workspace.snapshot.type_names import (
    MAX_TYPES,
    TYPES_FOLDER,
    list_builtin_names,
    read_valid_config,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workspace.snapshot.snapshot import Snapshot

TYPE_FILES = ("type.toml", "document.md")
"""The files of a type's folder."""

_MAX_FILE_BYTES = 100_000
_MAX_SHOWN_LENGTH = 100


class UnknownType(WorkspaceError):
    """An error: no document type has this name. `valid_types` are the names of all types."""

    code = "UNKNOWN_TYPE"


class BrokenType(WorkspaceError):
    """An error: a type of the workspace cannot be read. `field` is the invalid field."""

    code = "INVALID_TEMPLATE"


def read_document_types(snapshot: Snapshot) -> Mapping[str, DocumentType | BrokenType]:
    """Return the types by name in display order; a workspace's own type replaces a built-in type."""
    types: dict[str, DocumentType | BrokenType] = {
        name: builtin_types()[name] for name in list_builtin_names(read_valid_config(snapshot))
    }
    folder = snapshot.entry(TYPES_FOLDER)
    if folder is None or not folder.is_tree:
        return types
    for entry in snapshot.git.tree(folder.id)[:MAX_TYPES]:
        if entry.is_tree:
            types[entry.name] = _read_workspace_type(snapshot, entry.name)
    return types


def read_document_type(snapshot: Snapshot, name: str) -> DocumentType:
    """Return the type with a name. Raises UnknownType, BrokenType."""
    types = read_document_types(snapshot)
    document_type = types.get(name)
    if document_type is None:
        nearest = find_nearest(name, types)
        short_name = name if len(name) <= _MAX_SHOWN_LENGTH else name[:_MAX_SHOWN_LENGTH] + "…"
        valid_names = [key for key, value in types.items() if isinstance(value, DocumentType)]
        raise UnknownType(
            f"Invalid doc_type: '{short_name}'",
            fix=f"Did you mean '{nearest[0]}'?" if nearest else f"Use one of: {', '.join(valid_names)}.",
            valid_types=valid_names,
        )
    if isinstance(document_type, BrokenType):
        raise document_type
    return document_type


def _read_workspace_type(snapshot: Snapshot, name: str) -> DocumentType | BrokenType:
    entries = ((file_name, snapshot.entry(f"{TYPES_FOLDER}/{name}/{file_name}")) for file_name in TYPE_FILES)
    blobs = {file_name: entry.id for file_name, entry in entries if entry is not None and entry.is_blob}
    git = snapshot.git
    sizes = {file_name: git.blob_size(blob) for file_name, blob in blobs.items()}
    return read_type(name, sizes, lambda file_name: git.blob(blobs[file_name]))


def read_type(
    name: str, sizes: Mapping[str, int], read_file: Callable[[str], bytes]
) -> DocumentType | BrokenType:
    """Return the type in a folder. `sizes` maps the names of the folder's files to their sizes in bytes.

    `read_file` returns the bytes of a file. A file of `TYPE_FILES` may be missing.
    """
    missing_files = [file_name for file_name in TYPE_FILES if file_name not in sizes]
    if missing_files:
        return BrokenType(
            f"the document type '{name}' has no {missing_files[0]}",
            fix=f"Add {TYPES_FOLDER}/{name}/{missing_files[0]} and commit it.",
        )
    large_files = [file_name for file_name, size in sizes.items() if size > _MAX_FILE_BYTES]
    if large_files:
        return BrokenType(
            f"{large_files[0]} of the document type '{name}' is over {_MAX_FILE_BYTES:,} bytes",
            fix=f"Shorten {TYPES_FOLDER}/{name}/{large_files[0]} and commit it.",
            limit=_MAX_FILE_BYTES,
        )
    contents = {file_name: read_file(file_name) for file_name in TYPE_FILES}
    if DEEP_KEY.search(contents["type.toml"]):
        return BrokenType(
            f"the document type '{name}' cannot be read: type.toml is nested too deeply",
            fix=f"Keep the values of {TYPES_FOLDER}/{name}/type.toml flat, and commit it.",
        )
    try:
        return parse_type(name, contents["type.toml"], contents["document.md"])
    except InvalidTemplate as error:
        return BrokenType(
            f"the document type '{name}' cannot be read: {error.field}: {error.message}",
            fix=f"Correct {TYPES_FOLDER}/{name}/ and commit it.",
            field=error.field,
        )
