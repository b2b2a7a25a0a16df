"""update_content: a section's own text replaced, its subsections left alone unless they are meant too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import PREAMBLE, read_fragment, resolve_section
from workspace.document.spacing import blank_line, end_of_text, insert_block, start_of_text
from workspace.document.splices import Edit, Splice, Style
from workspace.edits.content import (
    checked_text,
    own_heading_dropped,
    prepare_content,
    strip_blank_lines,
    with_newlines,
)
from workspace.edits.operation import DocumentOperation
from workspace.markdown.lines import with_ending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document, Section

PREAMBLE_LEVEL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateContent(DocumentOperation):
    """Replaces the text of a section; with `include_subsections`, all that stands below it too."""

    name: ClassVar[str] = "update_content"
    implied_by: ClassVar[frozenset[str]] = frozenset({"content", "slug"})

    file: str
    slug: str
    content: str
    include_subsections: bool = False

    def overwrites(self, document: Document) -> Sequence[Section]:
        """The section, and with `include_subsections` all below it."""
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return ()
        section = resolve_section(document, self.slug)
        return (section, *(document.descendants(section) if self.include_subsections else ()))

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit; none where that is the text. Raises SectionNotFound, LevelConflict, SectionExists."""
        text = strip_blank_lines(checked_text(self.content, "content"))
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return write_first_preamble(document, text, style, self.file)
        section = resolve_section(document, self.slug)
        text = own_heading_dropped(text, section, document)
        replaced = document.descendants(section) if self.include_subsections else ()
        end = section.tree_end if self.include_subsections else section.end
        heading_end = end_of_text(document.data, section.start, section.body)
        start = start_of_text(document.data, section.body, end)
        stop = end_of_text(document.data, section.body, end)
        answer: dict[str, object] = {"slug": section.key}
        summary = f"Update {section.key} of {self.file}"
        if strip_blank_lines(with_newlines(document.text(section.body, end))) == text:
            return Edit((), answer, summary)
        content = prepare_content(
            document,
            text,
            below=section,
            level=section.level or PREAMBLE_LEVEL,
            address=None if section.is_preamble else section.address,
            form=document.form or style.form,
            replaced=replaced,
        )
        if content.addresses:
            answer["subsections"] = list(content.addresses)
        if start >= stop:
            splice = insert_block(document, end, content.text)
        elif not content.text:
            splice = Splice(heading_end, stop, b"")
        else:
            after = blank_line(document, content.text, stop, end)
            splice = Splice(start, stop, with_ending(content.text, document.ending) + after)
        return Edit((splice,), answer, summary, content.hints)


def write_first_preamble(document: Document, text: str, style: Style, file: str) -> Edit:
    """Text before the first section of a document that has none there."""
    form = document.form or style.form
    content = prepare_content(document, text, below=None, level=PREAMBLE_LEVEL, address=None, form=form)
    first: Section | None = document.sections[0] if document.sections else None
    offset = first.start if first else len(document.data)
    answer: dict[str, object] = {"slug": PREAMBLE}
    if content.addresses:
        answer["subsections"] = list(content.addresses)
    splices = (insert_block(document, offset, content.text),) if content.text else ()
    return Edit(splices, answer, f"Write the introduction of {file}", content.hints)
