"""rename_section: another title at the same address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace import anchors, frontmatter, markdown
from workspace.addresses import PREAMBLE, InvalidAddress, read_fragment, resolve_section
from workspace.edits.content import checked_title, free_address, heading_line, taken_names
from workspace.edits.edit import Edit, Splice, Style
from workspace.edits.front_matter import replace_front_matter_key
from workspace.edits.operation import DocumentOperation
from workspace.edits.spacing import end_of_text, insert_block, start_of_text

if TYPE_CHECKING:
    from workspace.document import Document, Section

_ATX_MARK = re.compile(rb" {0,3}#{1,6}[ \t]*")
_ATX_CLOSE = re.compile(rb"(?:(?<=[ \t])#+)?[ \t]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameSection(DocumentOperation):
    """Gives a section another title. Its address stays: where it had no anchor, it gets its address as one.

    With `_preamble` the document's own title is renamed.
    """

    name: ClassVar[str] = "rename_section"
    implied_by: ClassVar[frozenset[str]] = frozenset({"new_title"})

    file: str
    slug: str
    new_title: str

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit; none where the title is that already. Raises InvalidTitle, SectionNotFound, AmbiguousAddress."""
        title = checked_title(self.new_title, "new_title")
        form = document.form or style.form
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return self._first_title(document, title, style)
        section = resolve_section(document, self.slug)
        answer = {"slug": section.address, "title": markdown.plain_text(title)}
        summary = f"Rename {section.address} of {self.file}"
        if section.title == markdown.plain_text(title):
            return Edit((), answer, summary)
        if section.heading_start == section.body or section.start == section.body:
            return self._first_title(document, title, style)
        start, end, source = _heading_source(document, section)
        parts = anchors.read_heading(source)
        has_anchor = section.anchor is not None or section.is_preamble
        if has_anchor:
            written = f"{parts.prefix}{title}{parts.suffix}"
        else:
            if not anchors.is_valid_name(section.address):
                raise InvalidAddress(
                    f"the address '{section.address}' cannot be written as an anchor",
                    fix="Give the heading an anchor by hand first.",
                )
            written = anchors.write_heading(title, section.address, form)
        splice = Splice(start, end, written.encode())
        return Edit((splice,), answer, summary, renamed=section.position)

    def _first_title(self, document: Document, title: str, style: Style) -> Edit:
        """The title of a document that has no H1: in its front matter if it stands there, else as an H1."""
        answer = {"slug": PREAMBLE, "title": markdown.plain_text(title)}
        summary = f"Title {self.file}"
        preamble = document.preamble
        position = preamble.position if preamble else None
        if "title" in document.front_matter:
            splice = replace_front_matter_key(document, "title", frontmatter.write_scalar("title", title))
            return Edit((splice,), answer, summary, renamed=position)
        line = heading_line(
            1, title, free_address(None, title, taken_names(document)), document.form or style.form
        )
        if preamble is None or not document.data[preamble.start : preamble.end].strip():
            first = document.sections[0] if document.sections else None
            return Edit(
                (insert_block(document, first.start if first else len(document.data), line),), answer, summary
            )
        start = start_of_text(document.data, preamble.start, preamble.end)
        end = end_of_text(document.data, preamble.start, preamble.end)
        ending = document.ending
        text = line.encode() + ending + ending + document.data[start:end]
        return Edit(
            (Splice(preamble.start, end, document.data[preamble.start : start] + text),), answer, summary
        )


def _heading_source(document: Document, section: Section) -> tuple[int, int, str]:
    """The bytes [start, end) of a heading's inline Markdown, and that text."""
    start = section.heading_start
    first_line = document.lines.raw(section.line - 1)
    mark = _ATX_MARK.match(first_line)
    heading = document.outline.headings[_heading_position(document, section)]
    if heading.is_setext or mark is None:
        last = document.lines.offset(heading.end - 1)
        stop = end_of_text(document.data, start, last)
        start = start_of_text(document.data, start, stop)
        while document.data[start : start + 1] in (b" ", b"\t"):
            start += 1
        return start, stop, document.text(start, stop)
    close = _ATX_CLOSE.search(first_line, mark.end())
    stop = start + (close.start() if close else len(first_line))
    text = document.data[start + mark.end() : stop].rstrip(b" \t")
    return start + mark.end(), start + mark.end() + len(text), text.decode("utf-8", "replace")


def _heading_position(document: Document, section: Section) -> int:
    lines = [heading.line for heading in document.outline.headings]
    return lines.index(section.line - 1)
