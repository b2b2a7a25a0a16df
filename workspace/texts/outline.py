"""Outlines: the parts of a text that have an address, whatever kind of text it is."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.sections import PREAMBLE
from workspace.markdown.lines import Lines
from workspace.texts.text_file import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document.document import Document
    from workspace.texts.headings import Heading
    from workspace.texts.text_file import TextFile


class Entry(NamedTuple):
    """A part of a text: a section, a class, a function, or `_preamble`, which stands before the first.

    Offsets are bytes: [start, end) is its own text with its heading, [start, tree_end) also holds the parts
    below it. Lines count from 1 and are inclusive: `first_line` is that of `start`, `line` the heading's
    (HTML anchors and comments may stand above it), `end_line` the last with the parts below. `level` is 1 to
    6, and 0 for `_preamble` alone. `number` is the position among siblings from the top, such as `3.1.2`;
    the preamble has none. `position` and `parent` are indexes of the outline.
    """

    address: str
    title: str
    level: int
    number: str
    start: int
    end: int
    tree_end: int
    line: int
    end_line: int
    position: int
    parent: int | None
    first_line: int

    @property
    def own(self) -> slice:
        """The bytes of its own text."""
        return slice(self.start, self.end)

    @property
    def tree(self) -> slice:
        """The bytes of its text with all that stands below it."""
        return slice(self.start, self.tree_end)


@dataclass(frozen=True)
class Outline:
    """The parts of a text in order; there is always one. Their own texts follow one another without a gap.

    The last ends with the file. What stands before the first is only front matter, a byte-order mark and
    blank lines. `reason` says why a text that may have parts shows none; it is None otherwise.
    """

    entries: tuple[Entry, ...]
    reason: str | None = None

    @cached_property
    def _by_address(self) -> Mapping[str, Entry]:
        return {entry.address: entry for entry in self.entries}

    def by_address(self, address: str) -> Entry | None:
        """The part that has this very address."""
        return self._by_address.get(address)

    @cached_property
    def _children(self) -> Mapping[int | None, tuple[Entry, ...]]:
        found: dict[int | None, list[Entry]] = {}
        for entry in self.entries:
            if entry.level:
                found.setdefault(entry.parent, []).append(entry)
        return {parent: tuple(entries) for parent, entries in found.items()}

    def children(self, entry: Entry | None) -> tuple[Entry, ...]:
        """The parts directly below one; of None, the top ones (the preamble is not one of them)."""
        return self._children.get(None if entry is None else entry.position, ())

    @cached_property
    def _starts(self) -> list[int]:
        return [entry.start for entry in self.entries]

    def descendants(self, entry: Entry) -> tuple[Entry, ...]:
        """Every part below one, in order."""
        return self.entries[entry.position + 1 : bisect_left(self._starts, entry.tree_end)]


def outline_of(text: TextFile) -> Outline:
    """The outline of a text: sections, or classes and functions; of logs and plain text, one part of it all.

    Raises LimitExceeded for Markdown of too many lines or blocks.
    """
    if text.document is not None:
        return _of_document(text.document)
    lines = Lines(text.data)
    headings, reason = _headings(lines, text)
    from workspace.texts.headings import entries_of

    return Outline(entries_of(lines, headings), reason)


def _headings(lines: Lines, text: TextFile) -> tuple[list[Heading], str | None]:
    """The headings of a text that is no Markdown; and why there are none, where there may be some."""
    if text.kind is Kind.RESTRUCTUREDTEXT:
        from workspace.texts import markup

        return markup.read_restructuredtext(lines), None
    if text.kind is Kind.ASCIIDOC:
        from workspace.texts import markup

        return markup.read_asciidoc(lines), None
    if text.kind is Kind.SOURCE:
        from workspace.texts import code

        most = code.MAX_BYTES
        reason = f"source code of more than {most:,} bytes has no outline" if len(text.data) > most else None
        return code.read_headings(lines, text.path), reason
    return [], None


def _whole(data: bytes) -> Entry:
    """The one part of a text that has no parts."""
    last = max(1, len(Lines(data)))
    return Entry(PREAMBLE, "", 0, "", 0, len(data), len(data), 1, last, 0, None, 1)


def _of_document(document: Document) -> Outline:
    """A document's sections; their addresses are the keys, which are unique."""
    sections = document.sections
    if not sections:
        return Outline((_whole(document.data)._replace(title=document.title),))
    numbers = numbers_of([section.level for section in sections], [section.parent for section in sections])
    ends = [section.end_line for section in sections]
    starts = [section.start for section in sections]
    entries = []
    for section, number in zip(sections, numbers, strict=True):
        last = bisect_left(starts, section.tree_end, section.position + 1) - 1
        first_line = document.lines.line_at(section.start) + 1
        entries.append(
            Entry(
                section.key,
                section.title,
                section.level,
                number,
                section.start,
                section.end,
                section.tree_end,
                section.line,
                ends[last],
                section.position,
                section.parent,
                first_line,
            )
        )
    return Outline(tuple(entries))


def numbers_of(levels: Sequence[int], parents: Sequence[int | None]) -> list[str]:
    """The number of each part among its siblings, after its parent's: `3.1.2`; empty for a preamble."""
    counts: dict[int | None, int] = {}
    numbers: list[str] = []
    for level, parent in zip(levels, parents, strict=True):
        if not level:
            numbers.append("")
            continue
        counts[parent] = counts.get(parent, 0) + 1
        above = "" if parent is None else f"{numbers[parent]}."
        numbers.append(f"{above}{counts[parent]}")
    return numbers


__all__ = ["Entry", "Outline", "numbers_of", "outline_of"]
