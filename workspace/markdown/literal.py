"""Which lines hold text that stands for nothing but itself: code, and HTML blocks."""

from __future__ import annotations

from workspace.markdown.parser import read_blocks

_LITERAL = ("fence", "code_block", "html_block")


def literal_lines(text: str) -> list[tuple[int, int]]:
    """The lines [line, end) of each code block and HTML block of a document, in lists and quotations too.

    Raises LimitExceeded for a text of too many blocks.
    """
    tokens = read_blocks(text, is_document=True)
    return [(token.map[0], token.map[1]) for token in tokens if token.type in _LITERAL and token.map]
