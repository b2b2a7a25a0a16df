"""add_section: a new heading, with its anchor, at the end of its parent or beside a sibling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace import markdown
from workspace.document.section_text import whole_text
from workspace.document.spacing import insert_block
from workspace.document.splices import Edit, Style
from workspace.edits.content import (
    DEEP_LEVEL,
    MAX_LEVEL,
    LevelConflict,
    SectionExists,
    checked_text,
    checked_title,
    deep_hint,
    free_address,
    heading_line,
    prepare_content,
    strip_blank_lines,
    taken_names,
    without_heading,
)
from workspace.edits.named_place import TOP_LEVEL, named_place
from workspace.edits.operation import DocumentOperation
from workspace.edits.text import UpdateContent

if TYPE_CHECKING:
    from workspace.document.document import Document, Section


@dataclass(frozen=True, slots=True, kw_only=True)
class AddSection(DocumentOperation):
    """Adds a section at the end of `parent_slug` (or of the document), or before or after a sibling.

    An empty section of the same title in the same place is answered with `created: false` and takes the
    content.
    """

    name: ClassVar[str] = "add_section"
    implied_by: ClassVar[frozenset[str]] = frozenset({"parent_slug"})

    file: str
    title: str
    parent_slug: str | None = None
    content: str | None = None
    before: str | None = None
    after: str | None = None

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit. Raises InvalidTitle, SectionNotFound, SectionExists, LevelConflict, InvalidAddress."""
        title = checked_title(self.title)
        offset, parent, sibling, _ = named_place(document, self.parent_slug, self.before, self.after)
        existing = self._twin(document, parent, title)
        if existing:
            return self._fill(document, existing, style)
        level = self._level(document, parent, sibling)
        above = parent.address if parent else None
        address = free_address(above, title, taken_names(document))
        form = document.form or style.form
        content = without_heading(
            strip_blank_lines(checked_text(self.content or "", "content")), markdown.plain_text(title), level
        )
        prepared = prepare_content(
            document, content, below=None, level=level, address=address, form=form, reserved=(address,)
        )
        heading = heading_line(level, title, address, form)
        text = f"{heading}\n\n{prepared.text}" if prepared.text else heading
        answer: dict[str, object] = {"slug": address, "created": True}
        if prepared.addresses:
            answer["subsections"] = list(prepared.addresses)
        hints = (*([deep_hint(address, level)] if level > DEEP_LEVEL else ()), *prepared.hints)
        splice = insert_block(document, offset, text)
        return Edit((splice,), answer, f"Add section {address} to {self.file}", hints)

    def _twin(self, document: Document, parent: Section | None, title: str) -> Section | None:
        """The section of the same title in the same place, if it is empty; one with text is an error."""
        for child in document.children(parent):
            if child.title.casefold() == title.casefold():
                if not whole_text(document, child):
                    return child
                raise SectionExists(
                    f"{document.path} already has the section '{child.address}', and it is not empty",
                    fix=f"Use update_content or append_content with slug '{child.address}'.",
                    slug=child.address,
                )
        return None

    def _fill(self, document: Document, section: Section, style: Style) -> Edit:
        answer: dict[str, object] = {"slug": section.key, "created": False}
        content = strip_blank_lines(checked_text(self.content or "", "content"))
        if not content:
            return Edit((), answer, f"Keep section {section.key} of {self.file}")
        filled = UpdateContent(file=self.file, slug=section.key, content=content).edit(document, style)
        return Edit(filled.splices, {**filled.answer, **answer}, filled.summary, filled.hints)

    def _level(self, document: Document, parent: Section | None, sibling: Section | None) -> int:
        if sibling:
            return sibling.level
        beside = [child.level for child in document.children(parent)]
        level = min(beside) if beside else (parent.level + 1 if parent else TOP_LEVEL)
        if level > MAX_LEVEL:
            raise LevelConflict(
                f"a section in '{parent.address if parent else ''}' would be deeper than H6",
                fix="Add it higher up, or write it as bold text or a list.",
            )
        return level
