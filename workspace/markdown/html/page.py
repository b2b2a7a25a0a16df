"""The parsed text of a page, which the reader returns and the writer renders."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


class Features(NamedTuple):
    """The extensions of GitHub's Markdown to read; with `breaks`, each line end is a line break."""

    wiki: bool = False
    math: bool = False
    breaks: bool = False


class ParsedPage(NamedTuple):
    """A parsed text; `is_cut` is True if blocks beyond the limit are missing."""

    tokens: list[Token]
    parser: MarkdownIt
    features: Features
    is_cut: bool
