"""Sections: the parts of a document with an address.

An explicit anchor is the full address. Otherwise the address is the parent's address, a slash and the
heading's slug; a number is added if this address is already used. The first H1 is the title. Usually it
belongs to `_preamble`, and to no other address; see `build_sections`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.headings import AnchoredHeading
from workspace.markdown.anchors import HeadingText
from workspace.markdown.lines import BLANK
from workspace.markdown.outline import Heading
from workspace.markdown.slugs import PREAMBLE, UniqueNames, make_heading_slug

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from workspace.document.headings import DocumentLayout
    from workspace.markdown.attribute_lists import AnchorForm


class Section(NamedTuple):
    """A section of a document, or its preamble (level 0, address `_preamble`), which may have no heading.

    Offsets are bytes. [start, end) is the section's own text with its heading and the HTML anchors on lines
    just above it. [body_start, end) is the own text without heading and anchors. [start, tree_end) includes
    the subsections; a preamble has none.
    `heading_start` is the start of the heading's own line. Lines count from 1 and are inclusive; `line` is
    the heading's line. `key` is the address made unique in the file. If several headings have one address,
    the keys are `errors~1`, `errors~2`, and `errors` alone is ambiguous.
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
    body_start: int
    end: int
    tree_end: int
    parent: int | None
    slug: str
    heading: AnchoredHeading | None

    @property
    def is_preamble(self) -> bool:
        """Return True if this is the title and introduction."""
        return self.level == 0

    @property
    def label(self) -> str:
        """The address for people, such as in the message of a commit: a preamble is `the introduction`."""
        return "the introduction" if self.is_preamble else self.key

    @property
    def has_heading(self) -> bool:
        """Return True if the section begins with a heading; only a preamble may have none."""
        return self.heading is not None

    @property
    def anchor(self) -> str | None:
        """The explicit anchor. The title's anchor is an alias of `_preamble`."""
        return self.heading.anchor if self.heading else None

    @property
    def anchor_form(self) -> AnchorForm | None:
        """The form of the anchor."""
        return self.heading.anchor_form if self.heading else None

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other anchors of the heading."""
        return self.heading.aliases if self.heading else ()


def build_sections(
    data: bytes, layout: DocumentLayout, metadata_title: str | None
) -> tuple[tuple[Section, ...], str | None]:
    """Return the sections of a document in order, and its title: the first H1, else `metadata_title`.

    The first H1 is the preamble, even after other headings. But if it comes after other headings, and there
    is text before them, that text is the preamble. The H1 is then a section, and still gives the title.
    """
    headings = layout.headings
    levels = [heading.block.level for heading in headings]
    h1_index = levels.index(1) if 1 in levels else None
    title = (None if h1_index is None else headings[h1_index].title) or metadata_title
    text_before_headings = data[layout.body_start : headings[0].start if headings else None]
    has_text = bool(text_before_headings.strip(BLANK))
    if h1_index is not None and (h1_index == 0 or not has_text):
        levels[h1_index] = 0
        if title and not headings[h1_index].title:
            titled_heading = headings[h1_index]._replace(title=title, slug=make_heading_slug(title))
            headings = [*headings[:h1_index], titled_heading, *headings[h1_index + 1 :]]
    elif has_text or (h1_index is None and metadata_title):
        headings = [_make_empty_heading(title or "", layout), *headings]
        levels.insert(0, 0)
    starts = [heading.start for heading in headings]
    if levels and levels[0] == 0:
        starts[0] = layout.body_start
    return _make_sections(headings, levels, starts, len(data), layout.line_count), title


def _make_empty_heading(title: str, layout: DocumentLayout) -> AnchoredHeading:
    """Return a heading of level 0 that covers no bytes, for a preamble without a heading."""
    line, start = max(0, min(layout.front_matter_lines, layout.line_count - 1)), layout.body_start
    block, text = Heading(0, line, line, "", False), HeadingText("", "", "", None, None, ())
    return AnchoredHeading(block, text, (), line, title, make_heading_slug(title), start, start, start)


def _make_sections(
    headings: Sequence[AnchoredHeading],
    levels: Sequence[int],
    starts: Sequence[int],
    document_size: int,
    line_count: int,
) -> tuple[Section, ...]:
    """Return the sections of these headings. Each section ends at the start of the next one."""
    parents, tree_ends = find_parents_and_ends(levels, starts, document_size)
    anchors_and_slugs = [(heading.anchor, heading.slug) for heading in headings]
    # Docyard 0.1.0 gave `## Errors { .wide }` another address, so `## Errors` after it had no number. The
    # later heading keeps its address without a number.
    numbered_last = {
        position
        for position, (anchor, _) in enumerate(anchors_and_slugs)
        if anchor is None and headings[position].text.suffix
    }
    addresses = assign_addresses(anchors_and_slugs, levels, parents, numbered_last)
    keys = assign_keys(addresses)
    ends = (*starts[1:], document_size)
    end_lines = (*(heading.first_line for heading in headings[1:]), line_count)
    sections: list[Section] = []
    for position, heading in enumerate(headings):
        block, _, _, _, title, slug, _, heading_start, body_start, _, _ = heading
        line = block.line + 1
        sections.append(
            Section(
                position,
                addresses[position],
                keys[position],
                title,
                levels[position],
                line,
                max(line, end_lines[position]),
                starts[position],
                heading_start,
                body_start,
                ends[position],
                tree_ends[position],
                parents[position],
                slug,
                heading if block.level else None,
            )
        )
    return tuple(sections)


def find_parents_and_ends(
    levels: Sequence[int], starts: Sequence[int], document_size: int
) -> tuple[list[int | None], list[int]]:
    """Return the position of each section's parent (None at the top), and the end of each section's subtree.

    `document_size` is the end of the last section. A preamble (level 0) closes all sections before it, and
    has no subsections.
    """
    parents: list[int | None] = []
    tree_ends = [document_size] * len(levels)
    open_sections: list[tuple[int, int]] = []
    for position, level in enumerate(levels):
        while open_sections and open_sections[-1][0] >= level:
            tree_ends[open_sections.pop()[1]] = starts[position]
        parents.append(open_sections[-1][1] if open_sections else None)
        if level:
            open_sections.append((level, position))
        elif position + 1 < len(levels):
            tree_ends[position] = starts[position + 1]
    return parents, tree_ends


def assign_addresses(
    anchors_and_slugs: Sequence[tuple[str | None, str]],
    levels: Sequence[int],
    parents: Sequence[int | None],
    numbered_last: Collection[int] = (),
) -> list[str]:
    """Return the address of each section, from its anchor and its slug.

    An explicit anchor is the address. Otherwise it is the parent's address and the slug; a number is added
    if an anchor or an earlier sibling has this address. Sections at the positions `numbered_last` get their
    addresses after their siblings.
    """
    anchors = [
        anchor if level else None for (anchor, _), level in zip(anchors_and_slugs, levels, strict=True)
    ]
    explicit_anchors = {PREAMBLE, *filter(None, anchors)}
    siblings: dict[int | None, UniqueNames] = {}
    addresses = [PREAMBLE] * len(anchors_and_slugs)
    for position in (
        _sort_for_numbering(parents, numbered_last) if numbered_last else range(len(anchors_and_slugs))
    ):
        anchor, parent = anchors[position], parents[position]
        if anchor:
            addresses[position] = anchor
        elif levels[position]:
            unique_names = siblings.get(parent)
            if unique_names is None:
                unique_names = siblings[parent] = UniqueNames("-", 1, explicit_anchors)
            slug = anchors_and_slugs[position][1]
            addresses[position] = unique_names.make_unique(
                slug if parent is None else f"{addresses[parent]}/{slug}"
            )
    return addresses


def _sort_for_numbering(parents: Sequence[int | None], numbered_last: Collection[int]) -> list[int]:
    """Return positions in an order with parents before children, and `numbered_last` after siblings."""
    depths: list[int] = []
    for parent in parents:
        depths.append(0 if parent is None else depths[parent] + 1)
    return sorted(
        range(len(parents)), key=lambda position: (depths[position], position in numbered_last, position)
    )


def assign_keys(addresses: list[str]) -> list[str]:
    """Return the addresses, made unique if several sections have the same address."""
    if len(set(addresses)) == len(addresses):
        return addresses
    counts = Counter(addresses)
    unique_keys = UniqueNames("~", 1, counts)
    return [address if counts[address] == 1 else unique_keys.make_unique(address) for address in addresses]


def build_breadcrumb(sections: Sequence[Section], section: Section) -> tuple[str, ...]:
    """Return the titles from the top section to this one, without the document's title."""
    titles = [section.title]
    while section.parent is not None:
        section = sections[section.parent]
        titles.append(section.title)
    return tuple(reversed(titles))


def derive_title(path: str) -> str:
    """Return the title of a document without a title: the stem of its file name."""
    return PurePosixPath(path).stem or "Untitled"
