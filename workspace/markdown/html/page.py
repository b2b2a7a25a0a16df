"""The parsed text of a page, which the reader returns and the writer renders."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


class MarkdownFeatures(NamedTuple):
    """The optional syntax of a text: wiki links, formulas, and, with `breaks`, line ends as line breaks."""

    wiki: bool = False
    math: bool = False
    breaks: bool = False


class ParsedPage(NamedTuple):
    """A parsed text; `is_cut` is True if blocks beyond the limit are missing."""

    tokens: list[Token]
    parser: MarkdownIt
    features: MarkdownFeatures
    is_cut: bool
