"""Front matter merged key by key, lists item by item; comments and blank lines go with the key above them.

Those above the first key are merged as a key of their own, which is called `#`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from workspace import frontmatter
from workspace.markdown.lines import BOM, Lines
from workspace.merge.conflict import Conflict, UnitId, UnitKind
from workspace.merge.lists import merged_lines
from workspace.merge.order import merged_order
from workspace.merge.three_way import CLASH, three_way

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.document.document import Document
    from workspace.merge.conflict import Conflicts

_KEY = re.compile(rb"""(?![#\s-])[^:]+:(?=\s|$)""")
# No key is called so: a key is not empty, and begins with no dash and no `#`.
MARKS = _OPENING, _CLOSING = "", "---"
"""What `key_lines` calls the lines that begin and end front matter."""
COMMENTS = "#"
"""What `key_lines` calls the comments above the first key."""


def merged_metadata(base: Document | None, ours: Document, theirs: Document, conflicts: Conflicts) -> bytes:
    """The front matter of three versions with its marks; empty where there is none."""
    heads = [b"" if document is None else head_of(document) for document in (base, ours, theirs)]
    merged = three_way(None if base is None else heads[0], heads[1], heads[2])
    if merged is not CLASH:
        return merged or b""
    whole = Conflict(UnitId(UnitKind.METADATA), heads[0] if base else None, heads[1], heads[2])
    was, mine, yours = (key_lines(head) for head in heads)
    if was is None or mine is None or yours is None:
        return conflicts.decide(whole) or b""
    saved = conflicts.saved()
    chosen: dict[str, bytes] = {}
    values: dict[str, object] = {}
    for name in dict.fromkeys([*mine, *yours]):
        text = three_way(was.get(name), mine.get(name), yours.get(name))
        if text is CLASH and name in MARKS:
            text = mine.get(name) or yours[name]
        elif text is CLASH:
            text, said = _inside(name, (was.get(name), mine.get(name), yours.get(name)), conflicts)
            values |= said
        if text is not None:
            chosen[name] = text
    keys = [name for name in chosen if name not in MARKS]
    if not keys and not (mine and yours):
        return b""
    marks = [chosen.get(name) or mine.get(name) or yours[name] for name in MARKS]
    order = merged_order([*was], [*mine], [*yours], keys, lambda name: False)
    head = b"".join([marks[0], *(chosen[name] for name in order), marks[1]])
    sources = {
        name: ours if mine.get(name) == text else theirs
        for name, text in chosen.items()
        if name in keys and text in (mine.get(name), yours.get(name))
    }
    if _says(head, sources, values):
        return head
    conflicts.back_to(saved)
    return conflicts.decide(whole) or b""


def _inside(
    name: str, versions: tuple[bytes | None, bytes | None, bytes | None], conflicts: Conflicts
) -> tuple[bytes | None, Mapping[str, object]]:
    """The lines of a key that both sides changed, and what it says where both changes are in it."""
    base, ours, theirs = versions
    inside = merged_lines(base, ours, theirs) if ours and theirs else None
    if inside is None:
        return conflicts.decide(Conflict(UnitId(UnitKind.METADATA, name), base, ours, theirs)), {}
    return inside.lines, {inside.key: inside.value}


def head_of(document: Document) -> bytes:
    """The front matter of a document with its marks, without a byte-order mark."""
    return document.data[: document.front_matter_end].removeprefix(BOM)


def key_lines(head: bytes) -> Mapping[str, bytes] | None:
    """The lines of front matter by the key to which they belong; its marks are the keys "" and "---".

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


def _says(head: bytes, sources: Mapping[str, Document], values: Mapping[str, object]) -> bool:
    """Whether front matter says of each key what it should: as the side it is from, or a value."""
    from workspace.document.document import Document

    read = Document.parse(head)
    if read.front_matter_error is not None:
        broken = (side.front_matter_error is not None for side in sources.values())
        return bool(sources) and not values and all(broken)
    wanted = {name: side.front_matter.get(name) for name, side in sources.items()} | dict(values)
    return all(frontmatter.are_same(read.front_matter.get(name), value) for name, value in wanted.items())
