"""Headings merged: their level, their words and their anchors, each for itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.heading_text import heading_splices
from workspace.document.headings import rewritten
from workspace.document.spacing import end_of_text, start_of_text
from workspace.document.splices import Splice, spliced
from workspace.merge.three_way import CLASH, three_way

if TYPE_CHECKING:
    from workspace.document.document import Document, Section


class Heading(NamedTuple):
    """A heading in its parts: the lines with anchors above it, anchors before its words, words, and after.

    `below` are the attribute lists on the lines below it.
    """

    above: bytes
    prefix: str
    words: str
    suffix: str
    below: bytes


def heading_bytes(document: Document, section: Section, level: int | None = None) -> bytes:
    """The lines of a section's heading with the anchors above it, at a level; no line ending behind them."""
    data = document.data
    start = start_of_text(data, section.start, section.body)
    end = end_of_text(data, start, section.body)
    if level is None or level == section.level or section.heading is None or section.is_preamble:
        return data[start:end]
    splices = heading_splices(document, section, level=level)
    return spliced(data[:end], splices)[start:]


def merged_heading(
    base: tuple[Document, Section] | None,
    ours: tuple[Document, Section],
    theirs: tuple[Document, Section],
    level: int,
) -> bytes | None:
    """The heading of three versions at a level; None where both sides changed one part of it differently."""
    texts = [None if side is None else heading_bytes(*side, level) for side in (base, ours, theirs)]
    merged = three_way(*texts)
    if merged is not CLASH:
        return merged or b""
    parts = [None if side is None else _parts(*side) for side in (base, ours, theirs)]
    if parts[0] is None or parts[1] is None or parts[2] is None:
        return None
    above, prefix, words, suffix, below = (three_way(*versions) for versions in zip(*parts, strict=True))
    if above is CLASH or prefix is CLASH or words is CLASH or suffix is CLASH or below is CLASH:
        return None
    document, section = ours
    assert section.heading is not None
    start, end, text = rewritten(document.lines, section.heading.block, f"{prefix}{words}{suffix}")
    first = start_of_text(document.data, section.start, section.body)
    splices = (
        heading_splices(document, section, level=level, within=[Splice(start, end, text)])
        if level != section.level and not section.is_preamble
        else [Splice(start, end, text)]
    )
    if above != parts[1].above:
        splices.append(Splice(first, section.heading_start, above))
    stop = end_of_text(document.data, first, section.body)
    if below != parts[1].below:
        stop = end_of_text(document.data, first, section.heading.below_start)
    merged_bytes = spliced(document.data[:stop], splices)[first:]
    return merged_bytes if below == parts[1].below or not below else merged_bytes + document.ending + below


def _parts(document: Document, section: Section) -> Heading | None:
    if section.heading is None:
        return None
    first = start_of_text(document.data, section.start, section.body)
    text = section.heading.text
    above = document.data[first : section.heading_start]
    behind = section.heading.below_start
    below = document.data[behind : end_of_text(document.data, behind, section.body)]
    return Heading(above, text.prefix, text.words, text.suffix, below)
