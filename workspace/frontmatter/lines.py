"""Find the lines of a key, or of an item, and of its value."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from yaml import Node

# YAML 1.1 §5.4: what ends a line.
_LINE = re.compile("[^\n\r\x85\u2028\u2029]*(?:\r\n|[\n\r\x85\u2028\u2029]|$)")
# Matched behind a key or dash, where what it holds in quotes is no alias.
_ALIAS_COMMENT = re.compile(r"[^*]*\*\S+[ \t]+(#.*)")


class OwnLines(NamedTuple):
    """The lines [first, end) of a key or item with its value; the comment behind a value of one line."""

    first: int
    end: int
    comment: str


class FrontMatterLayout:
    """Front matter, its lines as YAML counts them, and the character at which each begins."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = [text for text in _LINE.findall(source) if text]
        self.starts = [0, *accumulate(map(len, self.lines))]

    def own_lines(self, first: int, begin: int, behind: int, value: Node, following: int) -> OwnLines:
        """Return the lines of what begins on line `first`, at character `begin`, before line `following`.

        Its key or dash ends at character `behind`.
        """
        end, comment = value.end_mark.line, ""
        if value.start_mark.index < begin:
            # An alias stands for the value itself, which is elsewhere.
            end = following
            found = _ALIAS_COMMENT.match(self.lines[first], max(0, behind - self.starts[first]))
            comment = found[1].strip() if found else ""
        elif end == first:
            rest = self.lines[end][value.end_mark.column :].strip()
            comment = rest if rest.startswith("#") else ""
            end += 1
        elif value.end_mark.column > 0:
            end += 1
        # A block value ends where the next key begins; comments and blank lines above that are not its own.
        # In a literal text, which is indented, `#` begins no comment.
        is_literal = getattr(_last(value), "style", None) in ("|", ">")
        margin = " " * (begin - self.starts[first] + 1) if is_literal else ""
        end = min(end, following)
        while end - 1 > first and _is_outside(self.lines[end - 1], margin):
            end -= 1
        return OwnLines(first, end, comment)


def _last(node: Any) -> Node:
    """Return the value that stands last in a block; an alias, which stands elsewhere, is none."""
    while isinstance(node.value, list) and node.value and not node.flow_style:
        item = node.value[-1]
        following = item[1] if isinstance(item, tuple) else item
        if not node.start_mark.index <= following.start_mark.index <= node.end_mark.index:
            break
        node = following
    return cast("Node", node)


def _is_outside(line: str, margin: str) -> bool:
    """Return True if a line is blank, or a comment that does not begin with `margin`."""
    stripped = line.strip()
    return not stripped or (stripped.startswith("#") and not (margin and line.startswith(margin)))
