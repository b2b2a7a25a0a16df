"""New content that resolves a conflict, fitted to the position of its unit.

New content may end with a line feed, begin with blank lines, or have other line endings. These bytes are not
part of the unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.document.document import Document
from workspace.document.splices import find_text_end, find_text_start
from workspace.markdown.lines import LINE_END_BYTES
from workspace.merge.block_alignment import parse_blocks
from workspace.merge.conflict import InvalidResolution, ResolutionChoice, UnitKind
from workspace.merge.front_matter import COMMENTS, DELIMITERS, split_key_lines
from workspace.merge.sections import format_heading
from workspace.merge.union import join_sides

if TYPE_CHECKING:
    from workspace.merge.conflict import Resolution, UnitConflict, UnitId

_TITLE_BEFORE = b"# -\n\n"  # a title, so that the text below it is not parsed as title or front matter
_HEADING_AFTER = b"\n\n# -\n"  # a heading that an unclosed fence or comment would contain
_DELIMITER = b"---\n"


def fit_content(conflict: UnitConflict, resolution: Resolution, ending: bytes) -> bytes | None:
    """Return new content or a union without blank lines around it, with the document's line endings.

    Return None to remove the unit; blank content also removes it. The content of a file, and a copy of one of
    the versions, are not changed. Raises InvalidResolution for content that would be parsed as another unit.
    """
    unit, content = conflict.unit, resolution.content
    if resolution.choice is ResolutionChoice.UNION:
        content = join_sides(conflict)
        if content is None:
            location = f" of '{unit.where}'" if unit.where else ""
            raise InvalidResolution(
                f"both versions of the {unit.kind}{location} cannot stay",
                fix="Choose 'ours' or 'theirs', or write the content.",
                unit=unit,
            )
    if content is None or unit.kind is UnitKind.DOCUMENT:
        return content
    text = content[find_text_start(content, 0, len(content)) : find_text_end(content, 0, len(content))]
    if not text:
        return None
    is_metadata = unit.kind is UnitKind.METADATA
    for version in (conflict.base, conflict.ours, conflict.theirs):
        if version is not None and text in (version, version.rstrip(b"\r\n") if is_metadata else version):
            return version
    normalized_text = LINE_END_BYTES.sub(b"\n", text)
    match unit.kind:
        case UnitKind.METADATA:
            normalized_text += b"\n"
            _check_metadata(unit, normalized_text)
        case UnitKind.HEADING:
            _check_heading(unit, normalized_text)
        case UnitKind.TASK:
            _check_text(unit, normalized_text)
            if not all(block.is_item for block in parse_blocks(normalized_text)):
                raise _make_resolution_error(
                    unit,
                    "must be a list item",
                    "Begin the content with `- [ ]`, and indent the lines below it.",
                )
        case _:
            _check_text(unit, normalized_text)
    return LINE_END_BYTES.sub(ending, normalized_text)


def set_heading_level(heading: bytes, level: int) -> bytes:
    """Return a heading from `fit_content` at a level; level 0, a document's title, leaves it unchanged."""
    if level == 0:
        return heading
    document = Document.parse(_TITLE_BEFORE + heading)
    return format_heading(document, document.sections[1], level)


def _check_text(unit: UnitId, text: bytes) -> None:
    sections = Document.parse(_TITLE_BEFORE + text + _HEADING_AFTER).sections
    if len(sections) > 2:
        raise _make_resolution_error(
            unit, "must not have headings", "Remove the headings; add subsections after the merge."
        )
    if len(sections) < 2:
        raise _make_resolution_error(
            unit, "has an unclosed code fence or comment", "Close the fence or comment."
        )


def _check_heading(unit: UnitId, text: bytes) -> None:
    document = Document.parse(_TITLE_BEFORE + text)
    if len(document.sections) != 2 or format_heading(document, document.sections[1]) != text:
        raise _make_resolution_error(unit, "must be one heading", "Write one heading, such as `## Title`.")


def _check_metadata(unit: UnitId, lines: bytes) -> None:
    front_matter = lines if not unit.where else _DELIMITER + lines + _DELIMITER
    keys = split_key_lines(front_matter)
    names = None if keys is None else [name for name in keys if name not in DELIMITERS]
    if not names or (unit.where and names != [unit.where]):
        form = "`---` above and below" if not unit.where else f"`{unit.where}: …`"
        if unit.where == COMMENTS:
            form = "only comments, `# …`"
        raise _make_resolution_error(unit, "must be the lines of this key in front matter", f"Write {form}.")
    if Document.parse(front_matter).front_matter_error is not None:
        raise _make_resolution_error(
            unit, "is not valid YAML", "Quote values that contain `: ` or begin with a special character."
        )


def _make_resolution_error(unit: UnitId, problem: str, fix: str) -> InvalidResolution:
    location = f" of '{unit.where}'" if unit.where else ""
    return InvalidResolution(f"the new content for the {unit.kind}{location} {problem}", fix=fix, unit=unit)
