"""Sections: the parts of a document that have an address, and how they get it.

The address rule in short: an explicit anchor is the address, whole; else it is the parent's address, a slash
and the heading's slug, numbered among siblings. The first H1 is the title: it stands in `_preamble`, not in
any address.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace.headings import PREAMBLE
from workspace.lines import BLANK
from workspace.slugs import Names, heading_slug

if TYPE_CHECKING:
    from workspace.anchors import AnchorForm
    from workspace.headings import AnchoredHeading
    from workspace.layout import Layout


class Section(NamedTuple):
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


class _Block(NamedTuple):
    """A heading, or (without one) the text before the first; `level` is 0 for the preamble.

    [start, body) are the bytes before its own text, `first_line` counts from 0.
    """

    heading: AnchoredHeading | None
    title: str
    level: int
    start: int
    first_line: int
    body: int

    @property
    def anchor(self) -> str | None:
        """The anchor that is its address; the preamble has its own."""
        return self.heading.anchor if self.heading and self.level else None


def build_sections(
    data: bytes, layout: Layout, metadata_title: str | None
) -> tuple[tuple[Section, ...], str | None]:
    """The sections of a document in order, and the title that it states: its first H1, else front matter's.

    The preamble comes first, but for one case: the first H1 is the preamble wherever it stands, unless text
    before the first heading is the preamble already; then that H1 still gives the title, and is a section.
    """
    body = layout.body
    blocks = [
        _Block(heading, heading.title, heading.block.level, heading.start, heading.first_line, heading.body)
        for heading in layout.headings
    ]
    has_text = bool(data[body : blocks[0].start if blocks else None].strip(BLANK))
    h1 = next((place for place, block in enumerate(blocks) if block.level == 1), None)
    title = (None if h1 is None else blocks[h1].title) or metadata_title
    if h1 is not None and (h1 == 0 or not has_text):
        blocks[h1] = blocks[h1]._replace(level=0)
    if blocks and blocks[0].level == 0:
        blocks[0] = blocks[0]._replace(start=body)
    elif has_text or (h1 is None and metadata_title):
        first_line = max(0, min(layout.front_matter_lines, layout.lines - 1))
        blocks.insert(0, _Block(None, title or "", 0, body, first_line, body))
    return _sections(blocks, len(data), max(0, layout.lines - 1)), title


def _nest(blocks: list[_Block], size: int) -> tuple[list[int | None], list[int]]:
    """The parent of each block, and the end of what stands below it. The title closes all before it."""
    parents: list[int | None] = []
    tree_ends = [size] * len(blocks)
    open_blocks: list[tuple[int, int]] = []
    for position, block in enumerate(blocks):
        level = block.level
        while open_blocks and open_blocks[-1][0] >= level:
            tree_ends[open_blocks.pop()[1]] = block.start
        if level == 0:
            parents.append(None)
            if position + 1 < len(blocks):
                tree_ends[position] = blocks[position + 1].start
            continue
        parents.append(open_blocks[-1][1] if open_blocks else None)
        open_blocks.append((level, position))
    return parents, tree_ends


def _sections(blocks: list[_Block], size: int, last_line: int) -> tuple[Section, ...]:
    parents, tree_ends = _nest(blocks, size)
    slugs = [heading_slug(block.title) for block in blocks]
    addresses = _addresses(blocks, parents, slugs)
    keys = _keys(addresses)
    sections: list[Section] = []
    for position, block in enumerate(blocks):
        heading = block.heading
        if position + 1 < len(blocks):
            end, end_line = blocks[position + 1].start, blocks[position + 1].first_line - 1
        else:
            end, end_line = size, last_line
        line = heading.block.line if heading else block.first_line
        sections.append(
            Section(
                position,
                addresses[position],
                keys[position],
                block.title,
                block.level,
                line + 1,
                max(line, end_line) + 1,
                block.start,
                heading.heading_start if heading else block.start,
                block.body,
                end,
                tree_ends[position],
                parents[position],
                slugs[position],
                heading,
            )
        )
    return tuple(sections)


def _addresses(blocks: list[_Block], parents: list[int | None], slugs: list[str]) -> list[str]:
    """Explicit anchors as they are; else the parent's address and the slug, numbered among siblings."""
    anchors = [block.anchor for block in blocks]
    explicit = {PREAMBLE, *filter(None, anchors)}
    siblings: dict[int | None, Names] = {}
    addresses: list[str] = []
    for block, anchor, parent, slug in zip(blocks, anchors, parents, slugs, strict=True):
        if block.level == 0:
            addresses.append(PREAMBLE)
        elif anchor:
            addresses.append(anchor)
        else:
            names = siblings.get(parent)
            if names is None:
                names = siblings[parent] = Names("-", 1, explicit)
            addresses.append(names.give(slug if parent is None else f"{addresses[parent]}/{slug}"))
    return addresses


def _keys(addresses: list[str]) -> list[str]:
    """The addresses, made unique where several sections have the same."""
    counts = Counter(addresses)
    if len(counts) == len(addresses):
        return addresses
    numbered = Names("~", 1, counts)
    return [address if counts[address] == 1 else numbered.give(address) for address in addresses]


__all__ = ["PREAMBLE", "Section", "build_sections"]
