"""The headings and list items of a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from workspace.markdown.parser import check_line_count, read_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

_LITERAL_TYPES = ("fence", "code_block", "html_block")
_NESTED_HEADING_STARTS = (b" #", b"\t#", b">#")
_LINE = rb"(?:\A|[\r\n])"
_NESTED_HEADING = re.compile(_LINE + rb"[ \t>*+\-0-9.)]+#{1,6}(?=[ \t\r\n]|\Z)")
# The mark comes first in the pattern, so that the search stops only at marks.
_UNDERLINE = re.compile(rb"[=\-](?<=[ \t>].)(?:=*|-*)[ \t]*(?=[\r\n]|\Z)")
_NESTED_UNDERLINE = re.compile(_LINE + rb"[ \t>]+(?:=+|-+)[ \t]*(?=[\r\n]|\Z)")


class Heading(NamedTuple):
    """A heading. `source` is its inline Markdown; lines are [line, end)."""

    level: int
    line: int
    end: int
    source: str
    is_setext: bool


@dataclass(frozen=True, slots=True)
class ListItem:
    """A list item outside quotations. `source` is its first paragraph.

    The paragraph's lines are [paragraph_line, paragraph_end).
    """

    line: int
    end: int
    paragraph_line: int
    paragraph_end: int
    source: str
    parent: int | None


@dataclass(frozen=True, slots=True)
class BlockOutline:
    """The blocks that define a document's structure, in order.

    `front_matter_lines` counts the lines of the front matter with both marks; it is 0 without front matter.
    `depth` is the deepest nesting of list items and quotations. `literal_lines` are the lines [line, end) of
    each code block and HTML block, at any depth.
    """

    front_matter_lines: int
    headings: tuple[Heading, ...]
    items: tuple[ListItem, ...]
    depth: int = 0
    literal_lines: tuple[tuple[int, int], ...] = ()


def read_outline(text: str, *, is_document: bool = False, first_line: int = 0) -> BlockOutline:
    """Return the headings and list items of a text, whose first line has the number `first_line`.

    Front matter is read only if `is_document` is True.

    Raises LimitExceeded for a text of too many lines or blocks.
    """
    check_line_count(text.count("\n") + text.count("\r") - text.count("\r\n"))
    tokens = read_blocks(text, is_document=is_document, first_line=first_line)
    front_matter_lines = next(
        (token.map[1] for token in tokens if token.type == "front_matter" and token.map), 0
    )
    items, depth = _list_items(tokens)
    literal_lines = tuple(
        (token.map[0], token.map[1]) for token in tokens if token.type in _LITERAL_TYPES and token.map
    )
    headings = tuple(_list_headings(tokens, max_depth=0))
    return BlockOutline(front_matter_lines, headings, items, depth, literal_lines)


def read_all_headings(text: str) -> list[Heading]:
    """Return every heading of a text without front matter, in order, including those in lists and quotations.

    Raises LimitExceeded for a text of too many blocks.
    """
    return list(_list_headings(read_blocks(text)))


def may_have_nested_headings(data: bytes) -> bool:
    """Return True if a heading may be in a list or quotation.

    The text is not parsed, so True can be a false positive.
    """
    if any(mark in data for mark in _NESTED_HEADING_STARTS) and _NESTED_HEADING.search(data):
        return True
    return _UNDERLINE.search(data) is not None and _NESTED_UNDERLINE.search(data) is not None


def _list_headings(tokens: Sequence[Token], max_depth: int | None = None) -> Iterator[Heading]:
    """Yield the headings among tokens, without those that more than `max_depth` blocks enclose.

    If `max_depth` is None, yield all headings.
    """
    for position, token in enumerate(tokens):
        if token.type == "heading_open" and token.map and (max_depth is None or token.level <= max_depth):
            (line, end), source = token.map, tokens[position + 1].content
            yield Heading(int(token.tag[1]), line, end, source, token.markup in ("=", "-"))


def find_code_fences(text: str) -> list[tuple[list[int], str, str, int]]:
    """Return the lines [line, end), mark, info string and line count of each code fence at any depth."""
    tokens = read_blocks(f"{text}\n")
    fences = [token for token in tokens if token.type == "fence"]
    return [(fence.map or [], fence.markup, fence.info, fence.content.count("\n")) for fence in fences]


def find_fenced_texts(text: str, info: str) -> list[tuple[int, int, str]]:
    """Return the lines [line, end) and content of each code fence with an info string, at the top level."""
    return [
        (token.map[0], token.map[1], token.content)
        for token in read_blocks(f"{text}\n")
        if token.type == "fence" and token.level == 0 and token.info.strip() == info and token.map
    ]


def would_absorb_headings(text: str, next_text: str) -> bool:
    """Return True if a text would absorb headings of the next text, as an open code fence does."""
    next_start = text.count("\n") + 1
    expected = read_outline(next_text, first_line=next_start).headings
    headings = read_outline(f"{text}\n{next_text}").headings
    return headings[len(headings) - len(expected) :] != expected


def read_closed_outline(text: str) -> BlockOutline | None:
    """Return the outline of a text; None if it ends in an open code fence, comment or HTML block."""
    outline = read_outline(f"{text}\n\n# x")
    if not outline.headings or outline.headings[-1].line != text.count("\n") + 2:
        return None
    return BlockOutline(0, outline.headings[:-1], outline.items, outline.depth)


def _list_items(tokens: Sequence[Token]) -> tuple[tuple[ListItem, ...], int]:
    """Return the list items outside quotations, and the nesting depth of lists and quotations."""
    items: list[ListItem] = []
    open_items: list[int] = []
    quotation_depth = depth = max_depth = 0
    for position, token in enumerate(tokens):
        if token.type in ("blockquote_open", "list_item_open"):
            depth += 1
            max_depth = max(max_depth, depth)
        elif token.type in ("blockquote_close", "list_item_close"):
            depth -= 1
        if token.type == "blockquote_open":
            quotation_depth += 1
        elif token.type == "blockquote_close":
            quotation_depth -= 1
        elif quotation_depth:
            continue
        elif token.type == "list_item_open" and token.map:
            parent = open_items[-1] if open_items else None
            open_items.append(len(items))
            line, end = token.map
            next_token = tokens[position + 1]
            source, paragraph = "", (line, line + 1)
            if next_token.type == "paragraph_open" and next_token.map:
                source, paragraph = tokens[position + 2].content, (next_token.map[0], next_token.map[1])
            items.append(ListItem(line, end, *paragraph, source, parent))
        elif token.type == "list_item_close":
            open_items.pop()
    return tuple(items), max_depth


def detect_html_block_kind(line: str) -> int:
    """Return the kind (1 to 7) of HTML block that a line begins (CommonMark 0.31 §4.6), else 0.

    The line is passed without its indentation.
    """
    from workspace.markdown.library import HTML_SEQUENCES

    return next((kind for kind, (begin, _, _) in enumerate(HTML_SEQUENCES, 1) if begin.search(line)), 0)
