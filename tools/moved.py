"""Moved addresses: an old address in a call is resolved to its current location.

A read returns the new location and reports it as `moved_to`. A write is refused, because the current text may
differ from the text that the caller read; the error names the new address and a call with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.arguments import resolve_target
from tools.tool import NextStep
from workspace.document.addresses import find_sections_by_name, read_fragment
from workspace.errors import WorkspaceError
from workspace.paths import CONTROL, MAX_PATH
from workspace.snapshot.snapshot import NotCommitted

if TYPE_CHECKING:
    from tools.tool import Context
    from workspace.history.moves import Move, Moves
    from workspace.snapshot.snapshot import Snapshot

_LONGEST = 2_000  # characters of a section's address that is looked for in the history
_GONE = frozenset(("DOCUMENT_NOT_FOUND", "SECTION_NOT_FOUND", "TASK_NOT_FOUND"))

# Where a call may name something: a field for the file, and one for the section or task in it.
_PLACES: tuple[tuple[str, str | None], ...] = (
    ("path", None),
    ("file", "slug"),
    ("to_file", "parent_slug"),
    ("file", "parent_slug"),
    ("file", "to_slug"),
    ("file", "before"),
    ("file", "after"),
    ("file", None),
)


class FoundPlace(NamedTuple):
    """Where something is: a document's path, and the address of a section or task in it (None: all of it).

    `moved_to` is None where it stands as it was named. Else it is what an answer says of it: `file`, `slug`
    (None for a document) and the `commit` that moved it last (None where only a list of moves tells).
    """

    file: str
    slug: str | None
    moved_to: dict[str, str | None] | None

    @property
    def address(self) -> str:
        """The whole address: a path, or a path, `#` and what is in it."""
        return f"{self.file}#{self.slug}" if self.slug else self.file


class RedirectedCall(NamedTuple):
    """Where something is that a call named by an address of before, and the fields that name it now."""

    there: FoundPlace
    given: Mapping[str, object]


def find_for_reading(context: Context, snapshot: Snapshot, file: str, slug: str | None) -> FoundPlace:
    """Return the location to read: the named one, its current location if it moved, else the name unchanged.

    Raises the errors of reading the document, but none for an address that does not exist.
    """
    return find_moved(context.workspace.moves, snapshot, file, slug) or FoundPlace(file, slug, None)


def with_moved_to(there: FoundPlace, data: dict[str, Any]) -> dict[str, Any]:
    """Return an answer with the current location of what it shows, if it has moved."""
    if there.moved_to is None:
        return data
    step = NextStep(f"Use '{there.address}' from now on, where this has moved. ", data["next_step"])
    return {**data, "moved_to": there.moved_to, "next_step": step}


def find_moved(
    moves: Callable[[], Moves], snapshot: Snapshot, file: str, slug: str | None
) -> FoundPlace | None:
    """Return the current location of an old address; None if it exists, or never moved."""
    if not 0 < len(file) <= MAX_PATH or len(slug or "") > _LONGEST or CONTROL.search(f"{file}{slug}"):
        return None
    wanted = None if slug is None else read_fragment(slug)
    section = wanted.section if wanted else None
    entry = snapshot.entry(file)
    if section == "" or (entry is not None and _has_section(snapshot, file, section)):
        return None
    move = moves().find(snapshot, file, section)
    if move is None and section is not None and entry is None:
        move = _with_document(moves(), snapshot, file, section)
    if move is None or (entry is None and isinstance(snapshot.not_found(file), NotCommitted)):
        return None
    now = f"{move.fragment}[{wanted.task}]" if wanted and wanted.task is not None else move.fragment
    return FoundPlace(move.path, now, {"file": move.path, "slug": now, "commit": move.commit})


def redirect_call(
    error: WorkspaceError, given: Mapping[str, object], snapshot: Snapshot, moves: Callable[[], Moves]
) -> RedirectedCall | None:
    """Return the same call at the current address, if its error may come from an old one."""
    if error.code not in _GONE:
        return None
    for file_field, slug_field in _PLACES:
        file, slug = given.get(file_field), given.get(slug_field) if slug_field else None
        if not isinstance(file, str) or (slug_field and not isinstance(slug, str)):
            continue
        with suppress(WorkspaceError):  # the call has an error of its own already
            there = find_moved(
                moves, snapshot, *resolve_target(snapshot, file, slug if isinstance(slug, str) else None)
            )
            if there is not None:
                return RedirectedCall(there, _correct_fields(given, file_field, slug_field, there))
    return None


def _correct_fields(
    given: Mapping[str, object], file_field: str, slug_field: str | None, there: FoundPlace
) -> Mapping[str, object]:
    """Return the fields of a call with the new place of what one or two of them named."""
    if slug_field not in (None, "slug") and there.file != given[file_field]:
        return given  # the section that is worked on stands in the other file still
    if there.slug is None:
        return {**given, file_field: there.file}
    others = {name: value for name, value in given.items() if name != file_field}
    return {
        **others,
        "file" if file_field == "path" else file_field: there.file,
        slug_field or "slug": there.slug,
    }


def _has_section(snapshot: Snapshot, file: str, section: str | None) -> bool:
    """Return True if the file at a path has a section; files that are not documents have none."""
    if section is None or not snapshot.config.is_document(file):
        return True
    return bool(find_sections_by_name(snapshot.document(file), section))


def _with_document(moves: Moves, snapshot: Snapshot, file: str, section: str) -> Move | None:
    """Return a section that is younger than the path of its document, by the path that this had before."""
    move = moves.find(snapshot, file)
    if move is None:
        return None
    named = find_sections_by_name(snapshot.document(move.path), section)
    return move._replace(fragment=named[0].key) if len(named) == 1 else None
