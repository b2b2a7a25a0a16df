"""The key-by-key merge of front matter. Comments belong to the key above them.

Comments above the first key are merged as a key named `#`. If both sides changed a key, a list is merged item
by item, and a mapping key by key.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace.frontmatter import reader
from workspace.frontmatter.editor import set_keys
from workspace.frontmatter.reader import InvalidFrontMatter, have_equal_values_and_types
from workspace.markdown.lines import BOM, Lines, detect_line_ending
from workspace.merge.conflict import CLASH, UnitConflict, UnitId, UnitKind, merge_values
from workspace.merge.order import merge_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document.document import Document
    from workspace.merge.conflict import Clash, Conflicts

_COMMENT = re.compile(rb"(?:^|[ \t])#[^\r\n]*", re.MULTILINE)
_ItemId = tuple[str, int]
"""An item of a list: its text, and its number among equal items, from 0."""

_MISSING_VALUE = object()


class MergedKey(NamedTuple):
    """A key, its lines and its value."""

    key: str
    lines: bytes
    value: object


def merge_key_lines(base: bytes | None, ours: bytes, theirs: bytes) -> MergedKey | None:
    """Return the merge of a key that differs in all three versions; None for a conflict.

    `base` is None where both sides added the key. The lines come from the side that changed comments,
    else from ours, and have the merged value.
    """
    parsed_keys = [_read_value(lines) for lines in (base, ours, theirs)]
    comments = [Counter(_COMMENT.findall(lines or b"")) for lines in (base, ours, theirs)]
    merged_comments = merge_values(*comments)
    if (
        merged_comments is CLASH
        or parsed_keys[1] is None
        or parsed_keys[2] is None
        or parsed_keys[1][0] != parsed_keys[2][0]
    ):
        return None
    if base is not None and (parsed_keys[0] is None or parsed_keys[0][0] != parsed_keys[1][0]):
        return None
    key, our_value = parsed_keys[1]
    value = merge_key_values(
        _MISSING_VALUE if parsed_keys[0] is None else parsed_keys[0][1], our_value, parsed_keys[2][1]
    )
    if value is CLASH:
        return None
    template = ours if merged_comments == comments[1] else theirs
    try:
        text = set_keys(template.decode(), {key: value}, detect_line_ending(template).decode())
    except InvalidFrontMatter:
        return None
    lines = text.encode()
    return MergedKey(key, lines, value) if Counter(_COMMENT.findall(lines)) == merged_comments else None


def merge_key_values(base: object, ours: object, theirs: object) -> object | Clash:
    """Return the merge of three lists or mappings; CLASH if it is ambiguous.

    Items of lists are matched by value; a list that contains lists or mappings is a clash. Two different
    replacements of the same item are a clash. Two different orders are also a clash. A mapping is merged key
    by key, with the lists in it, but not with the mappings in it.
    """
    if isinstance(ours, list) and isinstance(theirs, list):
        return _merge_lists([] if base is _MISSING_VALUE else base, ours, theirs)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return _merge_mappings({} if base is _MISSING_VALUE else base, ours, theirs)
    return CLASH


def _read_value(lines: bytes | None) -> tuple[str, object] | None:
    """Return the only key of some lines, and its value; None if the lines cannot be parsed separately."""
    if lines is None:
        return None
    try:
        items = [*reader.parse_front_matter(lines.decode()).items()]
    except (InvalidFrontMatter, UnicodeDecodeError):
        return None
    return items[0] if len(items) == 1 else None


def _merge_lists(base: object, ours: list[object], theirs: list[object]) -> list[object] | Clash:
    if not isinstance(base, list) or any(isinstance(item, (list, dict)) for item in (*base, *ours, *theirs)):
        return CLASH
    base_items, our_items, their_items = (_number_items(items) for items in (base, ours, theirs))
    if _are_replaced_differently([*base_items], [*our_items], [*their_items]):
        return CLASH
    members = {
        id
        for id in (*our_items, *their_items)
        if merge_values(id in base_items, id in our_items, id in their_items)
    }
    disputed_ids: list[_ItemId] = []

    def record_dispute(id: _ItemId) -> bool:
        disputed_ids.append(id)
        return False

    order = merge_order([*base_items], [*our_items], [*their_items], members, record_dispute)
    return CLASH if disputed_ids else [our_items.get(id, their_items.get(id)) for id in order]


def _number_items(items: Sequence[object]) -> dict[_ItemId, object]:
    """Return items by value and number; equal items have different numbers, and `1` is not `true`."""
    counts: Counter[str] = Counter()
    result: dict[_ItemId, object] = {}
    for item in items:
        name = repr(item)
        result[name, counts[name]] = item
        counts[name] += 1
    return result


def _are_replaced_differently(
    base: Sequence[_ItemId], ours: Sequence[_ItemId], theirs: Sequence[_ItemId]
) -> bool:
    """Return True if both sides replaced the same item by different items."""
    common_ids = set(base).intersection(ours, theirs)
    groups = [_group_between_common(row, common_ids) for row in (base, ours, theirs)]
    base_ids = set(base)
    for predecessor, removed_ids in groups[0].items():
        our_items, their_items = (set(side.get(predecessor, ())) - base_ids for side in groups[1:])
        if (
            set(removed_ids).difference(ours, theirs)
            and our_items
            and their_items
            and our_items != their_items
        ):
            return True
    return False


def _group_between_common(
    items: Sequence[_ItemId], common_ids: set[_ItemId]
) -> dict[_ItemId | None, list[_ItemId]]:
    """Return the items between common items, by the common item before them."""
    groups: dict[_ItemId | None, list[_ItemId]] = {}
    last_common_id: _ItemId | None = None
    for item in items:
        if item in common_ids:
            last_common_id = item
        else:
            groups.setdefault(last_common_id, []).append(item)
    return groups


def _merge_mappings(
    base: object, ours: dict[object, object], theirs: dict[object, object]
) -> dict[object, object] | Clash:
    if not isinstance(base, dict):
        return CLASH
    merged_mapping: dict[object, object] = {}
    for key in dict.fromkeys([*ours, *theirs]):
        base_value, our_value, their_value = (side.get(key, _MISSING_VALUE) for side in (base, ours, theirs))
        if have_equal_values_and_types(our_value, their_value) or have_equal_values_and_types(
            their_value, base_value
        ):
            value = our_value
        elif have_equal_values_and_types(our_value, base_value):
            value = their_value
        elif isinstance(our_value, list) and isinstance(their_value, list):
            value = merge_key_values(base_value, our_value, their_value)
        else:
            return CLASH
        if value is CLASH:
            return CLASH
        if value is not _MISSING_VALUE:
            merged_mapping[key] = value
    return merged_mapping


_KEY = re.compile(rb"""(?![#\s-])[^:]+:(?=\s|$)""")

# These names cannot be keys: a key is not empty, and does not begin with a dash or a `#`.
DELIMITERS = _OPENING, _CLOSING = "", "---"
"""The names for the lines that begin and end front matter, in `split_key_lines`."""

COMMENTS = "#"
"""The name for the comments above the first key, in `split_key_lines`."""


def merge_front_matter(
    base: Document | None, ours: Document, theirs: Document, conflicts: Conflicts
) -> bytes:
    """Return the merged front matter with its delimiters; empty if the merged document has none."""
    front_matters = [
        b"" if document is None else extract_front_matter(document) for document in (base, ours, theirs)
    ]
    merged_front_matter = merge_values(
        None if base is None else front_matters[0], front_matters[1], front_matters[2]
    )
    if merged_front_matter is not CLASH:
        return merged_front_matter or b""
    conflict = UnitConflict(
        UnitId(UnitKind.METADATA), front_matters[0] if base else None, front_matters[1], front_matters[2]
    )
    base_keys, our_keys, their_keys = (split_key_lines(front_matter) for front_matter in front_matters)
    if base_keys is None or our_keys is None or their_keys is None:
        return conflicts.resolve(conflict) or b""
    conflict_counts = conflicts.count()
    merged_lines: dict[str, bytes] = {}
    values: dict[str, object] = {}
    for name in dict.fromkeys([*our_keys, *their_keys]):
        text = merge_values(base_keys.get(name), our_keys.get(name), their_keys.get(name))
        if text is CLASH and name in DELIMITERS:
            text = our_keys.get(name) or their_keys[name]
        elif text is CLASH:
            text, merged_values = _merge_key(
                name, (base_keys.get(name), our_keys.get(name), their_keys.get(name)), conflicts
            )
            values |= merged_values
        if text is not None:
            merged_lines[name] = text
    keys = [name for name in merged_lines if name not in DELIMITERS]
    if not keys and not (our_keys and their_keys):
        return b""
    delimiters = [merged_lines.get(name) or our_keys.get(name) or their_keys[name] for name in DELIMITERS]
    order = merge_order([*base_keys], [*our_keys], [*their_keys], keys, lambda name: False)
    front_matter = b"".join([delimiters[0], *(merged_lines[name] for name in order), delimiters[1]])
    sides_by_key = {
        name: ours if our_keys.get(name) == text else theirs
        for name, text in merged_lines.items()
        if name in keys and text in (our_keys.get(name), their_keys.get(name))
    }
    if _has_expected_values(front_matter, sides_by_key, values):
        return front_matter
    conflicts.truncate(conflict_counts)
    return conflicts.resolve(conflict) or b""


def _merge_key(
    name: str, versions: tuple[bytes | None, bytes | None, bytes | None], conflicts: Conflicts
) -> tuple[bytes | None, Mapping[str, object]]:
    """Return the lines of a key that both sides changed, and its value if both changes are in it."""
    base, ours, theirs = versions
    merged_key = merge_key_lines(base, ours, theirs) if ours and theirs else None
    if merged_key is None:
        return conflicts.resolve(UnitConflict(UnitId(UnitKind.METADATA, name), base, ours, theirs)), {}
    return merged_key.lines, {merged_key.key: merged_key.value}


def extract_front_matter(document: Document) -> bytes:
    """Return the front matter of a document with its delimiters, without a byte-order mark."""
    return document.data[: document.front_matter_end].removeprefix(BOM)


def split_key_lines(front_matter: bytes) -> Mapping[str, bytes] | None:
    """Return the lines of front matter by key; its delimiters have the names "" and "---".

    Return None if a key occurs twice, or the lines cannot be split into keys.
    """
    if not front_matter:
        return {}
    lines = Lines(front_matter)
    blocks: list[tuple[str, list[bytes]]] = [(_OPENING, [])]
    is_open = True
    for number in range(len(lines)):
        line = front_matter[lines.offset(number) : lines.offset(number + 1)]
        key = _KEY.match(line) if is_open else None
        if key:
            blocks.append((key.group()[:-1].decode("utf-8", "replace"), []))
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


def _has_expected_values(
    front_matter: bytes, sides_by_key: Mapping[str, Document], values: Mapping[str, object]
) -> bool:
    """Return True if each key has the expected value: its side's value, or the merged value."""
    from workspace.document.document import Document

    document = Document.parse(front_matter)
    if document.front_matter_error is not None:
        is_invalid = (side.front_matter_error is not None for side in sides_by_key.values())
        return bool(sides_by_key) and not values and all(is_invalid)
    expected_values = {name: side.front_matter.get(name) for name, side in sides_by_key.items()} | dict(
        values
    )
    return all(
        have_equal_values_and_types(document.front_matter.get(name), value)
        for name, value in expected_values.items()
    )
