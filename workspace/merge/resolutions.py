"""New content that resolves a conflict, fitted to the position of its unit.

A unit's new text may come with a line feed at its end, blank lines, or the line endings of another machine.
None of that is part of the unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.document.document import Document
from workspace.document.splices import find_text_end, find_text_start
from workspace.markdown.lines import LINE_END_BYTES
from workspace.merge.blocks import parse_blocks
from workspace.merge.conflict import InvalidResolution, UnitKind
from workspace.merge.front_matter import COMMENTS, MARKS, split_key_lines
from workspace.merge.sections import format_heading

if TYPE_CHECKING:
    from workspace.merge.conflict import UnitConflict, UnitId

_TITLE = b"# -\n\n"  # so that what follows is not read as a document's title or front matter
_END = b"\n\n# -\n"  # what an open fence or comment would take in
_MARK = b"---\n"


def fit_content(conflict: UnitConflict, content: bytes | None, ending: bytes) -> bytes | None:
    """Return new content of a unit without blank lines around it, with the document's line endings.

    None, as for blank content, takes the unit away. A file as a whole is as it is given, and so is what was
    copied from one of the versions. Raises InvalidResolution for what would be read as something else there.
    """
    unit = conflict.unit
    if content is None or unit.kind is UnitKind.DOCUMENT:
        return content
    text = content[find_text_start(content, 0, len(content)) : find_text_end(content, 0, len(content))]
    if not text:
        return None
    is_metadata = unit.kind is UnitKind.METADATA
    for version in (conflict.base, conflict.ours, conflict.theirs):
        if version is not None and text in (version, version.rstrip(b"\r\n") if is_metadata else version):
            return version
    plain = LINE_END_BYTES.sub(b"\n", text)
    match unit.kind:
        case UnitKind.METADATA:
            plain += b"\n"
            _check_metadata(unit, plain)
        case UnitKind.HEADING:
            _check_heading(unit, plain)
        case UnitKind.TASK:
            _check_text(unit, plain)
            if not all(piece.is_item for piece in parse_blocks(plain)):
                raise _invalid_resolution(
                    unit, "is no list item", "Begin it with `- [ ]`, and indent what belongs to it."
                )
        case _:
            _check_text(unit, plain)
    return LINE_END_BYTES.sub(ending, plain)


def set_heading_level(heading: bytes, level: int) -> bytes:
    """Return a heading from `fit_content` at a level; a document's title has level 0 and stays as it is."""
    if level == 0:
        return heading
    document = Document.parse(_TITLE + heading)
    return format_heading(document, document.sections[1], level)


def _check_text(unit: UnitId, text: bytes) -> None:
    sections = Document.parse(_TITLE + text + _END).sections
    if len(sections) > 2:
        raise _invalid_resolution(
            unit, "has a heading", "Give it without headings, and add subsections afterwards."
        )
    if len(sections) < 2:
        raise _invalid_resolution(unit, "has a fence or comment that is not closed", "Close it.")


def _check_heading(unit: UnitId, text: bytes) -> None:
    document = Document.parse(_TITLE + text)
    if len(document.sections) != 2 or format_heading(document, document.sections[1]) != text:
        raise _invalid_resolution(
            unit, "is not one heading", "Write it as the versions are, such as `## Title`."
        )


def _check_metadata(unit: UnitId, lines: bytes) -> None:
    head = lines if not unit.where else _MARK + lines + _MARK
    found = split_key_lines(head)
    names = None if found is None else [name for name in found if name not in MARKS]
    if not names or (unit.where and names != [unit.where]):
        form = "`---` above and below" if not unit.where else f"`{unit.where}: …`"
        if unit.where == COMMENTS:
            form = "comments alone, `# …`"
        raise _invalid_resolution(
            unit, "is no such front matter", f"Give its lines as they stand there: {form}."
        )
    if Document.parse(head).front_matter_error is not None:
        raise _invalid_resolution(
            unit, "cannot be read as YAML", "Quote a value that holds `: ` or begins with a mark."
        )


def _invalid_resolution(unit: UnitId, what: str, fix: str) -> InvalidResolution:
    place = f" of '{unit.where}'" if unit.where else ""
    return InvalidResolution(f"the new content for the {unit.kind}{place} {what}", fix=fix, unit=unit)
