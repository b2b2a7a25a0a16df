"""append_content: text added at the end of a section's own text, before its first subsection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import PREAMBLE, read_fragment, resolve_section
from workspace.document.spacing import insert_block
from workspace.document.splices import Edit, Style
from workspace.edits.content import InvalidContent, checked_text, prepare_content, strip_blank_lines
from workspace.edits.operation import DocumentOperation
from workspace.edits.text import PREAMBLE_LEVEL, write_first_preamble

if TYPE_CHECKING:
    from workspace.document.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendContent(DocumentOperation):
    """Adds text after a section's own text; a further list item or table row joins the list or table."""

    name: ClassVar[str] = "append_content"
    implied_by: ClassVar[frozenset[str]] = frozenset()

    file: str
    slug: str
    content: str

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit. Raises InvalidContent, SectionNotFound, LevelConflict, SectionExists."""
        text = strip_blank_lines(checked_text(self.content, "content"))
        if not text:
            raise InvalidContent("'content' is empty", fix="Give the text that is to be added.")
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return write_first_preamble(document, text, style, self.file)
        section = resolve_section(document, self.slug)
        content = prepare_content(
            document,
            text,
            below=section,
            level=section.level or PREAMBLE_LEVEL,
            address=None if section.is_preamble else section.address,
            form=document.form or style.form,
        )
        answer: dict[str, object] = {"slug": section.key}
        if content.addresses:
            answer["subsections"] = list(content.addresses)
        splice = insert_block(document, section.end, content.text)
        return Edit((splice,), answer, f"Append to {section.key} of {self.file}", content.hints)
