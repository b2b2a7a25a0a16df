"""Change a list or mapping in place: equal items keep their bytes, comments and quotes.

PyYAML's nodes give the position of each item. An item that cannot be changed in place is rewritten.
"""

from __future__ import annotations

import re
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from workspace.frontmatter.reader import have_equal_values_and_types
from workspace.frontmatter.writer import add_comment, indent_later_lines, write_inline, write_item, write_pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yaml import CollectionNode, Node

    from workspace.frontmatter.lines import FrontMatterLayout

TextSplice = tuple[int, int, str]
"""The characters [start, end) of front matter, and their replacement, whose lines end in LF."""


class NeedsRewrite(Exception):
    """An error: a value cannot be changed in place, so its key or item must be rewritten."""


class _Entry(NamedTuple):
    """The characters [start, end) of an item of a list, or of a pair of a mapping.

    The lines of its value end before `end_line`; `comment` follows the value.
    """

    start: int
    end: int
    value: Node
    end_line: int = 0
    comment: str = ""


def diff_nested(
    layout: FrontMatterLayout, node: Node, old: object, value: object, end: int
) -> list[TextSplice]:
    """Return the splices that change the list or mapping `old` to `value`.

    The lines of `node` end before line `end`. Raises NeedsRewrite.
    """
    import yaml

    # The node may not match the value: `<<` merges keys of another mapping, and `1` and `true` are the same
    # key.
    if not isinstance(node, yaml.MappingNode if isinstance(old, dict) else yaml.SequenceNode):
        raise NeedsRewrite
    parent = cast("CollectionNode", node)
    collection = (
        _FlowCollection(layout, parent, end) if parent.flow_style else _BlockCollection(layout, parent, end)
    )
    return collection.diff(old, value)


class _Collection:
    """A list or mapping in the source, and the splices of its entries."""

    def __init__(self, layout: FrontMatterLayout, node: CollectionNode, end: int) -> None:
        self.layout, self.node, self.end = layout, node, end
        self.entries: list[_Entry] = []

    def diff(self, old: Any, new: Any) -> list[TextSplice]:
        """Return the splices that change the old value to the new value."""
        if len(old) != len(self.entries):  # keys are merged by `<<`, or repeated
            raise NeedsRewrite
        if not (new or self.node.flow_style):  # an empty block would be read as null
            raise NeedsRewrite
        return self._diff_mapping(old, new) if isinstance(old, dict) else self._diff_list(old, new)

    def _diff_mapping(self, old: dict[Any, Any], new: dict[Any, Any]) -> list[TextSplice]:
        splices = self.remove([index for index, key in enumerate(old) if key not in new])
        for entry, (key, value) in zip(self.entries, old.items(), strict=True):
            if key in new:
                splices += self._diff_entry(entry, value, new[key], (key, new[key]))
        added_pairs = [(key, value) for key, value in new.items() if key not in old]
        return splices + self.insert(len(old), added_pairs)

    def _diff_list(self, old: list[Any], new: list[Any]) -> list[TextSplice]:
        shorter_length = min(len(old), len(new))
        equal_flags = [
            have_equal_values_and_types(left, right) for left, right in zip(old, new, strict=False)
        ]
        prefix_length = equal_flags.index(False) if False in equal_flags else shorter_length
        suffix_length = 0
        while suffix_length < shorter_length - prefix_length and have_equal_values_and_types(
            old[-1 - suffix_length], new[-1 - suffix_length]
        ):
            suffix_length += 1
        old_end, new_end = len(old) - suffix_length, len(new) - suffix_length
        splices: list[TextSplice] = []
        for index in range(prefix_length, min(old_end, new_end)):
            splices += self._diff_entry(self.entries[index], old[index], new[index], (new[index],))
        splices += self.remove(range(new_end, old_end))
        return splices + self.insert(old_end, [(item,) for item in new[old_end:new_end]])

    def _diff_entry(self, entry: _Entry, old: object, new: object, item: tuple[Any, ...]) -> list[TextSplice]:
        """Return the splices that change one entry; `item` is the new (value,) or (key, value)."""
        if have_equal_values_and_types(old, new):
            return []
        try:
            if entry.value.start_mark.index < entry.start:  # an alias
                raise NeedsRewrite
            if isinstance(old, (dict, list)) and type(old) is type(new):
                return diff_nested(self.layout, entry.value, old, new, entry.end_line)
            return [self.replace_value(entry.value, new)]
        except NeedsRewrite:
            return [self.rewrite(entry, item)]

    def replace_value(self, node: Node, value: object) -> TextSplice:
        """Return the splice that replaces a value within its line. Raises NeedsRewrite."""
        start, end, style = node.start_mark.index, node.end_mark.index, getattr(node, "style", None)
        is_block = style in ("|", ">") or start == end
        if (
            is_block
            or self.layout.source[start] in "&!"
            or not (self.node.flow_style or _is_scalar(node, value))
        ):
            raise NeedsRewrite
        return start, end, write_inline(value, style or None)

    def rewrite(self, entry: _Entry, item: tuple[Any, ...]) -> TextSplice:
        """Return the splice that rewrites an entry as (value,) or (key, value)."""
        raise NotImplementedError

    def remove(self, indexes: Sequence[int]) -> list[TextSplice]:
        """Return the splices that remove entries. Raises NeedsRewrite."""
        raise NotImplementedError

    def insert(self, index: int, items: Sequence[tuple[Any, ...]]) -> list[TextSplice]:
        """Return the splices that insert entries before the entry at `index`."""
        raise NotImplementedError


