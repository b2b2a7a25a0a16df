"""Mentions of people in a text, such as `@ana`: outside of code, links, raw HTML and addresses."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from workspace.errors import LimitExceeded
from workspace.markdown.html.page import MarkdownFeatures
from workspace.markdown.html.reader import read_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markdown_it.token import Token

MENTION_TOKEN = "mention"
"""The type of the token of a marked mention; `meta["name"]` is the name of the person."""

MAX_MENTIONS = 50
"""The maximum number of people whom one text mentions."""

_MAX_CACHED_TEXTS = 5_000

# `@team/docs` is a team, and `ana@example.org` an address.
_MENTION = re.compile(r"(?<![\w.@/+-])@(\w(?:[\w.-]*\w)?)(?![\w@/]|[.-]\w)")


@lru_cache(_MAX_CACHED_TEXTS)
def list_mentions(text: str) -> tuple[str, ...]:
    """Return the handles that a Markdown text mentions, without `@`, each once; 50 at most."""
    if _MENTION.search(text) is None:
        return ()
    try:
        tokens = read_page(text, MarkdownFeatures(breaks=True)).tokens
    except LimitExceeded:
        return ()
    handles = (
        match[1]
        for children, position in _list_plain_texts(tokens)
        for match in _MENTION.finditer(children[position].content)
    )
    return tuple(dict.fromkeys(handles))[:MAX_MENTIONS]


def mark_mentions(tokens: Sequence[Token], names: Mapping[str, str]) -> None:
    """Replace the mentions in the texts of a page by tokens; `names` are people's names by their mentions."""
    # Imported late, because the library is imported at the first use of a parser.
    from workspace.markdown.library import Token

    for children, position in reversed([*_list_plain_texts(tokens)]):
        text, end = children[position].content, 0
        parts: list[Token] = []
        for match in _MENTION.finditer(text):
            if (name := names.get(match[1])) is not None:
                parts.append(Token("text", "", 0, content=text[end : match.start()]))
                parts.append(Token(MENTION_TOKEN, "", 0, content=match[0], meta={"name": name}))
                end = match.end()
        if parts:
            children[position : position + 1] = [*parts, Token("text", "", 0, content=text[end:])]


def _list_plain_texts(tokens: Sequence[Token]) -> Iterator[tuple[list[Token], int]]:
    """Yield the texts outside of links: the tokens of a block's text, and the text's position."""
    for token in tokens:
        children = token.children if token.type == "inline" and token.children else []
        link_depth = 0
        for position, child in enumerate(children):
            if child.type in ("link_open", "link_close"):
                link_depth += child.nesting
            elif child.type == "text" and not link_depth:
                yield children, position
