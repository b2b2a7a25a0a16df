"""A text that was read for a page: what the reader gives to the writer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


class Features(NamedTuple):
    """Extensions of GitHub's Markdown to read; `breaks` makes a line break of each line end."""

    wiki: bool = False
    math: bool = False
    breaks: bool = False


class ParsedPage(NamedTuple):
    """Hold a text that was read; `is_cut` is True if blocks behind the limit are missing."""

    tokens: list[Token]
    parser: MarkdownIt
    features: Features
    is_cut: bool