class _FlowCollection(_Collection):
    """A list or mapping in brackets or braces."""

    def __init__(self, layout: FrontMatterLayout, node: CollectionNode, end: int) -> None:
        super().__init__(layout, node, end)
        for item in node.value:
            nodes = item if isinstance(item, tuple) else (item,)
            entry_end = max(part.end_mark.index for part in nodes)
            self.entries.append(_Entry(nodes[0].start_mark.index, entry_end, nodes[-1]))
        bounds = [node.start_mark.index, *(bound for entry in self.entries for bound in entry[:2])]
        if any(left > right for left, right in pairwise([*bounds, node.end_mark.index])):
            raise NeedsRewrite  # an alias

    def rewrite(self, entry: _Entry, item: tuple[Any, ...]) -> TextSplice:
        return entry.start, entry.end, _write_flow_entry(item)

    def remove(self, indexes: Sequence[int]) -> list[TextSplice]:
        splices: list[TextSplice] = []
        for _, group in groupby(enumerate(indexes), lambda pair: pair[1] - pair[0]):
            adjacent_indexes = [index for _, index in group]
            start, end = self.entries[adjacent_indexes[0]].start, self.entries[adjacent_indexes[-1]].end
            if adjacent_indexes[-1] + 1 < len(self.entries):
                end = self.entries[adjacent_indexes[-1] + 1].start
            elif (
                adjacent_indexes[0]
                and "#" not in self.layout.source[self.entries[adjacent_indexes[0] - 1].end : start]
            ):
                start = self.entries[adjacent_indexes[0] - 1].end
            splices.append((start, end, ""))
        return splices

    def insert(self, index: int, items: Sequence[tuple[Any, ...]]) -> list[TextSplice]:
        if not items:
            return []
        text = ", ".join(map(_write_flow_entry, items))
        if not self.entries:
            start = self.node.start_mark.index + 1
            return [(start, start, text)]
        position = self.entries[index - 1].end if index else self.entries[0].start
        return [(position, position, f", {text}" if index else f"{text}, ")]


class _BlockCollection(_Collection):
    """A list or mapping whose entries begin on separate lines; the first may follow the parent's dash."""

    def __init__(self, layout: FrontMatterLayout, node: CollectionNode, end: int) -> None:
        super().__init__(layout, node, end)
        self.column = node.start_mark.column
        is_mapping = node.value and isinstance(node.value[0], tuple)
        values = [item[1] if is_mapping else item for item in node.value]
        lines = (
            [key.start_mark.line for key, _ in node.value]
            if is_mapping
            else self._find_dashes(node.start_mark.line, end)
        )
        if len(lines) != len(values) or any(line >= next_line for line, next_line in pairwise([*lines, end])):
            raise NeedsRewrite
        for line, item, value, next_line in zip(lines, node.value, values, [*lines[1:], end], strict=True):
            start = layout.starts[line] + self.column
            key_end = item[0].end_mark.index if isinstance(item, tuple) else start + 1
            own_lines = layout.find_own_lines(line, start, key_end, value, next_line)
            self.entries.append(
                _Entry(start, layout.starts[own_lines.end_line], value, own_lines.end_line, own_lines.comment)
            )

    def _find_dashes(self, first_line: int, end: int) -> list[int]:
        """Return the lines in [first_line, end) that begin an item; the first one always does."""
        dash = re.compile(rf"[ ]{{{self.column}}}-(?=\s|$)")
        later_lines = range(first_line + 1, end)
        return [first_line, *(line for line in later_lines if dash.match(self.layout.lines[line]))]

    def rewrite(self, entry: _Entry, item: tuple[Any, ...]) -> TextSplice:
        text = write_pair(*item) if len(item) == 2 else write_item(*item)
        return entry.start, entry.end, indent_later_lines(add_comment(text, entry.comment), self.column)

    def remove(self, indexes: Sequence[int]) -> list[TextSplice]:
        splices: list[TextSplice] = []
        for index in indexes:
            entry = self.entries[index]
            start, end = entry.start - self.column, entry.end
            if self.layout.source[start : entry.start].strip():
                # The next entry moves to the line of the dash.
                if index + 1 == len(self.entries) or index + 1 in indexes:
                    raise NeedsRewrite
                start, end = entry.start, self.entries[index + 1].start
                if self.layout.source[entry.end : end].strip():
                    raise NeedsRewrite
            splices.append((start, end, ""))
        return splices

    def insert(self, index: int, items: Sequence[tuple[Any, ...]]) -> list[TextSplice]:
        texts = [write_pair(*item) if len(item) == 2 else write_item(*item) for item in items]
        margin = " " * self.column
        text = "".join(indent_later_lines(margin + entry, self.column) for entry in texts)
        if not index:
            position = self.entries[0].start
            return [(position, position, text[self.column :] + margin)] if items else []
        position = self.entries[index - 1].end
        needs_newline = not self.layout.lines[self.entries[index - 1].end_line - 1].endswith(("\n", "\r"))
        return [(position, position, "\n" * needs_newline + text)] if items else []


def _write_flow_entry(item: tuple[Any, ...]) -> str:
    return write_inline(dict([item]))[1:-1] if len(item) == 2 else write_inline(*item)


def _is_scalar(node: Node, value: object) -> bool:
    return isinstance(node.value, str) and not isinstance(value, (dict, list))
