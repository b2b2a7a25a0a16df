"""Moved addresses: what a call names by an address of before is found where it stands now.

Who reads is answered with the new place, and told so by `moved_to`. Who writes is refused, since the words
that are to go may be others than those that were seen; the error names the new address, and a call with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.arguments import target
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


class Found(NamedTuple):
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


class Redirected(NamedTuple):
    """Where something is that a call named by an address of before, and the fields that name it now."""

    there: Found
    given: Mapping[str, object]


def found(context: Context, snapshot: Snapshot, file: str, slug: str | None) -> Found:
    """What a reader is to read: what was named, or where that has moved to; without a trace, what was named.

    Raises what reading the document raises, but nothing for an address that leads nowhere.
    """
    return moved(context.workspace.moves, snapshot, file, slug) or Found(file, slug, None)


def told(there: Found, data: dict[str, Any]) -> dict[str, Any]:
    """Return an answer, in which it is said where what it shows has moved to, if it has."""
    if there.moved_to is None:
        return data
    step = NextStep(f"Use '{there.address}' from now on, where this has moved. ", data["next_step"])
    return {**data, "moved_to": there.moved_to, "next_step": step}


def moved(moves: Callable[[], Moves], snapshot: Snapshot, file: str, slug: str | None) -> Found | None:
    """Return where an address leads that names nothing at a snapshot; None if it does, or was never moved."""
    if not 0 < len(file) <= MAX_PATH or len(slug or "") > _LONGEST or CONTROL.search(f"{file}{slug}"):
        return None
    wanted = None if slug is None else read_fragment(slug)
    section = wanted.section if wanted else None
    entry = snapshot.entry(file)
    if section == "" or (entry is not None and _stands(snapshot, file, section)):
        return None
    move = moves().find(snapshot, file, section)
    if move is None and section is not None and entry is None:
        move = _with_document(moves(), snapshot, file, section)
    if move is None or (entry is None and isinstance(snapshot.not_found(file), NotCommitted)):
        return None
    now = f"{move.fragment}[{wanted.task}]" if wanted and wanted.task is not None else move.fragment
    return Found(move.path, now, {"file": move.path, "slug": now, "commit": move.commit})


def redirected(
    error: WorkspaceError, given: Mapping[str, object], snapshot: Snapshot, moves: Callable[[], Moves]
) -> Redirected | None:
    """Return the same call with the address of now, after an error that may come from one of before."""
    if error.code not in _GONE:
        return None
    for file_field, slug_field in _PLACES:
        file, slug = given.get(file_field), given.get(slug_field) if slug_field else None
        if not isinstance(file, str) or (slug_field and not isinstance(slug, str)):
            continue
        with suppress(WorkspaceError):  # the call has an error of its own already
            there = moved(moves, snapshot, *target(snapshot, file, slug if isinstance(slug, str) else None))
            if there is not None:
                return Redirected(there, _corrected(given, file_field, slug_field, there))
    return None


def _corrected(
    given: Mapping[str, object], file_field: str, slug_field: str | None, there: Found
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


def _stands(snapshot: Snapshot, file: str, section: str | None) -> bool:
    """Whether what is at a path has a section; files that are no documents have none to look for here."""
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
