"""The text and the section that a call names, at their current or moved location.

`with_existing_text` and the error fields serve all tools that read texts. `section_name` names a section in
few characters, whatever its heading contains.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.arguments import InvalidArguments
from tools.examples import proposed_names
from tools.moved import FoundPlace, find_moved, with_moved_to
from tools.tool import Answer, Data, NextStep
from workspace.document.addresses import SectionNotFound, split_address
from workspace.errors import WorkspaceError
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tools.pages import TextPart
    from tools.read_context import ReadContext
    from tools.tool import Context, Given
    from workspace.history.moves import Moves
    from workspace.snapshot.snapshot import Snapshot
    from workspace.texts.headings import OutlineEntry, TextOutline
    from workspace.texts.text_file import TextFile


class OpenedText(NamedTuple):
    """A text with its outline, the section that was asked for, and where this has moved to if it has."""

    text: TextFile
    outline: TextOutline
    entry: OutlineEntry | None
    moved_to: dict[str, Any] | None

    def answer(self, place: ReadContext, data: Data, step: NextStep) -> Answer:
        """Return an answer that says what was read at which commit, and where that has moved to if it has."""
        ref = {} if place.ref is None else {"ref": place.ref}
        there = FoundPlace(self.text.path, self.entry.address if self.entry else None, self.moved_to)
        return Answer(
            with_moved_to(there, {**data, "commit": place.snapshot.commit, **ref, "next_step": step})
        )

    def shows(self, context: Context, part: TextPart[OutlineEntry]) -> None:
        """Note that the caller has seen a part of the text, so that it may be overwritten."""
        document = self.text.document
        if document is not None:
            seen = (document.section_by_key(entry.address) for entry in part.whole)
            context.shows(document, [section for section in seen if section is not None])


def open_text(
    moves: Callable[[], Moves], snapshot: Snapshot, file: str, wanted: str | None = None
) -> OpenedText:
    """Return the text at a path or an address, and the section of it that was named.

    Raises the errors of reading and finding if history has no other location for it.
    """
    from workspace.texts.finder import find_entry
    from workspace.texts.outline import read_outline
    from workspace.texts.text_file import normalize_path, read_text

    path, wanted = _target(snapshot, normalize_path(snapshot, file), wanted)
    moved_to = None
    try:
        text = read_text(snapshot, path)
    except DocumentNotFound:
        there = _find_moved(moves, snapshot, path, wanted)
        if there is None:
            raise
        text, wanted, moved_to = read_text(snapshot, there.file), there.slug, there.moved_to
    outline = read_outline(text)
    if wanted is None:
        return OpenedText(text, outline, None, moved_to)
    try:
        return OpenedText(text, outline, find_entry(text, outline, wanted), moved_to)
    except SectionNotFound:
        there = _find_moved(moves, snapshot, text.path, wanted)
        if there is None or there.slug is None:
            raise
        if there.file != text.path:
            text = read_text(snapshot, there.file)
            outline = read_outline(text)
        return OpenedText(text, outline, find_entry(text, outline, there.slug), there.moved_to)


def _find_moved(
    moves: Callable[[], Moves], snapshot: Snapshot, path: str, wanted: str | None
) -> FoundPlace | None:
    """Return where history knows it to be now; None where it knows of nothing."""
    try:
        return find_moved(moves, snapshot, path, wanted)
    except DocumentNotFound:  # what reading said of it is nearer to what was asked
        return None


def _target(snapshot: Snapshot, file: str, wanted: str | None) -> tuple[str, str | None]:
    """Return the path, and the section that either of two fields names.

    Raises InvalidArguments for two sections.
    """
    from workspace.texts.text_file import LazyFilePaths

    path, fragment = split_address(file, LazyFilePaths(snapshot)) if "#" in file else (file, None)
    if wanted is not None:
        wanted = wanted.strip().removeprefix(f"{path}#")
    if wanted and fragment and wanted != fragment:
        raise InvalidArguments(
            "'file_path' names one section and 'section_heading' another",
            fix="Put the path alone into 'file_path'.",
            field="file_path",
        )
    return path, wanted or fragment or None


_PATH = "file_path"
_HEADING = "section_heading"


def error_marker(given: Given) -> Mapping[str, object]:
    """Return the field by which a reader of the contract knows an error."""
    return {"type": "error"}


def missing_section_fields(given: Given) -> Mapping[str, object]:
    """Return the fields of an error about a section: no content, and the section as it was requested."""
    asked = given.get(_HEADING)
    return {"content": "", "type": "error", "section": asked[:500] if isinstance(asked, str) else ""}


def with_existing_text(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example whose file can be read at the tip and whose section is in it.

    A `ref` stays only where the error itself names sections that are there.
    """
    found = proposed_names(error)
    if _HEADING in example and error.code in ("SECTION_NOT_FOUND", "AMBIGUOUS_SECTION") and found:
        return {**example, _HEADING: found[0]}
    example = {name: value for name, value in example.items() if name != "ref"}
    for path in _paths(example, found, snapshot):
        with suppress(WorkspaceError):
            return _readable(example, path, snapshot)
    return example


def _paths(example: Data, found: Sequence[str], snapshot: Snapshot) -> Iterator[str]:
    """Yield the paths of files that the example may name, best first; all of a commit are listed last."""
    from workspace.document.addresses import split_address
    from workspace.texts.text_file import LazyFilePaths, normalize_path

    files = LazyFilePaths(snapshot)
    with suppress(WorkspaceError):
        path, _ = split_address(normalize_path(snapshot, str(example.get(_PATH, ""))), files)
        if path in files:  # why it is not is known already, and is dear to find out again
            yield path
    yield from found
    yield from islice(snapshot.documents, 1)


def _readable(example: Data, path: str, snapshot: Snapshot) -> Data:
    """Return the example for a file that is there. Raises WorkspaceError where it cannot be read."""
    from workspace.texts.finder import find_entry
    from workspace.texts.outline import read_outline
    from workspace.texts.text_file import read_text

    text = read_text(snapshot, path)
    example = {**example, _PATH: text.path}
    if _HEADING not in example:
        return example
    outline = read_outline(text)
    try:
        find_entry(text, outline, str(example[_HEADING]))
    except WorkspaceError:
        return {**example, _HEADING: outline.entries[-1].address} if outline.entries else example
    return example


MAX_ADDRESS = 1_000
"""Characters of an address that an answer repeats."""


def section_name(entry: OutlineEntry) -> str:
    """Return what read_section takes for a section: its address, or its number where that is far too long."""
    return entry.address if len(entry.address) <= MAX_ADDRESS else entry.number
