"""Change a list or mapping inside: what does not differ keeps its bytes, comments and quotes.

PyYAML's nodes say where each item stands. An item that cannot be changed in its place is written anew.
"""

from __future__ import annotations

import re
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from workspace.frontmatter.reader import are_same
from workspace.frontmatter.writer import add_comment, indent, write_inline, write_item, write_pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yaml import CollectionNode, Node

    from workspace.frontmatter.lines import FrontMatterLayout

Splice = tuple[int, int, str]
"""The characters [start, end) of front matter, and what replaces them, its lines ending in LF."""


class NotInPlace(Exception):
    """A value can only be written anew, with the key or the dash before it."""


class _Entry(NamedTuple):
    """An item of a list, or a pair of a mapping, whose value has the lines before `last_line`."""

    start: int
    end: int
    value: Node
    last_line: int = 0
    comment: str = ""


def diff_nested(
    layout: FrontMatterLayout, node: Node, known: object, value: object, end: int
) -> list[Splice]:
    """Return the splices that make a list or mapping `known`, whose lines end before `end`, another one.

    Raises NotInPlace.
    """
    import yaml

    # Keys that `<<` brings stand elsewhere, and `1` and `true` are one key: the node may be of another value.
    if not isinstance(node, yaml.MappingNode if isinstance(known, dict) else yaml.SequenceNode):
        raise NotInPlace
    holder = cast("CollectionNode", node)
    collection = _Flow(layout, holder, end) if holder.flow_style else _Block(layout, holder, end)
    return collection.changed(known, value)


class _Collection:
    """A list or mapping in the source: finds its entries, and splices them."""

    def __init__(self, layout: FrontMatterLayout, node: CollectionNode, end: int) -> None:
        self.layout, self.node, self.end = layout, node, end
        self.entries: list[_Entry] = []

    def changed(self, known: Any, value: Any) -> list[Splice]:
        """Return the splices that make a value of the known one."""
        if len(known) != len(self.entries):  # `<<` brings keys from elsewhere, and of two keys one counts
            raise NotInPlace
        if not (value or self.node.flow_style):  # nothing in a block is null
            raise NotInPlace
        return self._mapping(known, value) if isinstance(known, dict) else self._list(known, value)

    def _mapping(self, known: dict[Any, Any], value: dict[Any, Any]) -> list[Splice]:
        gone = [place for place, key in enumerate(known) if key not in value]
        splices = self.removed(gone)
        for entry, (key, before) in zip(self.entries, known.items(), strict=True):
            if key in value:
                splices += self._set(entry, before, value[key], (key, value[key]))
        added = [(key, item) for key, item in value.items() if key not in known]
        return splices + self.added(len(known), added)

    def _list(self, known: list[Any], value: list[Any]) -> list[Splice]:
        shortest = min(len(known), len(value))
        same = [are_same(one, other) for one, other in zip(known, value, strict=False)]
        first = same.index(False) if False in same else shortest
        last = 0
        while last < shortest - first and are_same(known[-1 - last], value[-1 - last]):
            last += 1
        end, stop = len(known) - last, len(value) - last
        splices: list[Splice] = []
        for place in range(first, min(end, stop)):
            splices += self._set(self.entries[place], known[place], value[place], (value[place],))
        splices += self.removed(range(stop, end))
        return splices + self.added(end, [(item,) for item in value[end:stop]])

    def _set(self, entry: _Entry, known: object, value: object, whole: tuple[Any, ...]) -> list[Splice]:
        if are_same(known, value):
            return []
        try:
            if entry.value.start_mark.index < entry.start:  # an alias
                raise NotInPlace
            if isinstance(known, (dict, list)) and type(known) is type(value):
                return diff_nested(self.layout, entry.value, known, value, entry.last_line)
            return [self.replaced(entry.value, value)]
        except NotInPlace:
            return [self.rewritten(entry, whole)]

    def replaced(self, node: Node, value: object) -> Splice:
        """Return the splice of a value that stands on its line. Raises NotInPlace."""
        start, end, style = node.start_mark.index, node.end_mark.index, getattr(node, "style", None)
        is_open = style in ("|", ">") or start == end
        if (
            is_open
            or self.layout.source[start] in "&!"
            or not (self.node.flow_style or _is_scalar(node, value))
        ):
            raise NotInPlace
        return start, end, write_inline(value, style or None)

    def rewritten(self, entry: _Entry, whole: tuple[Any, ...]) -> Splice:
        """Return the splice of an entry that is written anew: (value,), or (key, value)."""
        raise NotImplementedError

    def removed(self, places: Sequence[int]) -> list[Splice]:
        """Return the splices that take entries out. Raises NotInPlace."""
        raise NotImplementedError

    def added(self, place: int, items: Sequence[tuple[Any, ...]]) -> list[Splice]:
        """Return the splices that add entries before the one of a place."""
        raise NotImplementedError


