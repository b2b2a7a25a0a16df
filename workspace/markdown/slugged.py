"""Headings at any depth: those in lists and quotations have fragments too, though no sections."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from workspace.markdown.outlines import Heading
from workspace.markdown.parsers import block_parser

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_MARKED = (b" #", b"\t#", b">#")
_LINE = rb"(?:\A|[\r\n])"
_IN_BLOCK = re.compile(_LINE + rb"[ \t>*+\-0-9.)]+#{1,6}(?=[ \t\r\n]|\Z)")
_UNDERLINE_IN_BLOCK = re.compile(_LINE + rb"[ \t>]+(?:=+|-+)[ \t]*(?=[\r\n]|\Z)")


def may_have_nested_headings(data: bytes) -> bool:
    """Whether a heading may stand in a list or quotation: told without parsing, so True may be wrong."""
    if any(mark in data for mark in _MARKED) and _IN_BLOCK.search(data):
        return True
    return _UNDERLINE_IN_BLOCK.search(data) is not None


def all_headings(text: str) -> list[Heading]:
    """Every heading of a text without front matter, in order, those in lists and quotations included.

    Raises LimitExceeded for a text of too many blocks.
    """
    tokens = _parser().parse(text)
    return [
        Heading(int(at.tag[1]), at.map[0], at.map[1], inline.content, at.markup in ("=", "-"))
        for at, inline in pairwise(tokens)
        if at.type == "heading_open" and at.map
    ]


@cache
def _parser() -> MarkdownIt:
    return block_parser()
