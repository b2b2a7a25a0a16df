"""Outlines of texts other than Markdown: headings get addresses by the rule of documents."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.sections import find_parents_and_ends
from workspace.markdown.lines import BLANK
from workspace.markdown.slugs import PREAMBLE, UniqueNames, make_heading_slug

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.markdown.lines import Lines

MAX_LEVEL = 6


class TextHeading(NamedTuple):
    """A heading: its words, its level, its line, and the first line that belongs to it, counted from 0."""

    title: str
    level: int
    line: int
    first_line: int


def promote_title(
    lines: Lines, headings: list[TextHeading], comments: tuple[bytes, ...]
) -> list[TextHeading]:
    """Return the headings; the first is the title (level 0) if it alone has the highest level.

    Nothing may stand before it but blank lines and what begins with one of `comments`. That is how
    reStructuredText promotes a lone top section, and what `= Title` is in AsciiDoc.
    """
    if not headings or headings[0].level != 1 or any(heading.level == 1 for heading in headings[1:]):
        return headings
    above = map(lines.raw, range(headings[0].first_line))
    if any(line.strip() and not line.startswith(comments) for line in above):
        return headings
    return [headings[0]._replace(level=0), *headings[1:]]


def build_entries(lines: Lines, headings: Sequence[TextHeading]) -> tuple[OutlineEntry, ...]:
    """Return the parts that begin with these headings; text before the first is `_preamble`.

    There is always one. A title (level 0) begins the preamble, and blank lines belong to what they stand in.
    """
    data = lines.data
    headings = [_title_on_top(headings[0]), *headings[1:]] if headings and not headings[0].level else headings
    begin = lines.offset(headings[0].first_line) if headings else len(data)
    if not headings or (headings[0].level and data[:begin].strip(BLANK)):
        headings = [TextHeading("", 0, 0, 0), *headings]
    starts = [0, *(lines.offset(heading.first_line) for heading in headings[1:])]
    levels = [min(heading.level, MAX_LEVEL) for heading in headings]
    parents, ends = find_parents_and_ends(levels, range(len(levels)), len(levels))
    numbers = number_entries(levels, parents)
    bounds = [*starts, len(data)]
    firsts = [*(heading.first_line for heading in headings), len(lines)]
    addresses = _addresses(headings, parents)
    return tuple(
        OutlineEntry(
            address=addresses[position],
            title=heading.title,
            level=levels[position],
            number=numbers[position],
            start=bounds[position],
            end=bounds[position + 1],
            tree_end=bounds[ends[position]],
            line=heading.line + 1,
            end_line=max(heading.line + 1, firsts[ends[position]]),
            position=position,
            parent=parents[position],
            first_line=heading.first_line + 1 if position else 1,
        )
        for position, heading in enumerate(headings)
    )


def _title_on_top(title: TextHeading) -> TextHeading:
    return title._replace(first_line=0)


def _addresses(headings: Sequence[TextHeading], parents: Sequence[int | None]) -> list[str]:
    """Return the parent's address, a slash and the slug, numbered among siblings."""
    siblings: dict[int | None, UniqueNames] = {}
    addresses: list[str] = []
    for heading, parent in zip(headings, parents, strict=True):
        if not heading.level:
            addresses.append(PREAMBLE)
            continue
        slug = make_heading_slug(heading.title)
        names = siblings.setdefault(parent, UniqueNames("-", 1, (PREAMBLE,)))
        addresses.append(names.give(slug if parent is None else f"{addresses[parent]}/{slug}"))
    return addresses


class OutlineEntry(NamedTuple):
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
class TextOutline:
    """The parts of a text in order; there is always one. Their own texts follow one another without a gap.

    The last ends with the file. What stands before the first is only front matter, a byte-order mark and
    blank lines. `reason` says why a text that may have parts shows none; it is None otherwise.
    """

    entries: tuple[OutlineEntry, ...]
    reason: str | None = None

    @cached_property
    def _by_address(self) -> Mapping[str, OutlineEntry]:
        return {entry.address: entry for entry in self.entries}

    def by_address(self, address: str) -> OutlineEntry | None:
        """Return the part that has this very address."""
        return self._by_address.get(address)

    @cached_property
    def _children(self) -> Mapping[int | None, tuple[OutlineEntry, ...]]:
        found: dict[int | None, list[OutlineEntry]] = {}
        for entry in self.entries:
            if entry.level:
                found.setdefault(entry.parent, []).append(entry)
        return {parent: tuple(entries) for parent, entries in found.items()}

    def children(self, entry: OutlineEntry | None) -> tuple[OutlineEntry, ...]:
        """Return the parts directly below one; of None, the top ones (the preamble is not one of them)."""
        return self._children.get(None if entry is None else entry.position, ())

    @cached_property
    def _starts(self) -> list[int]:
        return [entry.start for entry in self.entries]

    def descendants(self, entry: OutlineEntry) -> tuple[OutlineEntry, ...]:
        """Return every part below one, in order."""
        return self.entries[entry.position + 1 : bisect_left(self._starts, entry.tree_end)]


def number_entries(levels: Sequence[int], parents: Sequence[int | None]) -> list[str]:
    """Return the number of each part among its siblings, after its parent's (`3.1.2`); "" for a preamble."""
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
