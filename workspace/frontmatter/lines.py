"""Find the lines of a key or a list item with its value."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from yaml import Node

# A line with its ending (YAML 1.1 §5.4).
_LINE = re.compile("[^\n\r\x85\u2028\u2029]*(?:\r\n|[\n\r\x85\u2028\u2029]|$)")
# Matched after the key or dash, so that a `*` in a quoted key is not read as an alias.
_ALIAS_COMMENT = re.compile(r"[^*]*\*\S+[ \t]+(#.*)")


class OwnLines(NamedTuple):
    """The lines [first_line, end_line) of a key or item with its value, and the comment after the value.

    Only a value of one line has a comment.
    """

    first_line: int
    end_line: int
    comment: str


class FrontMatterLayout:
    """Front matter, its lines as YAML counts them, and the character at which each line begins."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = [text for text in _LINE.findall(source) if text]
        self.starts = [0, *accumulate(map(len, self.lines))]

    def find_own_lines(
        self, first_line: int, start: int, key_end: int, value: Node, next_line: int
    ) -> OwnLines:
        """Return the lines of the key or item that begins on `first_line`, at character `start`.

        The key or the dash of the item ends at character `key_end`. The next key or item begins on
        `next_line`.
        """
        end, comment = value.end_mark.line, ""
        if value.start_mark.index < start:
            # The node of an alias is the anchored value, which is at an earlier position.
            end = next_line
            match = _ALIAS_COMMENT.match(self.lines[first_line], max(0, key_end - self.starts[first_line]))
            comment = match[1].strip() if match else ""
        elif end == first_line:
            text_after_value = self.lines[end][value.end_mark.column :].strip()
            comment = text_after_value if text_after_value.startswith("#") else ""
            end += 1
        elif value.end_mark.column > 0:
            end += 1
        # A block value ends at the next key, without the comments and blank lines before that key.
        # In an indented literal text, `#` does not begin a comment.
        is_literal = getattr(_find_last_value(value), "style", None) in ("|", ">")
        margin = " " * (start - self.starts[first_line] + 1) if is_literal else ""
        end = min(end, next_line)
        while end - 1 > first_line and _is_blank_or_comment(self.lines[end - 1], margin):
            end -= 1
        return OwnLines(first_line, end, comment)


def _find_last_value(node: Any) -> Node:
    """Return the innermost last value of a block, without following an alias."""
    while isinstance(node.value, list) and node.value and not node.flow_style:
        item = node.value[-1]
        value = item[1] if isinstance(item, tuple) else item
        if not node.start_mark.index <= value.start_mark.index <= node.end_mark.index:
            break
        node = value
    return cast("Node", node)


def _is_blank_or_comment(line: str, margin: str) -> bool:
    """Return True if a line is blank, or a comment that does not begin with `margin`."""
    stripped_line = line.strip()
    return not stripped_line or (stripped_line.startswith("#") and not (margin and line.startswith(margin)))
