"""The text of a section, as it is compared: without its heading and the blank lines around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.markdown.lines import BLANK

if TYPE_CHECKING:
    from workspace.document.document import Document, Section


def own_text(document: Document, section: Section) -> bytes:
    """Return a section's own text, without its heading and its subsections."""
    return document.data[section.body : section.end].strip(BLANK)


def whole_text(document: Document, section: Section) -> bytes:
    """Return a section's text and that of all below it, without its heading."""
    return document.data[section.body : section.tree_end].strip(BLANK)


def telling_text(document: Document, section: Section) -> bytes:
    """Return a section's own text; where that is empty, its whole text."""
    return own_text(document, section) or whole_text(document, section)
