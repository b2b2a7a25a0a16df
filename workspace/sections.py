"""Sections: the parts of a document that have an address, and how they get it.

The address rule in short: an explicit anchor is the address, whole; else it is the parent's address, a slash and the
heading's slug, numbered among siblings. The first H1 is the title: it stands in `_preamble`, not in any address.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace import anchors, markdown
from workspace.anchors import AnchorForm
from workspace.slugs import heading_slug

if TYPE_CHECKING:
    from workspace.anchors import HeadingText
    from workspace.lines import Lines
    from workspace.markdown import Heading

PREAMBLE = "_preamble"


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a document, or its preamble (level 0, address `_preamble`).

    Offsets are bytes: [start, end) is the section's own text with its heading (and HTML anchors on lines just above
    it), [body, end) the same without them, [start, tree_end) also holds its subsections. `heading_start` is where the
    heading's own line begins. Lines count from 1 and are inclusive; `line` is the heading's.
    `key` is the address made unique in the file (`errors~2` for a repeat).
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
    anchor: str | None
    form: AnchorForm | None
    slug: str
    aliases: tuple[str, ...]

    @property
    def is_preamble(self) -> bool:
        """Whether this is the title and introduction."""
        return self.level == 0


@dataclass(slots=True)
class _Block:
    """A heading with its anchors, or (without a heading) the text before the first one."""

    heading: Heading | None
    text: HeadingText
    above: tuple[str, ...]
    start: int
    title: str
    level: int
    parent: int | None = None
    tree_end: int = 0


def build_sections(
    lines: Lines, headings: tuple[Heading, ...], body: int, metadata_title: str | None
) -> tuple[tuple[Section, ...], str | None]:
    """The sections of a document in order, and the title that it states (its first H1, else its front matter's).

    `body` is the byte at which the front matter ends.
    """
    blocks = _blocks(lines, headings, body)
    first = blocks[0].start if blocks else len(lines.data)
    leading = bool(lines.data[body:first].strip())
    title_block = next((block for block in blocks if block.level == 1), None)
    title = title_block.title if title_block else metadata_title
    if title_block and (title_block is blocks[0] or not leading):
        title_block.level = 0
    if blocks and blocks[0].level == 0:
        blocks[0].start = body
    elif leading or (title_block is None and metadata_title):
        blocks.insert(0, _Block(None, anchors.read_heading(""), (), body, title or "", 0))
    _nest(blocks, len(lines.data))
    return _sections(lines, blocks), title or metadata_title


def _blocks(lines: Lines, headings: tuple[Heading, ...], body: int) -> list[_Block]:
    blocks: list[_Block] = []
    floor = lines.line_at(body) if body < len(lines.data) else len(lines)
    for heading in headings:
        text = anchors.read_heading(heading.source)
        first, above = _anchors_above(lines, heading.line, floor)
        floor = heading.end
        title = markdown.plain_text(text.words)
        blocks.append(_Block(heading, text, above, lines.offset(first), title, heading.level))
    return blocks


def _anchors_above(lines: Lines, heading: int, floor: int) -> tuple[int, tuple[str, ...]]:
    """The first of the lines just above a heading that hold its HTML anchors, and their names from the top down.

    One blank line may stand between them and the heading.
    """
    line = heading - 1
    if line >= floor and b"<" not in lines.raw(line) and not lines.raw(line).strip():
        line -= 1
    names: tuple[str, ...] = ()
    first = heading
    while line >= floor and b"<" in (raw := lines.raw(line)):
        text = raw.decode("utf-8", "replace")
        if not anchors.is_anchor_line(text):
            break
        names = anchors.html_names(text) + names
        first, line = line, line - 1
    return first, names


def _nest(blocks: list[_Block], size: int) -> None:
    """Gives each block its parent, and the end of what stands below it. The title closes all that went before it."""
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
    explicit = {PREAMBLE, *(name for block in blocks if block.level and (name := _explicit(block)))}
    siblings: dict[int | None, set[str]] = {}
    keys: set[str] = set()
    sections: list[Section] = []
    for position, block in enumerate(blocks):
        slug = heading_slug(block.title)
        anchor = _explicit(block)
        if block.level == 0:
            address = PREAMBLE
        elif anchor:
            address = anchor
        else:
            prefix = "" if block.parent is None else sections[block.parent].address + "/"
            taken = siblings.setdefault(block.parent, set())
            address = _first_free(prefix + slug, "-", 0, taken, explicit)
            taken.add(address)
        key = _first_free(address, "~", 1, keys, frozenset())
        keys.add(key)
        end = blocks[position + 1].start if position + 1 < len(blocks) else len(lines.data)
        line = block.heading.line if block.heading else lines.line_at(block.start)
        names = (*block.text.aliases, *block.above, *([block.text.name] if block.text.name else []))
        sections.append(
            Section(
                position=position,
                address=address,
                key=key,
                title=block.title,
                level=block.level,
                line=line + 1,
                end_line=max(line, lines.line_at(max(block.start, end - 1))) + 1,
                start=block.start,
                heading_start=lines.offset(line) if block.heading else block.start,
                body=lines.offset(block.heading.end) if block.heading else block.start,
                end=end,
                tree_end=block.tree_end,
                parent=block.parent,
                anchor=anchor,
                form=block.text.form or (AnchorForm.HTML if anchor else None),
                slug=slug,
                aliases=tuple(dict.fromkeys(name for name in names if name != anchor)),
            )
        )
    return tuple(sections)


def _explicit(block: _Block) -> str | None:
    """A heading's own anchor: in the heading, else the nearest above it. `_preamble` is not to be taken."""
    name = block.text.name or (block.above[-1] if block.above else None)
    return None if name == PREAMBLE else name


def _first_free(
    name: str, mark: str, number: int, taken: set[str], reserved: set[str] | frozenset[str]
) -> str:
    candidate = name
    while candidate in taken or candidate in reserved:
        number += 1
        candidate = f"{name}{mark}{number}"
    return candidate
