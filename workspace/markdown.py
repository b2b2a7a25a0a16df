"""The one door to markdown-it-py: which lines are headings and list items, and what a heading says.

Blocks are found by CommonMark 0.31 with the inline rules off, which gives the same blocks several times
faster. Line numbers count from 0, line ends are exclusive, and a line ends at LF, CRLF or CR (CommonMark
§2.1).
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

_FRONT_MATTER_MARK = re.compile(r"---[ \t]*[\r\n]")
_INLINE_MARKUP = re.compile(r"[\\`*_\[\]<>&!~\n]")

# Longer texts are not headings that come again, and a cache of them would have no bound in bytes.
_CACHED_LENGTH = 200


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
    """A list item outside quotations. `source` is its first paragraph, lines [paragraph, paragraph_end)."""

    line: int
    end: int
    paragraph: int
    paragraph_end: int
    source: str
    parent: int | None


@dataclass(frozen=True, slots=True)
class Outline:
    """The blocks that a document's structure rests on, in order.

    `front_matter_lines` counts the lines of its front matter, both marks included; 0 if it has none.
    """

    front_matter_lines: int
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


def outline(text: str, *, is_document: bool = False, first_line: int = 0) -> Outline:
    """The headings and list items of a text that stands at `first_line`. Only a document has front matter."""
    # The plugin also takes `--- x` for a mark, with which CommonMark begins a paragraph.
    marked = is_document and _FRONT_MATTER_MARK.match(text) is not None
    tokens = _block_parser(front_matter=marked).parse("\n" * first_line + text)
    headings: list[Heading] = []
    front_matter_lines = 0
    for position, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            (line, end), source = token.map, tokens[position + 1].content
            headings.append(Heading(int(token.tag[1]), line, end, source, token.markup in ("=", "-")))
        elif token.type == "front_matter" and token.map:
            front_matter_lines = token.map[1]
    return Outline(front_matter_lines, tuple(headings), _list_items(tokens))


def absorbs(text: str, following: str) -> bool:
    """Whether headings right after a text would be read as a part of it: in an open code fence, say."""
    first = text.count("\n") + 1
    expected = outline(following, first_line=first).headings
    found = outline(f"{text}\n{following}").headings
    return found[len(found) - len(expected) :] != expected


def closed_outline(text: str) -> Outline | None:
    """The outline of a text; None if it ends in an open code fence, comment or HTML block."""
    found = outline(f"{text}\n\n# x")
    if not found.headings or found.headings[-1].line != text.count("\n") + 2:
        return None
    return Outline(0, found.headings[:-1], found.items)


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
            source, paragraph = "", (line, line + 1)
            if following.type == "paragraph_open" and following.map:
                source, paragraph = tokens[position + 2].content, (following.map[0], following.map[1])
            items.append(ListItem(line, end, *paragraph, source, parent))
        elif token.type == "list_item_close":
            open_items.pop()
    return tuple(items)


def plain_text(source: str) -> str:
    """Inline Markdown as a reader sees it: no emphasis, code marks, link targets, tags or images."""
    if not _INLINE_MARKUP.search(source):
        return source.strip()
    return _cached_plain_text(source) if len(source) <= _CACHED_LENGTH else _plain_text(source)


def _plain_text(source: str) -> str:
    words: list[str] = []
    for token in _inline_parser().parseInline(source)[0].children or ():
        if token.type in ("text", "code_inline"):
            words.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            words.append(" ")
    return "".join(words).strip()


_cached_plain_text = lru_cache(maxsize=16384)(_plain_text)
