"""The value of a key of front matter merged inside: a list item by item, a mapping key by key."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace import frontmatter
from workspace.markdown.lines import line_ending
from workspace.merge.order import merged_order
from workspace.merge.three_way import CLASH, three_way

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.merge.three_way import Clash

_COMMENT = re.compile(rb"(?:^|[ \t])#[^\r\n]*", re.MULTILINE)
_Id = tuple[str, int]
_NOTHING = object()


class Inside(NamedTuple):
    """A key, its lines and what they say."""

    key: str
    lines: bytes
    value: object


def merged_lines(base: bytes | None, ours: bytes, theirs: bytes) -> Inside | None:
    """A key of which all three versions differ, merged inside; None for what clashes.

    `base` is None where both sides added the key. The lines are those of the side that changed their
    comments, else ours, with what differs in their value written anew.
    """
    read = [_value(lines) for lines in (base, ours, theirs)]
    comments = [Counter(_COMMENT.findall(lines or b"")) for lines in (base, ours, theirs)]
    said = three_way(*comments)
    if said is CLASH or read[1] is None or read[2] is None or read[1][0] != read[2][0]:
        return None
    if base is not None and (read[0] is None or read[0][0] != read[1][0]):
        return None
    key, mine = read[1]
    value = merged_value(_NOTHING if read[0] is None else read[0][1], mine, read[2][1])
    if value is CLASH:
        return None
    frame = ours if said == comments[1] else theirs
    try:
        text = frontmatter.set_keys(frame.decode(), {key: value}, line_ending(frame).decode())
    except frontmatter.InvalidFrontMatter:
        return None
    lines = text.encode()
    return Inside(key, lines, value) if Counter(_COMMENT.findall(lines)) == said else None


def merged_value(base: object, ours: object, theirs: object) -> object | Clash:
    """The list or mapping that both sides made of another one; CLASH for what cannot be told.

    Items of lists are words and numbers, known by what they say. Two that took the place of the same one
    clash, and so do two orders. A mapping is merged one level deep, the lists in it as well.
    """
    if isinstance(ours, list) and isinstance(theirs, list):
        return _merged_list([] if base is _NOTHING else base, ours, theirs)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return _merged_mapping({} if base is _NOTHING else base, ours, theirs)
    return CLASH


def _value(lines: bytes | None) -> tuple[str, object] | None:
    """The one key of some lines, and what it says; None where they cannot be read by themselves."""
    if lines is None:
        return None
    try:
        items = [*frontmatter.read(lines.decode()).items()]
    except (frontmatter.InvalidFrontMatter, UnicodeDecodeError):
        return None
    return items[0] if len(items) == 1 else None


def _merged_list(base: object, ours: list[object], theirs: list[object]) -> list[object] | Clash:
    if not isinstance(base, list) or any(isinstance(item, (list, dict)) for item in (*base, *ours, *theirs)):
        return CLASH
    was, mine, yours = (_identified(items) for items in (base, ours, theirs))
    if _are_replaced_apart([*was], [*mine], [*yours]):
        return CLASH
    members = {id for id in (*mine, *yours) if three_way(id in was, id in mine, id in yours)}
    disputed: list[_Id] = []

    def is_for_theirs(id: _Id) -> bool:
        disputed.append(id)
        return False

    order = merged_order([*was], [*mine], [*yours], members, is_for_theirs)
    return CLASH if disputed else [mine.get(id, yours.get(id)) for id in order]


def _identified(items: Sequence[object]) -> dict[_Id, object]:
    """Items by what they say, of equal ones the first, the second and so on; `1` and `true` are not equal."""
    times: Counter[str] = Counter()
    found: dict[_Id, object] = {}
    for item in items:
        name = repr(item)
        found[name, times[name]] = item
        times[name] += 1
    return found


def _are_replaced_apart(base: Sequence[_Id], ours: Sequence[_Id], theirs: Sequence[_Id]) -> bool:
    """Whether both sides put something else in the place of the same item."""
    common = set(base).intersection(ours, theirs)
    stretches = [_stretches(row, common) for row in (base, ours, theirs)]
    known = set(base)
    for at, gone in stretches[0].items():
        came, too = (set(side.get(at, ())) - known for side in stretches[1:])
        if set(gone).difference(ours, theirs) and came and too and came != too:
            return True
    return False


def _stretches(row: Sequence[_Id], common: set[_Id]) -> dict[_Id | None, list[_Id]]:
    """What stands between the items that all have, by the one before it."""
    found: dict[_Id | None, list[_Id]] = {}
    last: _Id | None = None
    for item in row:
        if item in common:
            last = item
        else:
            found.setdefault(last, []).append(item)
    return found


def _merged_mapping(
    base: object, ours: dict[object, object], theirs: dict[object, object]
) -> dict[object, object] | Clash:
    if not isinstance(base, dict):
        return CLASH
    found: dict[object, object] = {}
    for key in dict.fromkeys([*ours, *theirs]):
        was, mine, yours = (side.get(key, _NOTHING) for side in (base, ours, theirs))
        if frontmatter.are_same(mine, yours) or frontmatter.are_same(yours, was):
            value = mine
        elif frontmatter.are_same(mine, was):
            value = yours
        elif isinstance(mine, list) and isinstance(yours, list):
            value = merged_value(was, mine, yours)
        else:
            return CLASH
        if value is CLASH:
            return CLASH
        if value is not _NOTHING:
            found[key] = value
    return found
