"""remove_section: a section taken out together with its subsections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import InvalidAddress, resolve_section
from workspace.document.spacing import remove_block
from workspace.document.splices import Edit, Style
from workspace.edits.operation import DocumentOperation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document, Section


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveSection(DocumentOperation):
    """Removes a section and all that stands below it."""

    name: ClassVar[str] = "remove_section"

    file: str
    slug: str

    def overwrites(self, document: Document) -> Sequence[Section]:
        """The section, and all below it."""
        section = resolve_section(document, self.slug)
        return (section, *document.descendants(section))

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit. Raises SectionNotFound, AmbiguousAddress, InvalidAddress for the preamble."""
        section = resolve_section(document, self.slug)
        if section.is_preamble:
            raise InvalidAddress(
                "the preamble cannot be removed: it holds the document's title",
                fix="Empty it with update_content, or remove the whole document with {path}.",
            )
        splice = remove_block(document, section.start, section.tree_end)
        below = [item.address for item in document.descendants(section)]
        answer: dict[str, object] = {"removed": "section", "slug": section.address}
        if below:
            answer["subsections"] = below
        return Edit((splice,), answer, f"Remove section {section.address} from {self.file}")
