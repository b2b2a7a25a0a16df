"""Which text, and which section of it, a call means: where it stands, or where it has moved to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tools.arguments import InvalidArguments
from workspace.addresses import SectionNotFound, split_address
from workspace.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from tools.context import Context
    from tools.moved import Found
    from workspace.snapshot import Snapshot
    from workspace.texts.outline import Entry, Outline
    from workspace.texts.text_file import TextFile


class Opened(NamedTuple):
    """A text with its outline, the section that was asked for, and where this has moved to if it has."""

    text: TextFile
    outline: Outline
    entry: Entry | None
    moved_to: dict[str, Any] | None


def open_text(context: Context, snapshot: Snapshot, file: str, wanted: str | None = None) -> Opened:
    """The text at a path or an address, and the section that is wanted of it or that the address names.

    Raises what reading and finding raise where history knows no other place for it.
    """
    from workspace.texts.finding import find_entry
    from workspace.texts.outline import outline_of
    from workspace.texts.text_file import read_text, relative_path

    path, wanted = _target(snapshot, relative_path(snapshot, file), wanted)
    moved_to = None
    try:
        text = read_text(snapshot, path)
    except DocumentNotFound:
        moved = _moved(context, snapshot, path, wanted)
        if moved is None:
            raise
        text, wanted, moved_to = read_text(snapshot, moved.file), moved.slug, moved.moved_to
    outline = outline_of(text)
    if wanted is None:
        return Opened(text, outline, None, moved_to)
    try:
        return Opened(text, outline, find_entry(text, outline, wanted), moved_to)
    except SectionNotFound:
        moved = _moved(context, snapshot, text.path, wanted)
        if moved is None or moved.slug is None:
            raise
        if moved.file != text.path:
            text = read_text(snapshot, moved.file)
            outline = outline_of(text)
        return Opened(text, outline, find_entry(text, outline, moved.slug), moved.moved_to)


def _moved(context: Context, snapshot: Snapshot, path: str, wanted: str | None) -> Found | None:
    """Where history knows it to be now; None where it knows of nothing."""
    from tools.moved import found

    try:
        moved = found(context, snapshot, path, wanted)
    except DocumentNotFound:  # what reading said of it is nearer to what was asked
        return None
    return moved if moved.moved_to is not None else None


def _target(snapshot: Snapshot, file: str, wanted: str | None) -> tuple[str, str | None]:
    """The path, and the section that either of two fields names. Raises InvalidArguments for two sections."""
    from workspace.texts.files import Files

    path, fragment = split_address(file, Files(snapshot)) if "#" in file else (file, None)
    if wanted is not None:
        wanted = wanted.strip().removeprefix(f"{path}#")
    if wanted and fragment and wanted != fragment:
        raise InvalidArguments(
            "'file_path' names one section and 'section_heading' another",
            fix="Put the path alone into 'file_path'.",
            field="file_path",
        )
    return path, wanted or fragment or None
