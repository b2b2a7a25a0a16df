"""How headings of a text that is no Markdown become its outline: by the address rule of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.sections import PREAMBLE, nest
from workspace.document.slugs import Names, heading_slug
from workspace.markdown.lines import BLANK
from workspace.texts.outline import Entry, numbers_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.markdown.lines import Lines

MAX_LEVEL = 6


class Heading(NamedTuple):
    """A heading: its words, its level, its line, and the first line that belongs to it, counted from 0."""

    title: str
    level: int
    line: int
    first_line: int


def with_title(lines: Lines, headings: list[Heading], comments: tuple[bytes, ...]) -> list[Heading]:
    """The headings, the first of which is the text's title (level 0) if none but it is of the highest level.

    Nothing may stand before it but blank lines and what begins with one of `comments`. That is how
    reStructuredText promotes a lone top section, and what `= Title` is in AsciiDoc.
    """
    if not headings or headings[0].level != 1 or any(heading.level == 1 for heading in headings[1:]):
        return headings
    above = map(lines.raw, range(headings[0].first_line))
    if any(line.strip() and not line.startswith(comments) for line in above):
        return headings
    return [headings[0]._replace(level=0), *headings[1:]]


def entries_of(lines: Lines, headings: Sequence[Heading]) -> tuple[Entry, ...]:
    """The parts that begin with these headings; what stands before the first is `_preamble`, if it has text.

    There is always one. A title (level 0) begins the preamble, and blank lines belong to what they stand in.
    """
    data = lines.data
    headings = [_title_on_top(headings[0]), *headings[1:]] if headings and not headings[0].level else headings
    begin = lines.offset(headings[0].first_line) if headings else len(data)
    if not headings or (headings[0].level and data[:begin].strip(BLANK)):
        headings = [Heading("", 0, 0, 0), *headings]
    starts = [0, *(lines.offset(heading.first_line) for heading in headings[1:])]
    levels = [min(heading.level, MAX_LEVEL) for heading in headings]
    parents, ends = nest(levels, range(len(levels)), len(levels))
    numbers = numbers_of(levels, parents)
    bounds = [*starts, len(data)]
    firsts = [*(heading.first_line for heading in headings), len(lines)]
    addresses = _addresses(headings, parents)
    return tuple(
        Entry(
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


def _title_on_top(title: Heading) -> Heading:
    return title._replace(first_line=0)


def _addresses(headings: Sequence[Heading], parents: Sequence[int | None]) -> list[str]:
    """The parent's address, a slash and the slug, numbered among siblings."""
    siblings: dict[int | None, Names] = {}
    addresses: list[str] = []
    for heading, parent in zip(headings, parents, strict=True):
        if not heading.level:
            addresses.append(PREAMBLE)
            continue
        slug = heading_slug(heading.title)
        names = siblings.setdefault(parent, Names("-", 1, (PREAMBLE,)))
        addresses.append(names.give(slug if parent is None else f"{addresses[parent]}/{slug}"))
    return addresses
