"""rename_section: another title at the same address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace import markdown
from workspace.document.addresses import PREAMBLE, InvalidAddress, read_fragment, resolve_section
from workspace.document.headings import rewritten
from workspace.document.spacing import insert_block, start_of_text
from workspace.document.splices import Edit, Splice, Style
from workspace.edits.content import checked_title, free_address, heading_line, taken_names
from workspace.edits.front_matter import set_front_matter_keys
from workspace.edits.operation import DocumentOperation
from workspace.markdown import anchors
from workspace.markdown.lines import BLANK, with_ending

if TYPE_CHECKING:
    from workspace.document.document import Document, Section
    from workspace.document.headings import AnchoredHeading


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameSection(DocumentOperation):
    """Gives a section another title. Its address stays: where it had no anchor, it gets its address as one.

    With `_preamble` the document's own title is renamed.
    """

    name: ClassVar[str] = "rename_section"
    implied_by: ClassVar[frozenset[str]] = frozenset({"new_title"})
    tells_links: ClassVar[bool] = True

    file: str
    slug: str
    new_title: str

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit; none where that is the title. Raises InvalidTitle, SectionNotFound, AmbiguousAddress."""
        title = checked_title(self.new_title, "new_title")
        if document.preamble is None and read_fragment(self.slug).section == PREAMBLE:
            return self._title(document, title, style)
        section = resolve_section(document, self.slug)
        answer = {"slug": section.key, "title": markdown.plain_text(title)}
        summary = f"Rename {section.key} of {self.file}"
        if section.title == markdown.plain_text(title):
            return Edit((), answer, summary)
        if section.heading is None:
            return self._title(document, title, style)
        inline = _inline(section, section.heading, title, document.form or style.form)
        splice = Splice(*rewritten(document.lines, section.heading.block, inline))
        hints = () if section.is_preamble else (f"the address stays '{section.key}', so no link breaks",)
        return Edit((splice,), answer, summary, hints, renamed=section.position)

    def _title(self, document: Document, title: str, style: Style) -> Edit:
        """The title of a document that does not begin with one: as its front matter has it, else as an H1."""
        preamble = document.preamble
        answer = {"slug": PREAMBLE, "title": markdown.plain_text(title)}
        summary = f"Title {self.file}"
        if "title" in document.front_matter:
            splice = set_front_matter_keys(document, {"title": title}, is_whole=True)
            position = preamble.position if preamble else None
            return Edit((splice,), answer, summary, renamed=position, is_front_matter=True)
        address = free_address(None, title, taken_names(document))
        line = heading_line(1, title, address, document.form or style.form)
        if preamble and document.source(preamble).strip(BLANK):
            start = start_of_text(document.data, preamble.start, preamble.end)
            splice = Splice(start, start, with_ending(f"{line}\n\n", document.ending))
        else:
            offset = document.sections[0].start if document.sections else len(document.data)
            splice = insert_block(document, offset, line)
        return Edit((splice,), answer, summary)


def _inline(section: Section, heading: AnchoredHeading, title: str, form: anchors.AnchorForm) -> str:
    """The heading's new inline Markdown: the anchors it has, else its address as one."""
    if heading.anchor is not None or section.is_preamble:
        return heading.text.with_words(title)
    if not anchors.is_valid_name(section.address):
        raise InvalidAddress(
            f"the address '{section.address}' cannot be written as an anchor",
            fix="Give the heading an anchor by hand first.",
        )
    return anchors.write_heading(title, section.address, form)
