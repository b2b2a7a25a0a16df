"""The merge of a section's own text, block by block.

Blocks that one side changed, moved, added or removed are taken from it. A list item that both changed is
merged in its parts: its box, its words, and the blocks below it, a task's fields by their names. A block that
both changed otherwise is a conflict. So is the whole text if one side replaced blocks that the other changed.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sequences import find_definitely_moved
from workspace.markdown.lines import LINE_END_BYTES
from workspace.merge.blocks import BlockVersion, TextBlock, align_blocks, parse_blocks, split_item_head
from workspace.merge.conflict import CLASH, UnitConflict, UnitId, UnitKind, merge_values
from workspace.merge.order import merge_order

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workspace.merge.blocks import Alignment, BlockVersion, Id, TextBlock
    from workspace.merge.conflict import Conflicts

HEAD: Id = ("head", 0)
"""Stands before the first block of a row."""


class Separators:
    """The bytes between blocks, as the versions have them: base, ours, theirs."""

    def __init__(self, versions: Sequence[BlockVersion], ending: bytes, *, head_is_item: bool) -> None:
        self._versions = versions
        self._ending = ending
        self._head_is_item = head_is_item
        self._previous = [
            dict(zip(version.pieces, [HEAD, *version.pieces], strict=False)) for version in versions
        ]
        self._next = [{above: id for id, above in previous.items()} for previous in self._previous]

    def between(self, above: Id, id: Id) -> bytes:
        """Return the separator of two blocks: as where they are adjacent, else the usual one."""
        found = self._merged(id, above)
        if found is not None:
            return found
        if self._series(above) is not None and self._series(above) == self._series(id):
            return self._of_list(above, id)
        usual = self._ending * 2
        found = self._merged(id, None) or usual
        return found if len(LINE_END_BYTES.findall(found)) > 1 else usual

    def _merged(self, id: Id, above: Id | None) -> bytes | None:
        """Return the separator before a block in the versions that have it below that one, or below any."""
        had = [
            version.pieces[id].before
            if id in version.pieces and (previous[id] == above or (above is None and previous[id] != HEAD))
            else None
            for version, previous in zip(self._versions, self._previous, strict=True)
        ]
        base, ours, theirs = had
        if ours is None or theirs is None:
            return ours if ours is not None else theirs if theirs is not None else base
        merged = merge_values(base, ours, theirs)
        return ours if merged is CLASH else merged

    def _of_list(self, above: Id, id: Id) -> bytes:
        """Return the separator between items of the list that one of two comes from, or definitions."""
        series = self._series(id)
        for version, previous, following in zip(
            reversed(self._versions), reversed(self._previous), reversed(self._next), strict=True
        ):
            if id in version.pieces and previous[id] != HEAD and self._series(previous[id]) == series:
                return version.pieces[id].before
            below = following.get(above)
            if below is not None and self._series(below) == series:
                return version.pieces[below].before
        return self._ending

    def _series(self, id: Id) -> str | None:
        if id == HEAD:
            return "item" if self._head_is_item else None
        piece = self._piece(id)
        return piece.series if piece is not None else None

    def _piece(self, id: Id) -> TextBlock | None:
        return next((version.pieces[id] for version in self._versions if id in version.pieces), None)


# Each level of lists takes a mark at least, and so many levels are no text that a person wrote.
_NESTED = re.compile(rb"^[ \t>*+\-0-9.)]{100}", re.MULTILINE)

# A block costs up to 0.2 ms, since all three versions and the merged one are read.
_MOST_BLOCKS = 10_000
_MARKS = re.compile(rb"^[ \t>*+\-0-9.)]+", re.MULTILINE)
_MARK = re.compile(rb"[-*+.)>]")
_CONTAINERS = (b"-", b"*", b"+", b".", b")", b">")
_BLANK = re.compile(rb"^[ \t]*[\r\n]", re.MULTILINE)


class Naming(NamedTuple):
    """The names for the units of a section's text: the section, and the task that begins at a byte.

    `task` takes a version (0 base, 1 ours, 2 theirs) and a byte of the text; None where no task begins.
    """

    section: str
    task: Callable[[int, int], str | None]


class _Inseparable(Exception):
    """Both sides changed what cannot be merged in parts."""


def merge_text(
    base: bytes | None, ours: bytes, theirs: bytes, naming: Naming, ending: bytes, conflicts: Conflicts
) -> bytes:
    """Return the merged text, without blank lines around it; in conflict it is ours, or the resolution.

    `base` is None where both sides added the section. Raises LimitExceeded.
    """
    merged = merge_values(base, ours, theirs)
    if merged is not CLASH:
        return ours if merged is None else merged
    saved = conflicts.count()
    if base is not None:
        texts = (base, ours, theirs)
        rows = [] if any(map(is_costly, texts)) else [parse_blocks(text) for text in texts]
        if rows and (base or all(piece.is_item for row in rows for piece in row)):
            try:
                parts, data = _BlockRow(rows, naming, ending, conflicts, is_top=True).merged()
            except _Inseparable:
                pass
            else:
                if [piece.text for piece in parse_blocks(data)] == parts:
                    return data
    conflicts.truncate(saved)
    return conflicts.decide(UnitConflict(UnitId(UnitKind.TEXT, naming.section), base, ours, theirs)) or b""


def is_costly(text: bytes) -> bool:
    """Return True if a text may have too many or too deep blocks for a merge, estimated without a parse."""
    if _NESTED.search(text):
        return True
    # A blank line ends a paragraph, and a mark of a list or quotation begins a block.
    if text.count(b"\n") + text.count(b"\r") + sum(map(text.count, _CONTAINERS)) <= _MOST_BLOCKS:
        return False
    blank = len(_BLANK.findall(text))
    return blank + sum(len(_MARK.findall(marks)) for marks in _MARKS.findall(text)) > _MOST_BLOCKS


class _BlockRow:
    """Three versions of a sequence of blocks: a section's, or those below a list item's first paragraph."""

    def __init__(
        self,
        rows: Sequence[Sequence[TextBlock]],
        naming: Naming,
        ending: bytes,
        conflicts: Conflicts,
        *,
        is_top: bool,
    ) -> None:
        base, ours, theirs = rows
        self._naming, self._ending, self._conflicts, self._is_top = naming, ending, conflicts, is_top
        mine, yours = align_blocks(base, ours), align_blocks(base, theirs)
        _check_replaced(base, (ours, mine), (theirs, yours))
        _check_replaced(base, (theirs, yours), (ours, mine))
        self._base = BlockVersion({("base", place): piece for place, piece in enumerate(base)})
        self._ours = BlockVersion(
            {
                ("base", mine.origins[place]) if place in mine.origins else ("ours", place): piece
                for place, piece in enumerate(ours)
            }
        )
        self._theirs = BlockVersion(self._named(ours, mine, theirs, yours))
        self._versions = self._base, self._ours, self._theirs
        self._new: set[Id] = set()
        self._moved = {
            id for side in self._versions[1:] for id in find_definitely_moved(self._base.ids, side.ids)
        }

    def _named(
        self, ours: Sequence[TextBlock], mine: Alignment, theirs: Sequence[TextBlock], yours: Alignment
    ) -> Mapping[Id, TextBlock]:
        """Return their blocks by id; blocks that both added alike, or as one field of a task, share an id."""
        added: dict[tuple[object, ...], list[Id]] = {}
        for place in reversed(mine.after):
            added.setdefault(self._addition(ours[place], mine.after[place]), []).append(("ours", place))
        found: dict[Id, TextBlock] = {}
        for place, piece in enumerate(theirs):
            id: Id = ("theirs", place)
            if place in yours.origins:
                id = ("base", yours.origins[place])
            elif same := added.get(self._addition(piece, yours.after[place])):
                id = same.pop()
            found[id] = piece
        return found

    def _addition(self, piece: TextBlock, after: int) -> tuple[object, ...]:
        name = piece.label or (None if self._is_top else piece.field)
        return (name,) if name else (after, piece.text)

    def merged(self) -> tuple[list[bytes], bytes]:
        """Return the blocks of the merged sequence, and their text.

        Raises _Inseparable, LimitExceeded.
        """
        ids = dict.fromkeys([*self._ours.pieces, *self._theirs.pieces, *self._base.pieces])
        chosen = {id: text for id in ids if (text := self._chosen(id)) is not None}
        base, ours, theirs = (version.ids for version in self._versions)
        order = merge_order(base, ours, theirs, chosen, self._is_moved_as_theirs, self._goes_on)
        separators = Separators(self._versions, self._ending, head_is_item=not self._is_top)
        parts: list[bytes] = []
        above = HEAD
        for id in order:
            if parts or not self._is_top:
                parts.append(separators.between(above, id))
            parts.append(chosen[id])
            above = id
        return [text for id in order for text in self._texts(id, chosen[id])], b"".join(parts)

    def _texts(self, id: Id, chosen: bytes) -> list[bytes]:
        """Return the blocks that replace a block: new content of a resolution may have several."""
        return [piece.text for piece in parse_blocks(chosen)] if id in self._new else [chosen]

    def _goes_on(self, above: Id | None, id: Id, other: Id) -> bool:
        """Return True if a block continues a list that another one would end."""
        series = None if above is None else self._series(above)
        return series is not None and self._series(id) == series != self._series(other)

    def _series(self, id: Id) -> str | None:
        return next(version.pieces[id] for version in self._versions if id in version.pieces).series

    def _chosen(self, id: Id) -> bytes | None:
        """Return the bytes of a block in the merged sequence; None if it is removed."""
        base, ours, theirs = (version.pieces.get(id) for version in self._versions)
        texts = [None if piece is None else piece.text for piece in (base, ours, theirs)]
        merged = merge_values(*texts)
        if merged is not CLASH and not (merged is None and id in self._moved):
            return merged
        if base and ours and theirs and (item := self._item(base, ours, theirs)) is not None:
            return item
        unit = self._unit(base, ours, theirs)
        if unit.kind is not UnitKind.TASK and not self._is_top:
            raise _Inseparable
        if self._conflicts.is_new(unit):
            self._new.add(id)
        return self._conflicts.decide(UnitConflict(unit, texts[0], texts[1], texts[2]))

    def _item(self, base: TextBlock, ours: TextBlock, theirs: TextBlock) -> bytes | None:
        """Return a list item merged in its parts; None where they cannot be merged."""
        if not (base.is_item and ours.is_item and theirs.is_item):
            return None
        head = merge_item_head(base.head, ours.head, theirs.head)
        if head is None:
            return None
        saved = self._conflicts.count()
        rows = [piece.children for piece in (base, ours, theirs)]
        try:
            row = _BlockRow(rows, self._naming, self._ending, self._conflicts, is_top=False)
            _, below = row.merged()
        except _Inseparable:
            self._conflicts.truncate(saved)
            return None
        return head + below

    def _is_moved_as_theirs(self, id: Id) -> bool:
        base, ours, theirs = (version.pieces.get(id) for version in self._versions)
        if not self._is_top:
            raise _Inseparable
        unit = self._unit(base, ours, theirs)._replace(kind=UnitKind.PLACE)
        places = [self._place(version, id) for version in self._versions]
        return self._conflicts.is_for_theirs(UnitConflict(unit, *places))

    def _place(self, version: BlockVersion, id: Id) -> bytes | None:
        """Return the parent and predecessor of a block in a version, if it has the block."""
        if id not in version.pieces:
            return None
        ids = version.ids
        place = ids.index(id)
        number = self._versions.index(version)
        above = version.pieces[ids[place - 1]] if place else None
        behind = (self._naming.task(number, above.start) or str(place - 1)) if above else ""
        return f"{self._naming.section}\n{behind}".encode()

    def _unit(self, *pieces: TextBlock | None) -> UnitId:
        """Return the unit of a block: a task by its address, another by its number if there are several."""
        for number, piece in enumerate(pieces):
            if piece is not None and piece.is_item and (task := self._naming.task(number, piece.start)):
                return UnitId(UnitKind.TASK, task)
        for piece, version in zip(pieces, self._versions, strict=True):
            if piece is not None:
                starts = [other.start for other in version.pieces.values()]
                part = str(starts.index(piece.start)) if len(starts) > 1 else ""
                return UnitId(UnitKind.TEXT, self._naming.section, part)
        raise AssertionError("a block stands in a version at least")


def merge_item_head(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Return a list item's merged first paragraph: marker, words, and a task's box; None for a conflict."""
    merged = merge_values(base, ours, theirs)
    if merged is not CLASH:
        return merged
    parts = [split_item_head(head) for head in (base, ours, theirs)]
    if parts[0] is None or parts[1] is None or parts[2] is None:
        return None
    if not len(parts[0]) == len(parts[1]) == len(parts[2]):
        return None
    found: list[bytes] = []
    for versions in zip(*parts, strict=True):
        part = merge_values(*versions)
        if part is CLASH:
            return None
        found.append(part)
    return b"".join(found)


def _check_replaced(
    base: Sequence[TextBlock],
    one: tuple[Sequence[TextBlock], Alignment],
    other: tuple[Sequence[TextBlock], Alignment],
) -> None:
    """Raise _Inseparable if one side replaced blocks that the other changed, unless both did the same."""
    texts, alignment = one
    others, touched = other
    if not alignment.replaced:
        return
    kept = {origin for place, origin in touched.origins.items() if others[place].text == base[origin].text}
    changed = [place for place in range(len(base)) if place not in kept]
    same = Counter(
        (run.start, run.end, tuple(piece.text for piece in others[run.first : run.last]))
        for run in touched.replaced
    )
    for run in alignment.replaced:
        mine = (run.start, run.end, tuple(piece.text for piece in texts[run.first : run.last]))
        if mine in same:
            continue
        if any(run.start <= place < run.end for place in changed):
            raise _Inseparable
        is_list = all(piece.is_item for piece in base[run.start : run.end])
        for place, after in touched.after.items():
            # An item at either end of such items is a further one; elsewhere its place is gone.
            is_beside = is_list and others[place].is_item and after in (run.start, run.end)
            if run.start <= after <= run.end and not is_beside:
                raise _Inseparable
