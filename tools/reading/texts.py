"""The text and the section that a call names, at their current or moved location.

All tools that read texts use `correct_text_names` and the error fields. `get_section_name` returns a short
name of a section for any heading.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.arguments import InvalidArguments
from tools.examples import list_suggested_names
from tools.redirects import add_moved_to
from tools.tool import Answer, Data
from workspace.document.addresses import SectionNotFound, split_address
from workspace.errors import WorkspaceError
from workspace.history.moved_addresses import Location, find_moved_location
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tools.pages import TextPart
    from tools.read_context import ReadContext
    from tools.tool import CallArguments, Context
    from workspace.history.moved_addresses import Moves
    from workspace.snapshot.snapshot import Snapshot
    from workspace.texts.headings import OutlineEntry, TextOutline
    from workspace.texts.text_file import TextFile


class OpenedText(NamedTuple):
    """A text with its outline, the requested section, and its current location if it was moved."""

    text: TextFile
    outline: TextOutline
    entry: OutlineEntry | None
    moved_to: dict[str, Any] | None

    def build_answer(self, read_context: ReadContext, data: Data) -> Answer:
        """Return an answer with the commit that was read, and the current location of a moved text."""
        ref = {} if read_context.ref is None else {"ref": read_context.ref}
        location = Location(self.text.path, self.entry.address if self.entry else None, self.moved_to)
        return Answer(add_moved_to(location, {**data, "commit": read_context.snapshot.commit, **ref}))

    def record_seen_sections(self, context: Context, part: TextPart[OutlineEntry]) -> None:
        """Record the sections that a part shows in full as read, so that the caller may overwrite them."""
        document = self.text.document
        if document is not None:
            sections = (document.section_by_key(entry.address) for entry in part.complete_sections)
            context.record_seen_sections(document, [section for section in sections if section is not None])


def open_text(
    moves: Callable[[], Moves], snapshot: Snapshot, file: str, section: str | None = None
) -> OpenedText:
    """Return the text at a path or address, and the named section.

    Raises the errors of `read_text` and `find_entry` if the text was not moved.
    """
    from workspace.texts.finder import find_entry
    from workspace.texts.outline import read_outline
    from workspace.texts.text_file import normalize_path, read_text

    path, section = _resolve_target(snapshot, normalize_path(snapshot, file), section)
    moved_to = None
    try:
        text = read_text(snapshot, path)
    except DocumentNotFound:
        location = _find_moved_text(moves, snapshot, path, section)
        if location is None:
            raise
        text, section, moved_to = read_text(snapshot, location.file), location.slug, location.moved_to
    outline = read_outline(text)
    if section is None:
        return OpenedText(text, outline, None, moved_to)
    try:
        return OpenedText(text, outline, find_entry(text, outline, section), moved_to)
    except SectionNotFound:
        location = _find_moved_text(moves, snapshot, text.path, section)
        if location is None or location.slug is None:
            raise
        if location.file != text.path:
            text = read_text(snapshot, location.file)
            outline = read_outline(text)
        return OpenedText(text, outline, find_entry(text, outline, location.slug), location.moved_to)


def _find_moved_text(
    moves: Callable[[], Moves], snapshot: Snapshot, path: str, section: str | None
) -> Location | None:
    """Return the current location of a moved text or section; None if it was not moved."""
    try:
        return find_moved_location(moves, snapshot, path, section)
    except DocumentNotFound:  # the error of the first read is more useful
        return None


def _resolve_target(snapshot: Snapshot, file: str, section: str | None) -> tuple[str, str | None]:
    """Return the path, and the section that one of the two fields names.

    Raises InvalidArguments if they name different sections.
    """
    from workspace.texts.text_file import LazyFilePaths

    path, fragment = split_address(file, LazyFilePaths(snapshot)) if "#" in file else (file, None)
    if section is not None:
        section = section.strip().removeprefix(f"{path}#")
    if section and fragment and section != fragment:
        raise InvalidArguments(
            "'file_path' and 'section_heading' name different sections",
            fix="Put only the path into 'file_path'.",
            field="file_path",
        )
    return path, section or fragment or None


_PATH_FIELD = "file_path"
_HEADING_FIELD = "section_heading"


def build_error_marker(arguments: CallArguments) -> Mapping[str, object]:
    """Return the field that the contract requires of an error."""
    return {"type": "error"}


def build_missing_section_fields(arguments: CallArguments) -> Mapping[str, object]:
    """Return the fields of an error about a section: no content, and the requested section."""
    heading = arguments.get(_HEADING_FIELD)
    return {"content": "", "type": "error", "section": heading[:500] if isinstance(heading, str) else ""}


def correct_text_names(example: Data, error: WorkspaceError, snapshot: Snapshot) -> Data:
    """Return an example with a file that can be read at the tip, and a section of it.

    The example has a `ref` only if the error itself names existing sections.
    """
    suggestions = list_suggested_names(error)
    if _HEADING_FIELD in example and error.code in ("SECTION_NOT_FOUND", "AMBIGUOUS_SECTION") and suggestions:
        return {**example, _HEADING_FIELD: suggestions[0]}
    example = {name: value for name, value in example.items() if name != "ref"}
    for path in _list_paths(example, suggestions, snapshot):
        with suppress(WorkspaceError):
            return _build_example(example, path, snapshot)
    return example


def _list_paths(example: Data, suggestions: Sequence[str], snapshot: Snapshot) -> Iterator[str]:
    """Yield the paths of files that the example may name, best first."""
    from workspace.document.addresses import split_address
    from workspace.texts.text_file import LazyFilePaths, normalize_path

    files = LazyFilePaths(snapshot)
    with suppress(WorkspaceError):
        path, _ = split_address(normalize_path(snapshot, str(example.get(_PATH_FIELD, ""))), files)
        if path in files:  # a missing file is skipped, because reading it would search the history again
            yield path
    yield from suggestions
    yield from islice(snapshot.documents, 1)


def _build_example(example: Data, path: str, snapshot: Snapshot) -> Data:
    """Return the example for an existing file. Raises WorkspaceError if the file cannot be read."""
    from workspace.texts.finder import find_entry
    from workspace.texts.outline import read_outline
    from workspace.texts.text_file import read_text

    text = read_text(snapshot, path)
    example = {**example, _PATH_FIELD: text.path}
    if _HEADING_FIELD not in example:
        return example
    outline = read_outline(text)
    try:
        find_entry(text, outline, str(example[_HEADING_FIELD]))
    except WorkspaceError:
        return {**example, _HEADING_FIELD: outline.entries[-1].address} if outline.entries else example
    return example


MAX_ADDRESS_CHARACTERS = 1_000
"""The largest number of characters of an address in an answer."""


def get_section_name(entry: OutlineEntry) -> str:
    """Return a name of a section for read_section: its address, or its number if the address is too long."""
    return entry.address if len(entry.address) <= MAX_ADDRESS_CHARACTERS else entry.number
