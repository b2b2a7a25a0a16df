"""The outline of a text, and outline entries for the headings of texts other than Markdown.

Addresses are derived from headings as in Markdown documents.
"""

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
    """A heading: its title, its level (0 for a document's title), its line, and the first line of its part.

    Lines count from 0. Comments, decorators or an overline may precede the line of the heading.
    """

    title: str
    level: int
    line: int
    first_line: int


def promote_title(
    lines: Lines, headings: list[TextHeading], comment_marks: tuple[bytes, ...]
) -> list[TextHeading]:
    """Return the headings, with level 0 for the first if it alone has the highest level.

    Only blank lines and lines that begin with a mark in `comment_marks` may precede it. reStructuredText
    promotes a single top section in this way, and AsciiDoc has `= Title`.
    """
    if not headings or headings[0].level != 1 or any(heading.level == 1 for heading in headings[1:]):
        return headings
    lines_above = map(lines.line_bytes, range(headings[0].first_line))
    if any(line.strip() and not line.startswith(comment_marks) for line in lines_above):
        return headings
    return [headings[0]._replace(level=0), *headings[1:]]


def build_entries(lines: Lines, headings: Sequence[TextHeading]) -> tuple[OutlineEntry, ...]:
    """Return the parts that begin with these headings; text before the first heading is `_preamble`.

    There is always at least one part. A title (level 0) begins the preamble. Blank lines before the first
    heading belong to the first part.
    """
    data = lines.data
    headings = (
        [_move_to_first_line(headings[0]), *headings[1:]] if headings and not headings[0].level else headings
    )
    first_start = lines.offset(headings[0].first_line) if headings else len(data)
    if not headings or (headings[0].level and data[:first_start].strip(BLANK)):
        headings = [TextHeading("", 0, 0, 0), *headings]
    starts = [0, *(lines.offset(heading.first_line) for heading in headings[1:])]
    levels = [min(heading.level, MAX_LEVEL) for heading in headings]
    parents, ends = find_parents_and_ends(levels, range(len(levels)), len(levels))
    numbers = number_entries(levels, parents)
    bounds = [*starts, len(data)]
    first_lines = [*(heading.first_line for heading in headings), len(lines)]
    addresses = _make_addresses(headings, parents)
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
            end_line=max(heading.line + 1, first_lines[ends[position]]),
            position=position,
            parent=parents[position],
            first_line=heading.first_line + 1 if position else 1,
        )
        for position, heading in enumerate(headings)
    )


def _move_to_first_line(title: TextHeading) -> TextHeading:
    return title._replace(first_line=0)


def _make_addresses(headings: Sequence[TextHeading], parents: Sequence[int | None]) -> list[str]:
    """Return the address of each heading: the parent's address, a slash and the slug.

    A number follows the slug if an earlier heading below the same parent has this slug.
    """
    siblings: dict[int | None, UniqueNames] = {}
    addresses: list[str] = []
    for heading, parent in zip(headings, parents, strict=True):
        if not heading.level:
            addresses.append(PREAMBLE)
            continue
        slug = make_heading_slug(heading.title)
        names = siblings.setdefault(parent, UniqueNames("-", 1, (PREAMBLE,)))
        addresses.append(names.make_unique(slug if parent is None else f"{addresses[parent]}/{slug}"))
    return addresses


class OutlineEntry(NamedTuple):
    """A part of a text: a section, a definition in source code, or `_preamble`.

    The preamble is the text before the first other part; without other parts, it is the full text.
    Offsets are bytes. [start, end) is the part's own text with its heading; [start, tree_end) includes the
    parts below it.

    Lines count from 1 and are inclusive. `first_line` is the line of `start`. `line` is that of the heading;
    HTML anchors and comments may precede that line. `end_line` is the last line, including the parts below.

    `level` is 1 to 6, and 0 only for `_preamble`. `number` is the outline number, such as `3.1.2`, and
    "" for the preamble. `position` and `parent` are indexes of the outline; a top part has no parent.
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
    def own_range(self) -> slice:
        """The bytes of the part's own text."""
        return slice(self.start, self.end)

    @property
    def tree_range(self) -> slice:
        """The bytes of the part's text and of all parts below it."""
        return slice(self.start, self.tree_end)


@dataclass(frozen=True)
class TextOutline:
    """The parts of a text in order; there is at least one. Their own texts are adjacent.

    The last part ends with the file. Only front matter, a byte-order mark and blank lines precede the
    first part.
    `single_part_reason` states why a text that may have parts has only one; it is None for other texts.
    """

    entries: tuple[OutlineEntry, ...]
    single_part_reason: str | None = None

    @cached_property
    def _by_address(self) -> Mapping[str, OutlineEntry]:
        return {entry.address: entry for entry in self.entries}

    def find_by_address(self, address: str) -> OutlineEntry | None:
        """Return the part with exactly this address; return None if it does not exist."""
        return self._by_address.get(address)

    @cached_property
    def _children(self) -> Mapping[int | None, tuple[OutlineEntry, ...]]:
        children: dict[int | None, list[OutlineEntry]] = {}
        for entry in self.entries:
            if entry.level:
                children.setdefault(entry.parent, []).append(entry)
        return {parent: tuple(entries) for parent, entries in children.items()}

    def children(self, entry: OutlineEntry | None) -> tuple[OutlineEntry, ...]:
        """Return the parts directly below an entry; for None, return the top parts without the preamble."""
        return self._children.get(None if entry is None else entry.position, ())

    @cached_property
    def _starts(self) -> list[int]:
        return [entry.start for entry in self.entries]

    def descendants(self, entry: OutlineEntry) -> tuple[OutlineEntry, ...]:
        """Return all parts below an entry, in order."""
        return self.entries[entry.position + 1 : bisect_left(self._starts, entry.tree_end)]


def number_entries(levels: Sequence[int], parents: Sequence[int | None]) -> list[str]:
    """Return the outline number of each part, such as `3.1.2`; "" for a preamble."""
    counts: dict[int | None, int] = {}
    numbers: list[str] = []
    for level, parent in zip(levels, parents, strict=True):
        if not level:
            numbers.append("")
            continue
        counts[parent] = counts.get(parent, 0) + 1
        prefix = "" if parent is None else f"{numbers[parent]}."
        numbers.append(f"{prefix}{counts[parent]}")
    return numbers
