"""The three versions of a document, their sections known by ids that are the same in all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sections import Evidence, SectionMatch
from workspace.document.spacing import end_of_text, start_of_text
from workspace.markdown.lines import BOM

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document.document import Document, Section

Id = tuple[str, int]
"""Names a section: the version in which it was met first (`base`, `ours`, `theirs`), and its position."""


class Standing(NamedTuple):
    """Where a section stands: what it stands below, and how many levels deeper (from 0, at the top)."""

    parent: Id | None
    depth: int


class Side:
    """One version: its sections by id, in order. Such as have no bytes (a title of front matter) are none."""

    def __init__(self, document: Document, ids: Mapping[int, Id]) -> None:
        self.document = document
        self.sections: dict[Id, Section] = {}
        self.standing: dict[Id, Standing] = {}
        self.children: dict[Id | None, list[Id]] = {}
        self.before: dict[Id, bytes] = {}
        self.previous: dict[Id, Id | None] = {}
        data = document.data
        position = first = max(document.front_matter_end, len(BOM) if data.startswith(BOM) else 0)
        above: Id | None = None
        for section in document.sections:
            start, end = core(document, section)
            if start >= end:
                continue
            id = ids[section.position]
            parent = None if section.parent is None else ids[section.parent]
            level = 0 if section.parent is None else document.sections[section.parent].level
            self.sections[id] = section
            self.standing[id] = Standing(parent, section.level - level)
            self.children.setdefault(parent, []).append(id)
            self.before[id], self.previous[id] = data[position:start], above
            position, above = end, id
        self.opening = self.before[next(iter(self.before))] if self.before else data[first:]
        self.closing = data[position:] if self.before else b""

    def heading(self, id: Id) -> tuple[Document, Section]:
        """A section with its document."""
        return self.document, self.sections[id]

    def text(self, id: Id) -> bytes:
        """A section's own text, without its heading and the blank lines around it."""
        start, end = own_span(self.document, self.sections[id])
        return self.document.data[start:end]

    def lead(self, id: Id) -> bytes | None:
        """What stands between a section's heading and its text; None where one of them is missing."""
        section = self.sections[id]
        start, end = own_span(self.document, section)
        if section.heading is None or section.body == section.start or start >= end:
            return None
        return self.document.data[end_of_text(self.document.data, section.start, section.body) : start]

    def whole(self, id: Id) -> bytes:
        """A section with all below it."""
        section, data = self.sections[id], self.document.data
        start = start_of_text(data, section.start, section.tree_end)
        return data[start : end_of_text(data, start, section.tree_end)]

    def below(self, id: Id) -> Sequence[Id]:
        """All sections below one."""
        found: list[Id] = []
        waiting = [*self.children.get(id, ())]
        while waiting:
            found.append(waiting.pop())
            waiting += self.children.get(found[-1], ())
        return found


def core(document: Document, section: Section) -> tuple[int, int]:
    """The bytes [start, end) of a section's heading and own text, without the blank lines around both."""
    start = start_of_text(document.data, section.start, section.end)
    return start, end_of_text(document.data, start, section.end)


def own_span(document: Document, section: Section) -> tuple[int, int]:
    """The bytes [start, end) of a section's own text, without the blank lines around it."""
    start = start_of_text(document.data, section.body, section.end)
    return start, end_of_text(document.data, start, section.end)


def sides(base: Document | None, ours: Document, theirs: Document) -> tuple[Side | None, Side, Side]:
    """The three versions. What both sides added with one address is the same section."""
    left = {} if base is None else {item.position: ("base", item.position) for item in base.sections}
    mine, yours = (
        {} if base is None else SectionMatch(base, side, Evidence.TEXT).pairs for side in (ours, theirs)
    )
    found = {
        item.position: left[mine[item.position]] if item.position in mine else ("ours", item.position)
        for item in ours.sections
    }
    added = {
        item.key: found[item.position]
        for item in ours.sections
        if item.position not in mine and item.key == item.address
    }
    present: dict[int, Id] = {}
    for item in theirs.sections:
        if item.position in yours:
            present[item.position] = left[yours[item.position]]
        elif item.key == item.address and item.key in added:
            present[item.position] = added[item.key]
        else:
            present[item.position] = ("theirs", item.position)
    return None if base is None else Side(base, left), Side(ours, found), Side(theirs, present)
