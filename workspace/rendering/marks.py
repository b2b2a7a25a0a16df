"""How headings are found on a page: their ids, the other names of their places, and the outline they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.document.sections import PREAMBLE
from workspace.links.fragments import names_of
from workspace.markdown.html import Mark
from workspace.rendering.values import Entry

if TYPE_CHECKING:
    from workspace.config.tables import Dialect
    from workspace.document.document import Document, Section


class Marks:
    """The headings of a document by their lines, which count from 0 behind its front matter."""

    def __init__(self, document: Document, dialect: Dialect) -> None:
        self._first = document.front_matter_lines
        self._lines = document.lines
        self._sections = {section.line - 1: section for section in document.sections if section.heading}
        self._anchored = {
            line
            for section in document.sections
            if section.heading and section.start < section.heading_start and not section.is_preamble
            for line in range(section.heading.first_line, section.line - 1)
        }
        self._names: dict[int, list[str]] = {}
        for name, place in names_of(document, dialect).items():
            # These name the whole document, or the heading of the title, which has the name for its id.
            if name not in ("", PREAMBLE):
                self._names.setdefault(place.offset, []).append(name)
        self.outline: list[Entry] = []

    def mark(self, line: int) -> Mark | None:
        """How the heading on a line is found; one in a list or quotation has GitHub's name for it, if any."""
        at = self._first + line
        names = self._names.get(self._lines.offset(at), [])
        section = self._sections.get(at)
        if section is None:
            return Mark(names[0], tuple(names[1:]), names[0]) if names else None
        self.outline.append(_entry(section))
        aliases = tuple(name for name in names if name != section.key)
        return Mark(section.key, aliases, section.title)

    def is_dropped(self, line: int) -> bool:
        """Whether a line holds nothing but the anchors of a heading below it."""
        return self._first + line in self._anchored


def _entry(section: Section) -> Entry:
    level = section.heading.block.level if section.heading else 1
    return Entry(level, section.title, section.key, section.address)