class _Flow(_Collection):
    """One in brackets or braces."""

    def __init__(self, layout: FrontMatterLayout, node: CollectionNode, end: int) -> None:
        super().__init__(layout, node, end)
        for item in node.value:
            nodes = item if isinstance(item, tuple) else (item,)
            stop = max(one.end_mark.index for one in nodes)
            self.entries.append(_Entry(nodes[0].start_mark.index, stop, nodes[-1]))
        places = [node.start_mark.index, *(place for one in self.entries for place in one[:2])]
        if any(one > other for one, other in pairwise([*places, node.end_mark.index])):
            raise NotInPlace  # an alias

    def rewritten(self, entry: _Entry, whole: tuple[Any, ...]) -> Splice:
        return entry.start, entry.end, _inline(whole)

    def removed(self, places: Sequence[int]) -> list[Splice]:
        splices: list[Splice] = []
        for _, group in groupby(enumerate(places), lambda one: one[1] - one[0]):
            run = [place for _, place in group]
            start, end = self.entries[run[0]].start, self.entries[run[-1]].end
            if run[-1] + 1 < len(self.entries):
                end = self.entries[run[-1] + 1].start
            elif run[0] and "#" not in self.layout.source[self.entries[run[0] - 1].end : start]:
                start = self.entries[run[0] - 1].end
            splices.append((start, end, ""))
        return splices

    def added(self, place: int, items: Sequence[tuple[Any, ...]]) -> list[Splice]:
        if not items:
            return []
        text = ", ".join(map(_inline, items))
        if not self.entries:
            start = self.node.start_mark.index + 1
            return [(start, start, text)]
        at = self.entries[place - 1].end if place else self.entries[0].start
        return [(at, at, f", {text}" if place else f"{text}, ")]


class _Block(_Collection):
    """One whose entries begin on lines of their own; the first may stand behind the dash of what holds it."""

    def __init__(self, layout: FrontMatterLayout, node: CollectionNode, end: int) -> None:
        super().__init__(layout, node, end)
        self.column = node.start_mark.column
        is_mapping = node.value and isinstance(node.value[0], tuple)
        values = [item[1] if is_mapping else item for item in node.value]
        first = node.start_mark.line
        lines = [key.start_mark.line for key, _ in node.value] if is_mapping else self._dashes(first, end)
        if len(lines) != len(values) or any(one >= other for one, other in pairwise([*lines, end])):
            raise NotInPlace
        for line, item, value, following in zip(lines, node.value, values, [*lines[1:], end], strict=True):
            start = layout.starts[line] + self.column
            behind = item[0].end_mark.index if isinstance(item, tuple) else start + 1
            own = layout.own_lines(line, start, behind, value, following)
            stop = layout.starts[own.end]
            self.entries.append(_Entry(start, stop, value, own.end, own.comment))

    def _dashes(self, first: int, end: int) -> list[int]:
        """Return the lines that begin an item."""
        begins = re.compile(rf"[ ]{{{self.column}}}-(?=\s|$)")
        return [first, *(line for line in range(first + 1, end) if begins.match(self.layout.lines[line]))]

    def rewritten(self, entry: _Entry, whole: tuple[Any, ...]) -> Splice:
        text = write_pair(*whole) if len(whole) == 2 else write_item(*whole)
        return entry.start, entry.end, indent(add_comment(text, entry.comment), self.column)

    def removed(self, places: Sequence[int]) -> list[Splice]:
        splices: list[Splice] = []
        for place in places:
            entry = self.entries[place]
            start, end = entry.start - self.column, entry.end
            if self.layout.source[start : entry.start].strip():
                # The next one takes its place behind the dash.
                if place + 1 == len(self.entries) or place + 1 in places:
                    raise NotInPlace
                start, end = entry.start, self.entries[place + 1].start
                if self.layout.source[entry.end : end].strip():
                    raise NotInPlace
            splices.append((start, end, ""))
        return splices

    def added(self, place: int, items: Sequence[tuple[Any, ...]]) -> list[Splice]:
        texts = [write_pair(*item) if len(item) == 2 else write_item(*item) for item in items]
        margin = " " * self.column
        text = "".join(indent(margin + one, self.column) for one in texts)
        if not place:
            at = self.entries[0].start
            return [(at, at, text[self.column :] + margin)] if items else []
        at = self.entries[place - 1].end
        is_open = not self.layout.lines[self.entries[place - 1].last_line - 1].endswith(("\n", "\r"))
        return [(at, at, "\n" * is_open + text)] if items else []


def _inline(whole: tuple[Any, ...]) -> str:
    return write_inline(dict([whole]))[1:-1] if len(whole) == 2 else write_inline(*whole)


def _is_scalar(node: Node, value: object) -> bool:
    return isinstance(node.value, str) and not isinstance(value, (dict, list))
