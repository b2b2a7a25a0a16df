"""Which lines hold text that stands for nothing but itself: code, and HTML blocks."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from workspace.markdown.bounds import check_lines
from workspace.markdown.parsers import block_parser

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_FRONT_MATTER_MARK = re.compile(r"---[ \t]*[\r\n]")
_LITERAL = ("fence", "code_block", "html_block")


@cache
def _parser(*, front_matter: bool) -> MarkdownIt:
    return block_parser(front_matter=front_matter)


def literal_lines(text: str) -> list[tuple[int, int]]:
    """The lines [line, end) of each code block and HTML block of a document, in lists and quotations too.

    Raises LimitExceeded for a text of too many lines or blocks.
    """
    check_lines(text.count("\n") + text.count("\r") - text.count("\r\n"))
    marked = _FRONT_MATTER_MARK.match(text) is not None
    tokens = _parser(front_matter=marked).parse(text)
    return [(token.map[0], token.map[1]) for token in tokens if token.type in _LITERAL and token.map]
