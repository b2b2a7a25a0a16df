"""Outlines: the addressable parts of a text of any kind."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from workspace.markdown.lines import Lines
from workspace.markdown.slugs import PREAMBLE
from workspace.texts.headings import OutlineEntry, TextOutline, number_entries
from workspace.texts.text_file import TextKind

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.texts.headings import TextHeading
    from workspace.texts.text_file import TextFile


def read_outline(text: TextFile) -> TextOutline:
    """Return the outline of a text: its sections, classes or functions; logs and plain text are one part.

    Raises LimitExceeded for Markdown with too many lines or blocks.
    """
    if text.document is not None:
        return _read_document(text.document)
    lines = Lines(text.data)
    headings, reason = _read_headings(lines, text)
    from workspace.texts.headings import build_entries

    return TextOutline(build_entries(lines, headings), reason)


def _read_headings(lines: Lines, text: TextFile) -> tuple[list[TextHeading], str | None]:
    """Return the headings of a text other than Markdown, and the reason if they were not read."""
    if text.kind is TextKind.RESTRUCTUREDTEXT:
        from workspace.texts import markup

        return markup.read_restructuredtext(lines), None
    if text.kind is TextKind.ASCIIDOC:
        from workspace.texts import markup

        return markup.read_asciidoc(lines), None
    if text.kind is TextKind.SOURCE:
        from workspace.texts import code

        max_bytes = code.MAX_SOURCE_BYTES
        reason = (
            f"source code of more than {max_bytes:,} bytes has no outline"
            if len(text.data) > max_bytes
            else None
        )
        return code.read_definitions(lines, text.path), reason
    return [], None


def _make_single_entry(data: bytes) -> OutlineEntry:
    """Return the only part of a text without sections."""
    line_count = max(1, len(Lines(data)))
    return OutlineEntry(PREAMBLE, "", 0, "", 0, len(data), len(data), 1, line_count, 0, None, 1)


def _read_document(document: Document) -> TextOutline:
    """Return the outline of a document. The keys of its sections are their addresses, which are unique."""
    sections = document.sections
    if not sections:
        return TextOutline((_make_single_entry(document.data)._replace(title=document.title),))
    numbers = number_entries(
        [section.level for section in sections], [section.parent for section in sections]
    )
    end_lines = [section.end_line for section in sections]
    start_offsets = [section.start for section in sections]
    entries = []
    for section, number in zip(sections, numbers, strict=True):
        last_position = bisect_left(start_offsets, section.tree_end, section.position + 1) - 1
        first_line = document.lines.line_at(section.start) + 1
        entries.append(
            OutlineEntry(
                section.key,
                section.title,
                section.level,
                number,
                section.start,
                section.end,
                section.tree_end,
                section.line,
                end_lines[last_position],
                section.position,
                section.parent,
                first_line,
            )
        )
    return TextOutline(tuple(entries))
