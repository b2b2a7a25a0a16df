"""Resolution of an old address in a call to its current location.

A read returns the text at the new location and reports `moved_to`. A write is refused, because the current
text may differ from the text that the caller read. The error contains a call with the new address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.arguments import resolve_target
from tools.tool import NextStep
from workspace.document.addresses import find_sections_by_name, read_fragment
from workspace.errors import WorkspaceError
from workspace.paths import CONTROL, MAX_PATH_BYTES
from workspace.snapshot.snapshot import NotCommitted

if TYPE_CHECKING:
    from tools.tool import Context
    from workspace.history.moves import Move, Moves
    from workspace.snapshot.snapshot import Snapshot

_MAX_ADDRESS_CHARACTERS = 2_000  # longer addresses are not searched for in the history
_NOT_FOUND_CODES = frozenset(("DOCUMENT_NOT_FOUND", "SECTION_NOT_FOUND", "TASK_NOT_FOUND"))

# The pairs of fields that form an address: a file, and a section or task in it.
_ADDRESS_FIELDS: tuple[tuple[str, str | None], ...] = (
    ("path", None),
    ("file", "slug"),
    ("to_file", "parent_slug"),
    ("file", "parent_slug"),
    ("file", "to_slug"),
    ("file", "before"),
    ("file", "after"),
    ("file", None),
)


class Location(NamedTuple):
    """A location: a document's path, and the address of a section or task in it (None: the document).

    `moved_to` is None if the requested address is current. Else it is a field of the answer, with `file`,
    `slug` (None for a document) and `commit`. The commit moved the address last; it is None if only a list
    of moves contains the address.
    """

    file: str
    slug: str | None
    moved_to: dict[str, str | None] | None

    @property
    def address(self) -> str:
        """Return the full address: a path, or a path, `#` and a slug."""
        return f"{self.file}#{self.slug}" if self.slug else self.file


class RedirectedCall(NamedTuple):
    """The current location of an old address, and the call's arguments with the current address."""

    location: Location
    arguments: Mapping[str, object]


def find_current_location(context: Context, snapshot: Snapshot, file: str, slug: str | None) -> Location:
    """Return the current location of an address; the address itself if it did not move.

    Raises the errors of reading the document, but no error for an address that does not exist.
    """
    return find_moved_location(context.workspace.moves, snapshot, file, slug) or Location(file, slug, None)


def with_moved_to(location: Location, data: dict[str, Any]) -> dict[str, Any]:
    """Return an answer's data with the field `moved_to`, if the location has moved."""
    if location.moved_to is None:
        return data
    step = NextStep(f"Use '{location.address}' from now on: it was moved. ", data["next_step"])
    return {**data, "moved_to": location.moved_to, "next_step": step}


def find_moved_location(
    moves: Callable[[], Moves], snapshot: Snapshot, file: str, slug: str | None
) -> Location | None:
    """Return the current location of an old address; None if the address exists or never moved."""
    if (
        not 0 < len(file) <= MAX_PATH_BYTES
        or len(slug or "") > _MAX_ADDRESS_CHARACTERS
        or CONTROL.search(f"{file}{slug}")
    ):
        return None
    fragment = None if slug is None else read_fragment(slug)
    section = fragment.section if fragment else None
    entry = snapshot.entry(file)
    if section == "" or (entry is not None and _has_section(snapshot, file, section)):
        return None
    move = moves().find(snapshot, file, section)
    if move is None and section is not None and entry is None:
        move = _find_section_of_moved_document(moves(), snapshot, file, section)
    if move is None or (entry is None and isinstance(snapshot.not_found_error(file), NotCommitted)):
        return None
    new_slug = (
        f"{move.fragment}[{fragment.task}]" if fragment and fragment.task is not None else move.fragment
    )
    return Location(move.path, new_slug, {"file": move.path, "slug": new_slug, "commit": move.commit})


def redirect_call(
    error: WorkspaceError, arguments: Mapping[str, object], snapshot: Snapshot, moves: Callable[[], Moves]
) -> RedirectedCall | None:
    """Return a failed call with the current address; None if no address in it has moved."""
    if error.code not in _NOT_FOUND_CODES:
        return None
    for file_field, slug_field in _ADDRESS_FIELDS:
        file, slug = arguments.get(file_field), arguments.get(slug_field) if slug_field else None
        if not isinstance(file, str) or (slug_field and not isinstance(slug, str)):
            continue
        with suppress(WorkspaceError):  # the call already has an error
            location = find_moved_location(
                moves, snapshot, *resolve_target(snapshot, file, slug if isinstance(slug, str) else None)
            )
            if location is not None:
                return RedirectedCall(location, _correct_fields(arguments, file_field, slug_field, location))
    return None


def _correct_fields(
    arguments: Mapping[str, object], file_field: str, slug_field: str | None, location: Location
) -> Mapping[str, object]:
    """Return the arguments of a call with the new address in one or two fields."""
    if slug_field not in (None, "slug") and location.file != arguments[file_field]:
        return arguments  # the section of the operation is still in the other file
    if location.slug is None:
        return {**arguments, file_field: location.file}
    other_fields = {name: value for name, value in arguments.items() if name != file_field}
    return {
        **other_fields,
        "file" if file_field == "path" else file_field: location.file,
        slug_field or "slug": location.slug,
    }


def _has_section(snapshot: Snapshot, file: str, section: str | None) -> bool:
    """Return True if a file has a section. Files that are not documents count as having every section."""
    if section is None or not snapshot.config.is_document(file):
        return True
    return bool(find_sections_by_name(snapshot.document(file), section))


def _find_section_of_moved_document(moves: Moves, snapshot: Snapshot, file: str, section: str) -> Move | None:
    """Return the move of a section that was added to a document after the document was moved from `file`."""
    move = moves.find(snapshot, file)
    if move is None:
        return None
    sections = find_sections_by_name(snapshot.document(move.path), section)
    return move._replace(fragment=sections[0].key) if len(sections) == 1 else None
