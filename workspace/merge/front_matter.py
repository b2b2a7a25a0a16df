"""The merge of front matter: key by key, lists item by item; comments go with the key above them.

Those above the first key are merged as a key named `#`. A key that both sides changed is merged inside: a
list item by item, a mapping key by key.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace.frontmatter import reader
from workspace.frontmatter.editor import set_keys
from workspace.frontmatter.reader import InvalidFrontMatter, are_same
from workspace.markdown.lines import BOM, Lines, detect_line_ending
from workspace.merge.conflict import CLASH, UnitConflict, UnitId, UnitKind, merge_values
from workspace.merge.order import merge_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document.document import Document
    from workspace.merge.conflict import Clash, Conflicts

_COMMENT = re.compile(rb"(?:^|[ \t])#[^\r\n]*", re.MULTILINE)
_Id = tuple[str, int]
_NOTHING = object()


class MergedKey(NamedTuple):
    """A key, its lines and its value."""

    key: str
    lines: bytes
    value: object


def merge_key_lines(base: bytes | None, ours: bytes, theirs: bytes) -> MergedKey | None:
    """Return the merge of a key that differs in all three versions; None for a conflict.

    `base` is None where both sides added the key. The lines are those of the side that changed their
    comments, else ours, with what differs in their value written anew.
    """
    read = [_read_value(lines) for lines in (base, ours, theirs)]
    comments = [Counter(_COMMENT.findall(lines or b"")) for lines in (base, ours, theirs)]
    said = merge_values(*comments)
    if said is CLASH or read[1] is None or read[2] is None or read[1][0] != read[2][0]:
        return None
    if base is not None and (read[0] is None or read[0][0] != read[1][0]):
        return None
    key, mine = read[1]
    value = merge_key_values(_NOTHING if read[0] is None else read[0][1], mine, read[2][1])
    if value is CLASH:
        return None
    frame = ours if said == comments[1] else theirs
    try:
        text = set_keys(frame.decode(), {key: value}, detect_line_ending(frame).decode())
    except InvalidFrontMatter:
        return None
    lines = text.encode()
    return MergedKey(key, lines, value) if Counter(_COMMENT.findall(lines)) == said else None


def merge_key_values(base: object, ours: object, theirs: object) -> object | Clash:
    """Return the merge of three lists or mappings; CLASH if it is ambiguous.

    Items of lists are words and numbers, known by what they say. Two that took the place of the same one
    clash, and so do two orders. A mapping is merged one level deep, the lists in it as well.
    """
    if isinstance(ours, list) and isinstance(theirs, list):
        return _merge_lists([] if base is _NOTHING else base, ours, theirs)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return _merge_mappings({} if base is _NOTHING else base, ours, theirs)
    return CLASH


def _read_value(lines: bytes | None) -> tuple[str, object] | None:
    """Return the only key of some lines, and its value; None if they cannot be parsed alone."""
    if lines is None:
        return None
    try:
        items = [*reader.read(lines.decode()).items()]
    except (InvalidFrontMatter, UnicodeDecodeError):
        return None
    return items[0] if len(items) == 1 else None


def _merge_lists(base: object, ours: list[object], theirs: list[object]) -> list[object] | Clash:
    if not isinstance(base, list) or any(isinstance(item, (list, dict)) for item in (*base, *ours, *theirs)):
        return CLASH
    was, mine, yours = (_number_items(items) for items in (base, ours, theirs))
    if _are_replaced_apart([*was], [*mine], [*yours]):
        return CLASH
    members = {id for id in (*mine, *yours) if merge_values(id in was, id in mine, id in yours)}
    disputed: list[_Id] = []

    def is_for_theirs(id: _Id) -> bool:
        disputed.append(id)
        return False

    order = merge_order([*was], [*mine], [*yours], members, is_for_theirs)
    return CLASH if disputed else [mine.get(id, yours.get(id)) for id in order]


def _number_items(items: Sequence[object]) -> dict[_Id, object]:
    """Return items by value, equal ones numbered; `1` and `true` are different."""
    times: Counter[str] = Counter()
    found: dict[_Id, object] = {}
    for item in items:
        name = repr(item)
        found[name, times[name]] = item
        times[name] += 1
    return found


def _are_replaced_apart(base: Sequence[_Id], ours: Sequence[_Id], theirs: Sequence[_Id]) -> bool:
    """Return True if both sides replaced the same item by different ones."""
    common = set(base).intersection(ours, theirs)
    stretches = [_group_between_common(row, common) for row in (base, ours, theirs)]
    known = set(base)
    for at, gone in stretches[0].items():
        came, too = (set(side.get(at, ())) - known for side in stretches[1:])
        if set(gone).difference(ours, theirs) and came and too and came != too:
            return True
    return False


def _group_between_common(row: Sequence[_Id], common: set[_Id]) -> dict[_Id | None, list[_Id]]:
    """Return the items between the common ones, by the common item before them."""
    found: dict[_Id | None, list[_Id]] = {}
    last: _Id | None = None
    for item in row:
        if item in common:
            last = item
        else:
            found.setdefault(last, []).append(item)
    return found


def _merge_mappings(
    base: object, ours: dict[object, object], theirs: dict[object, object]
) -> dict[object, object] | Clash:
    if not isinstance(base, dict):
        return CLASH
    found: dict[object, object] = {}
    for key in dict.fromkeys([*ours, *theirs]):
        was, mine, yours = (side.get(key, _NOTHING) for side in (base, ours, theirs))
        if are_same(mine, yours) or are_same(yours, was):
            value = mine
        elif are_same(mine, was):
            value = yours
        elif isinstance(mine, list) and isinstance(yours, list):
            value = merge_key_values(was, mine, yours)
        else:
            return CLASH
        if value is CLASH:
            return CLASH
        if value is not _NOTHING:
            found[key] = value
    return found


_KEY = re.compile(rb"""(?![#\s-])[^:]+:(?=\s|$)""")

# No key is called so: a key is not empty, and begins with no dash and no `#`.
MARKS = _OPENING, _CLOSING = "", "---"
"""What `key_lines` calls the lines that begin and end front matter."""

COMMENTS = "#"
"""What `key_lines` calls the comments above the first key."""


def merge_metadata(base: Document | None, ours: Document, theirs: Document, conflicts: Conflicts) -> bytes:
    """Return the front matter of three versions with its marks; empty where there is none."""
    heads = [b"" if document is None else extract_front_matter(document) for document in (base, ours, theirs)]
    merged = merge_values(None if base is None else heads[0], heads[1], heads[2])
    if merged is not CLASH:
        return merged or b""
    whole = UnitConflict(UnitId(UnitKind.METADATA), heads[0] if base else None, heads[1], heads[2])
    was, mine, yours = (split_key_lines(head) for head in heads)
    if was is None or mine is None or yours is None:
        return conflicts.decide(whole) or b""
    saved = conflicts.count()
    chosen: dict[str, bytes] = {}
    values: dict[str, object] = {}
    for name in dict.fromkeys([*mine, *yours]):
        text = merge_values(was.get(name), mine.get(name), yours.get(name))
        if text is CLASH and name in MARKS:
            text = mine.get(name) or yours[name]
        elif text is CLASH:
            text, said = _merge_key(name, (was.get(name), mine.get(name), yours.get(name)), conflicts)
            values |= said
        if text is not None:
            chosen[name] = text
    keys = [name for name in chosen if name not in MARKS]
    if not keys and not (mine and yours):
        return b""
    marks = [chosen.get(name) or mine.get(name) or yours[name] for name in MARKS]
    order = merge_order([*was], [*mine], [*yours], keys, lambda name: False)
    head = b"".join([marks[0], *(chosen[name] for name in order), marks[1]])
    sources = {
        name: ours if mine.get(name) == text else theirs
        for name, text in chosen.items()
        if name in keys and text in (mine.get(name), yours.get(name))
    }
    if _has_values(head, sources, values):
        return head
    conflicts.truncate(saved)
    return conflicts.decide(whole) or b""


def _merge_key(
    name: str, versions: tuple[bytes | None, bytes | None, bytes | None], conflicts: Conflicts
) -> tuple[bytes | None, Mapping[str, object]]:
    """Return the lines of a key that both sides changed, and its value if both changes are in it."""
    base, ours, theirs = versions
    inside = merge_key_lines(base, ours, theirs) if ours and theirs else None
    if inside is None:
        return conflicts.decide(UnitConflict(UnitId(UnitKind.METADATA, name), base, ours, theirs)), {}
    return inside.lines, {inside.key: inside.value}


def extract_front_matter(document: Document) -> bytes:
    """Return the front matter of a document with its marks, without a byte-order mark."""
    return document.data[: document.front_matter_end].removeprefix(BOM)


def split_key_lines(head: bytes) -> Mapping[str, bytes] | None:
    """Return the lines of front matter by the key to which they belong; its marks are the keys "" and "---".

    None where a key stands there twice, or the lines cannot be told apart.
    """
    if not head:
        return {}
    lines = Lines(head)
    blocks: list[tuple[str, list[bytes]]] = [(_OPENING, [])]
    is_open = True
    for number in range(len(lines)):
        line = head[lines.offset(number) : lines.offset(number + 1)]
        found = _KEY.match(line) if is_open else None
        if found:
            blocks.append((found.group()[:-1].decode("utf-8", "replace"), []))
        elif is_open and number and line.rstrip() in (b"---", b"..."):
            blocks.append((_CLOSING, []))
            is_open = False
        elif number == 1:
            blocks.append((COMMENTS, []))
        blocks[-1][1].append(line)
    names = Counter(name for name, _ in blocks)
    if is_open or max(names.values()) > 1:
        return None
    return {name: b"".join(parts) for name, parts in blocks}


def _has_values(head: bytes, sources: Mapping[str, Document], values: Mapping[str, object]) -> bool:
    """Return True if front matter has the expected value of each key: that of a side, or a merged one."""
    from workspace.document.document import Document

    read = Document.parse(head)
    if read.front_matter_error is not None:
        broken = (side.front_matter_error is not None for side in sources.values())
        return bool(sources) and not values and all(broken)
    wanted = {name: side.front_matter.get(name) for name, side in sources.items()} | dict(values)
    return all(are_same(read.front_matter.get(name), value) for name, value in wanted.items())
