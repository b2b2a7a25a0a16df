"""The one door to markdown-it-py: which lines are headings and list items, and where inline Markdown stands.

Blocks are found by CommonMark 0.31 with the inline rules off, which gives the same blocks several times
faster. Line numbers count from 0, line ends are exclusive, and a line ends at LF, CRLF or CR (CommonMark
§2.1). What a text may cost is bounded: by its lines, by its blocks, and by how deep they are nested.
"""

from workspace.markdown.inline import Leaf, LeafKind, normalized_label, plain_text, read_leaves, unescaped
from workspace.markdown.outline import (
    Heading,
    ListItem,
    Outline,
    absorbs,
    all_headings,
    closed_outline,
    code_fences,
    html_block_kind,
    may_have_nested_headings,
    outline,
)
from workspace.markdown.parser import MAX_LINES, MAX_TOKENS, check_lines, may_have_too_many_blocks

__all__ = [
    "MAX_LINES",
    "MAX_TOKENS",
    "Heading",
    "Leaf",
    "LeafKind",
    "ListItem",
    "Outline",
    "absorbs",
    "all_headings",
    "check_lines",
    "closed_outline",
    "code_fences",
    "html_block_kind",
    "may_have_nested_headings",
    "may_have_too_many_blocks",
    "normalized_label",
    "outline",
    "plain_text",
    "read_leaves",
    "unescaped",
]
