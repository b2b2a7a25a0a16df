"""Sections: the parts of a document that have an address, and how they get it.

The address rule in short: an explicit anchor is the address, whole; else it is the parent's address, a slash
and the heading's slug, numbered among siblings. The first H1 is the title: it stands in `_preamble`, not in
any address.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.headings import PREAMBLE, read_headings
from workspace.lines import BLANK
from workspace.slugs import Names, heading_slug

if TYPE_CHECKING:
    from workspace.anchors import AnchorForm
    from workspace.headings import AnchoredHeading
    from workspace.lines import Lines
    from workspace.markdown import Outline


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a document, or its preamble (level 0, address `_preamble`), which may have no heading.

    Offsets are bytes: [start, end) is the section's own text with its heading (and HTML anchors on lines just
    above it), [body, end) the same without them, [start, tree_end) also holds its subsections.
    `heading_start` is where the heading's own line begins. Lines count from 1 and are inclusive; `line` is
    the heading's. `key` is the address made unique in the file: where several headings have one address, it
    is `errors~1`, `errors~2`, and `errors` alone names none of them.
    """

    position: int
    address: str
    key: str
    title: str
    level: int
    line: int
    end_line: int
    start: int
    heading_start: int
    body: int
    end: int
    tree_end: int
    parent: int | None
    slug: str
    heading: AnchoredHeading | None

    @property
    def is_preamble(self) -> bool:
        """Whether this is the title and introduction."""
        return self.level == 0

    @property
    def has_heading(self) -> bool:
        """Whether a heading begins it; only a preamble may have none."""
        return self.heading is not None

    @property
    def anchor(self) -> str | None:
        """Its explicit anchor. The title's is an alias of `_preamble`."""
        return self.heading.anchor if self.heading else None

    @property
    def form(self) -> AnchorForm | None:
        """How its anchor is written."""
        return self.heading.form if self.heading else None

    @property
    def aliases(self) -> tuple[str, ...]:
        """Further names that it answers to."""
        return self.heading.aliases if self.heading else ()


@dataclass(slots=True)
class _Block:
    """A heading, or (without one) the text before the first; `level` is 0 for the preamble."""

    heading: AnchoredHeading | None
    start: int
    title: str
    level: int
    parent: int | None = None
    tree_end: int = 0

    @property
    def anchor(self) -> str | None:
        """The anchor that is its address; the preamble has its own."""
        return self.heading.anchor if self.heading and self.level else None


def build_sections(
    lines: Lines, outline: Outline, front_matter_lines: int, metadata_title: str | None
) -> tuple[tuple[Section, ...], str | None]:
    """The sections of a document in order, and the title that it states: its first H1, else front matter's.

    The preamble comes first, but for one case: the first H1 is the preamble wherever it stands, unless text
    before the first heading is the preamble already; then that H1 still gives the title, and is a section.
    """
    body = lines.offset(front_matter_lines)
    blocks = [
        _Block(heading, lines.offset(heading.first_line), heading.title, heading.block.level)
        for heading in read_headings(lines, outline, front_matter_lines)
    ]
    first = blocks[0].start if blocks else len(lines.data)
    has_text = bool(lines.data[body:first].strip(BLANK))
    h1 = next((block for block in blocks if block.level == 1), None)
    title = (h1.title if h1 else None) or metadata_title
    if h1 and (h1 is blocks[0] or not has_text):
        h1.level = 0
    if blocks and blocks[0].level == 0:
        blocks[0].start = body
    elif has_text or (h1 is None and metadata_title):
        blocks.insert(0, _Block(None, body, title or "", 0))
    _nest(blocks, len(lines.data))
    return _sections(lines, blocks), title


def _nest(blocks: list[_Block], size: int) -> None:
    """Gives each block its parent, and the end of what stands below it. The title closes all before it."""
    open_blocks: list[int] = []
    for position, block in enumerate(blocks):
        while open_blocks and blocks[open_blocks[-1]].level >= block.level:
            blocks[open_blocks.pop()].tree_end = block.start
        if block.level == 0:
            following = position + 1
            block.tree_end = blocks[following].start if following < len(blocks) else size
            continue
        block.parent = open_blocks[-1] if open_blocks else None
        open_blocks.append(position)
    for position in open_blocks:
        blocks[position].tree_end = size


def _sections(lines: Lines, blocks: list[_Block]) -> tuple[Section, ...]:
    slugs = [heading_slug(block.title) for block in blocks]
    addresses = _addresses(blocks, slugs)
    counts = Counter(addresses)
    numbered = Names("~", 1, counts)
    sections: list[Section] = []
    for position, (block, address) in enumerate(zip(blocks, addresses, strict=True)):
        end = blocks[position + 1].start if position + 1 < len(blocks) else len(lines.data)
        heading = block.heading.block if block.heading else None
        line = heading.line if heading else lines.line_at(block.start)
        sections.append(
            Section(
                position=position,
                address=address,
                key=address if counts[address] == 1 else numbered.give(address),
                title=block.title,
                level=block.level,
                line=line + 1,
                end_line=max(line, lines.line_at(max(block.start, end - 1))) + 1,
                start=block.start,
                heading_start=lines.offset(line) if heading else block.start,
                body=lines.offset(heading.end) if heading else block.start,
                end=end,
                tree_end=block.tree_end,
                parent=block.parent,
                slug=slugs[position],
                heading=block.heading,
            )
        )
    return tuple(sections)


def _addresses(blocks: list[_Block], slugs: list[str]) -> list[str]:
    """Explicit anchors as they are; else the parent's address and the slug, numbered among siblings."""
    explicit = {PREAMBLE, *(block.anchor for block in blocks if block.anchor)}
    siblings: dict[int | None, Names] = {}
    addresses: list[str] = []
    for block, slug in zip(blocks, slugs, strict=True):
        if block.level == 0:
            addresses.append(PREAMBLE)
        elif block.anchor:
            addresses.append(block.anchor)
        else:
            names = siblings.setdefault(block.parent, Names("-", 1, explicit))
            prefix = "" if block.parent is None else addresses[block.parent] + "/"
            addresses.append(names.give(prefix + slug))
    return addresses


__all__ = ["PREAMBLE", "Section", "build_sections"]
