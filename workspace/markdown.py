"""The one door to markdown-it-py: which lines are headings and list items, and what a heading says.

Blocks are found by CommonMark 0.31 with the inline rules off, which gives the same blocks several times faster.
Line numbers count from 0, line ends are exclusive, and a line ends at LF, CRLF or CR (CommonMark §2.1).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_INLINE_MARKUP = re.compile(r"[\\`*_\[\]<>&!~\n]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading outside every list and quotation. `source` is its inline Markdown; lines are [line, end)."""

    level: int
    line: int
    end: int
    source: str
    is_setext: bool


@dataclass(frozen=True, slots=True)
class ListItem:
    """A list item outside quotations. `source` is its first paragraph, on lines [line, paragraph_end)."""

    line: int
    end: int
    paragraph_end: int
    source: str
    marker: str
    parent: int | None


@dataclass(frozen=True, slots=True)
class Outline:
    """The blocks that a document's structure rests on. `front_matter` is its source and the line after it."""

    front_matter: tuple[str, int] | None
    headings: tuple[Heading, ...]
    items: tuple[ListItem, ...]


@cache
def _block_parser(*, front_matter: bool) -> MarkdownIt:
    # Imported here because a server answers its first questions without reading a document.
    from markdown_it import MarkdownIt
    from mdit_py_plugins.front_matter import front_matter_plugin

    parser = MarkdownIt("commonmark").disable("inline")
    if front_matter:
        parser.use(front_matter_plugin)
    parser.core.ruler.disable("text_join", ignoreInvalid=True)
    return parser


@cache
def _inline_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")


def outline(text: str, *, is_fragment: bool = False) -> Outline:
    """The front matter, headings and list items of a text, in order. A fragment of a document has no front matter."""
    tokens = _block_parser(front_matter=not is_fragment).parse(text)
    front_matter: tuple[str, int] | None = None
    headings: list[Heading] = []
    for position, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            source = tokens[position + 1].content
            setext = token.markup in ("=", "-")
            headings.append(Heading(int(token.tag[1]), token.map[0], token.map[1], source, setext))
        elif token.type == "front_matter" and token.map:
            front_matter = (token.content, token.map[1])
    return Outline(front_matter, tuple(headings), _list_items(tokens))


def _list_items(tokens: Sequence[Token]) -> tuple[ListItem, ...]:
    items: list[ListItem] = []
    open_items: list[int] = []
    quotations = 0
    for position, token in enumerate(tokens):
        if token.type == "blockquote_open":
            quotations += 1
        elif token.type == "blockquote_close":
            quotations -= 1
        elif quotations:
            continue
        elif token.type == "list_item_open" and token.map:
            parent = open_items[-1] if open_items else None
            open_items.append(len(items))
            line, end = token.map
            following = tokens[position + 1]
            if following.type == "paragraph_open" and following.map:
                source, paragraph_end = tokens[position + 2].content, following.map[1]
            else:
                source, paragraph_end = "", line + 1
            items.append(ListItem(line, end, paragraph_end, source, token.info + token.markup, parent))
        elif token.type == "list_item_close":
            open_items.pop()
    return tuple(items)


@lru_cache(maxsize=65536)
def plain_text(source: str) -> str:
    """Inline Markdown as a reader sees it: no emphasis, code marks, link targets, tags or images."""
    if not _INLINE_MARKUP.search(source):
        return source.strip()
    words: list[str] = []
    for token in _inline_parser().parseInline(source)[0].children or ():
        if token.type in ("text", "code_inline"):
            words.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            words.append(" ")
    return "".join(words).strip()
