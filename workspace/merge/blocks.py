"""The merge of a section's own text, block by block.

If one side changed, moved, added or removed a block, the merge applies this change. A list item that both
sides changed is merged in parts: its box, its words, and the blocks below it. A task's fields are matched by
name. Any other block that both sides changed differently is a conflict. The full text is a conflict if one
side replaced blocks that the other side changed.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sequences import find_definitely_moved
from workspace.markdown.lines import LINE_END_BYTES
from workspace.merge.block_alignment import (
    BlockVersion,
    TextBlock,
    align_blocks,
    parse_blocks,
    split_item_head,
)
from workspace.merge.conflict import CLASH, UnitConflict, UnitId, UnitKind, merge_values
from workspace.merge.order import merge_order

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workspace.merge.block_alignment import Alignment, BlockId, BlockVersion, TextBlock
    from workspace.merge.conflict import Conflicts

SEQUENCE_START: BlockId = ("head", 0)
"""The id that precedes the first block of a sequence."""


class Separators:
    """The bytes between blocks in three versions: base, ours, theirs."""

    def __init__(self, versions: Sequence[BlockVersion], ending: bytes, *, head_is_item: bool) -> None:
        self._versions = versions
        self._ending = ending
        self._head_is_item = head_is_item
        self._previous_ids = [
            dict(zip(version.blocks, [SEQUENCE_START, *version.blocks], strict=False)) for version in versions
        ]
        self._next_ids = [
            {previous_id: id for id, previous_id in previous_ids.items()}
            for previous_ids in self._previous_ids
        ]

    def find_separator(self, previous_id: BlockId, id: BlockId) -> bytes:
        """Return the separator of two blocks from a version in which they are adjacent, or else a default."""
        separator = self._merge_separators(id, previous_id)
        if separator is not None:
            return separator
        if self._find_series(previous_id) is not None and self._find_series(previous_id) == self._find_series(
            id
        ):
            return self._find_list_separator(previous_id, id)
        default_separator = self._ending * 2
        separator = self._merge_separators(id, None) or default_separator
        return separator if len(LINE_END_BYTES.findall(separator)) > 1 else default_separator

    def _merge_separators(self, id: BlockId, previous_id: BlockId | None) -> bytes | None:
        """Return the merged separator before a block; None if no version has one.

        Only versions in which the block follows `previous_id` count; if `previous_id` is None, versions in
        which the block follows any block.
        """
        separators = [
            version.blocks[id].separator
            if id in version.blocks
            and (
                previous_ids[id] == previous_id
                or (previous_id is None and previous_ids[id] != SEQUENCE_START)
            )
            else None
            for version, previous_ids in zip(self._versions, self._previous_ids, strict=True)
        ]
        base, ours, theirs = separators
        if ours is None or theirs is None:
            return ours if ours is not None else theirs if theirs is not None else base
        merged_separator = merge_values(base, ours, theirs)
        return ours if merged_separator is CLASH else merged_separator

    def _find_list_separator(self, previous_id: BlockId, id: BlockId) -> bytes:
        """Return the separator of the list or definitions to which one of two blocks belongs."""
        series = self._find_series(id)
        for version, previous_ids, next_ids in zip(
            reversed(self._versions), reversed(self._previous_ids), reversed(self._next_ids), strict=True
        ):
            if (
                id in version.blocks
                and previous_ids[id] != SEQUENCE_START
                and self._find_series(previous_ids[id]) == series
            ):
                return version.blocks[id].separator
            next_id = next_ids.get(previous_id)
            if next_id is not None and self._find_series(next_id) == series:
                return version.blocks[next_id].separator
        return self._ending

    def _find_series(self, id: BlockId) -> str | None:
        if id == SEQUENCE_START:
            return "item" if self._head_is_item else None
        block = self._find_block(id)
        return block.series if block is not None else None

    def _find_block(self, id: BlockId) -> TextBlock | None:
        return next((version.blocks[id] for version in self._versions if id in version.blocks), None)


# Each list level needs a marker, and hand-written text does not have this many levels.
_DEEP_NESTING = re.compile(rb"^[ \t>*+\-0-9.)]{100}", re.MULTILINE)

# A block costs up to 0.2 ms, since all three versions and the result are parsed.
_MAX_BLOCKS = 10_000
_MARKER_RUN = re.compile(rb"^[ \t>*+\-0-9.)]+", re.MULTILINE)
_MARKER = re.compile(rb"[-*+.)>]")
_CONTAINER_MARKERS = (b"-", b"*", b"+", b".", b")", b">")
_BLANK_LINE = re.compile(rb"^[ \t]*[\r\n]", re.MULTILINE)


class UnitNames(NamedTuple):
    """The names for the units of a section's text: the addresses of the section and its tasks.

    `find_task` takes a version (0 base, 1 ours, 2 theirs) and a byte offset in the text. It returns the
    address of the task that begins there, or None.
    """

    section: str
    find_task: Callable[[int, int], str | None]


class _InseparableChanges(Exception):
    """An error: both sides changed blocks that cannot be merged one by one."""


def merge_text(
    base: bytes | None, ours: bytes, theirs: bytes, names: UnitNames, ending: bytes, conflicts: Conflicts
) -> bytes:
    """Return the merged text, without blank lines around it; a conflict returns our text or its resolution.

    `base` is None where both sides added the section. Raises LimitExceeded.
    """
    merged_value = merge_values(base, ours, theirs)
    if merged_value is not CLASH:
        return ours if merged_value is None else merged_value
    conflict_counts = conflicts.count()
    if base is not None:
        texts = (base, ours, theirs)
        block_lists = [] if any(map(is_costly, texts)) else [parse_blocks(text) for text in texts]
        if block_lists and (base or all(block.is_item for block_list in block_lists for block in block_list)):
            try:
                parts, data = _BlockSequenceMerger(block_lists, names, ending, conflicts, is_top=True).merge()
            except _InseparableChanges:
                pass
            else:
                if [block.text for block in parse_blocks(data)] == parts:
                    return data
    conflicts.truncate(conflict_counts)
    return conflicts.resolve(UnitConflict(UnitId(UnitKind.TEXT, names.section), base, ours, theirs)) or b""


def is_costly(text: bytes) -> bool:
    """Return True if a text probably has too many blocks, or too deeply nested blocks, for a merge."""
    if _DEEP_NESTING.search(text):
        return True
    # A blank line ends a paragraph, and a list or quotation marker begins a block.
    if text.count(b"\n") + text.count(b"\r") + sum(map(text.count, _CONTAINER_MARKERS)) <= _MAX_BLOCKS:
        return False
    blank_count = len(_BLANK_LINE.findall(text))
    return (
        blank_count + sum(len(_MARKER.findall(marker_run)) for marker_run in _MARKER_RUN.findall(text))
        > _MAX_BLOCKS
    )


class _BlockSequenceMerger:
    """The merge of the blocks of a section, or of the blocks below a list item's first paragraph."""

    def __init__(
        self,
        block_lists: Sequence[Sequence[TextBlock]],
        names: UnitNames,
        ending: bytes,
        conflicts: Conflicts,
        *,
        is_top: bool,
    ) -> None:
        base, ours, theirs = block_lists
        self._names, self._ending, self._conflicts, self._is_top = names, ending, conflicts, is_top
        our_alignment, their_alignment = align_blocks(base, ours), align_blocks(base, theirs)
        _check_replacements(base, (ours, our_alignment), (theirs, their_alignment))
        _check_replacements(base, (theirs, their_alignment), (ours, our_alignment))
        self._base = BlockVersion({("base", index): block for index, block in enumerate(base)})
        self._ours = BlockVersion(
            {
                ("base", our_alignment.origins[index])
                if index in our_alignment.origins
                else ("ours", index): block
                for index, block in enumerate(ours)
            }
        )
        self._theirs = BlockVersion(self._assign_ids(ours, our_alignment, theirs, their_alignment))
        self._versions = self._base, self._ours, self._theirs
        self._replaced_ids: set[BlockId] = set()
        self._moved_ids = {
            id for side in self._versions[1:] for id in find_definitely_moved(self._base.ids, side.ids)
        }

    def _assign_ids(
        self,
        ours: Sequence[TextBlock],
        our_alignment: Alignment,
        theirs: Sequence[TextBlock],
        their_alignment: Alignment,
    ) -> Mapping[BlockId, TextBlock]:
        """Return their blocks by id.

        Equal blocks that both sides added at one position share an id. Added blocks with the same label, or
        with the same field of a task, also share an id.
        """
        added_ids: dict[tuple[object, ...], list[BlockId]] = {}
        for index in reversed(our_alignment.insertion_indexes):
            added_ids.setdefault(
                self._build_addition_key(ours[index], our_alignment.insertion_indexes[index]), []
            ).append(("ours", index))
        result: dict[BlockId, TextBlock] = {}
        for index, block in enumerate(theirs):
            id: BlockId = ("theirs", index)
            if index in their_alignment.origins:
                id = ("base", their_alignment.origins[index])
            elif equal_ids := added_ids.get(
                self._build_addition_key(block, their_alignment.insertion_indexes[index])
            ):
                id = equal_ids.pop()
            result[id] = block
        return result

    def _build_addition_key(self, block: TextBlock, insertion_index: int) -> tuple[object, ...]:
        name = block.label or (None if self._is_top else block.field)
        return (name,) if name else (insertion_index, block.text)

    def merge(self) -> tuple[list[bytes], bytes]:
        """Return the blocks of the merged sequence, and their text.

        Raises _InseparableChanges, LimitExceeded.
        """
        ids = dict.fromkeys([*self._ours.blocks, *self._theirs.blocks, *self._base.blocks])
        merged_texts = {id: text for id in ids if (text := self._merge_block(id)) is not None}
        base, ours, theirs = (version.ids for version in self._versions)
        order = merge_order(
            base, ours, theirs, merged_texts, self._resolve_position_for_theirs, self._continues_list
        )
        separators = Separators(self._versions, self._ending, head_is_item=not self._is_top)
        parts: list[bytes] = []
        previous_id = SEQUENCE_START
        for id in order:
            if parts or not self._is_top:
                parts.append(separators.find_separator(previous_id, id))
            parts.append(merged_texts[id])
            previous_id = id
        return [text for id in order for text in self._list_texts(id, merged_texts[id])], b"".join(parts)

    def _list_texts(self, id: BlockId, merged_text: bytes) -> list[bytes]:
        """Return the blocks that replace a block: a resolution's content may have several."""
        return (
            [block.text for block in parse_blocks(merged_text)] if id in self._replaced_ids else [merged_text]
        )

    def _continues_list(self, previous_id: BlockId | None, id: BlockId, other: BlockId) -> bool:
        """Return True if a block continues a list that another block would end."""
        series = None if previous_id is None else self._find_series(previous_id)
        return series is not None and self._find_series(id) == series != self._find_series(other)

    def _find_series(self, id: BlockId) -> str | None:
        return next(version.blocks[id] for version in self._versions if id in version.blocks).series

    def _merge_block(self, id: BlockId) -> bytes | None:
        """Return the merged bytes of a block; None if it is removed."""
        base, ours, theirs = (version.blocks.get(id) for version in self._versions)
        texts = [None if block is None else block.text for block in (base, ours, theirs)]
        merged_text = merge_values(*texts)
        if merged_text is not CLASH and not (merged_text is None and id in self._moved_ids):
            return merged_text
        if base and ours and theirs and (merged_item := self._merge_item(base, ours, theirs)) is not None:
            return merged_item
        unit = self._build_unit_id(base, ours, theirs)
        if unit.kind is not UnitKind.TASK and not self._is_top:
            raise _InseparableChanges
        if self._conflicts.has_new_content(unit):
            self._replaced_ids.add(id)
        return self._conflicts.resolve(UnitConflict(unit, texts[0], texts[1], texts[2]))

    def _merge_item(self, base: TextBlock, ours: TextBlock, theirs: TextBlock) -> bytes | None:
        """Return a list item merged in parts; None if a part cannot be merged."""
        if not (base.is_item and ours.is_item and theirs.is_item):
            return None
        head = merge_item_head(base.head, ours.head, theirs.head)
        if head is None:
            return None
        conflict_counts = self._conflicts.count()
        child_lists = [block.children for block in (base, ours, theirs)]
        try:
            children = _BlockSequenceMerger(
                child_lists, self._names, self._ending, self._conflicts, is_top=False
            )
            _, children_text = children.merge()
        except _InseparableChanges:
            self._conflicts.truncate(conflict_counts)
            return None
        return head + children_text

    def _resolve_position_for_theirs(self, id: BlockId) -> bool:
        """Record the conflict of a block's position; return True if its resolution chooses theirs.

        Raises _InseparableChanges for blocks below a list item.
        """
        base, ours, theirs = (version.blocks.get(id) for version in self._versions)
        if not self._is_top:
            raise _InseparableChanges
        unit = self._build_unit_id(base, ours, theirs)._replace(kind=UnitKind.POSITION)
        positions = [self._find_position(version, id) for version in self._versions]
        return self._conflicts.resolve_for_theirs(UnitConflict(unit, *positions))

    def _find_position(self, version: BlockVersion, id: BlockId) -> bytes | None:
        """Return the section and predecessor of a block in a version; None if the version lacks the block."""
        if id not in version.blocks:
            return None
        ids = version.ids
        index = ids.index(id)
        number = self._versions.index(version)
        predecessor_block = version.blocks[ids[index - 1]] if index else None
        predecessor = (
            (self._names.find_task(number, predecessor_block.start) or str(index - 1))
            if predecessor_block
            else ""
        )
        return f"{self._names.section}\n{predecessor}".encode()

    def _build_unit_id(self, *blocks: TextBlock | None) -> UnitId:
        """Return the unit of a block.

        A task's unit has the task's address. Another block's unit has the block's index, if there are several
        blocks.
        """
        for number, block in enumerate(blocks):
            if block is not None and block.is_item and (task := self._names.find_task(number, block.start)):
                return UnitId(UnitKind.TASK, task)
        for block, version in zip(blocks, self._versions, strict=True):
            if block is not None:
                starts = [version_block.start for version_block in version.blocks.values()]
                part = str(starts.index(block.start)) if len(starts) > 1 else ""
                return UnitId(UnitKind.TEXT, self._names.section, part)
        raise AssertionError("a block exists in at least one version")


def merge_item_head(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Return a list item's merged first paragraph: marker, words, and a task's box.

    Return None for a conflict.
    """
    merged_head = merge_values(base, ours, theirs)
    if merged_head is not CLASH:
        return merged_head
    parts = [split_item_head(head) for head in (base, ours, theirs)]
    if parts[0] is None or parts[1] is None or parts[2] is None:
        return None
    if not len(parts[0]) == len(parts[1]) == len(parts[2]):
        return None
    merged_parts: list[bytes] = []
    for versions in zip(*parts, strict=True):
        part = merge_values(*versions)
        if part is CLASH:
            return None
        merged_parts.append(part)
    return b"".join(merged_parts)


def _check_replacements(
    base: Sequence[TextBlock],
    side: tuple[Sequence[TextBlock], Alignment],
    other: tuple[Sequence[TextBlock], Alignment],
) -> None:
    """Raise _InseparableChanges if one side replaced blocks that the other side changed differently."""
    blocks, alignment = side
    other_blocks, other_alignment = other
    if not alignment.replaced_runs:
        return
    unchanged_indexes = {
        origin
        for index, origin in other_alignment.origins.items()
        if other_blocks[index].text == base[origin].text
    }
    changed_indexes = [index for index in range(len(base)) if index not in unchanged_indexes]
    other_replacements = Counter(
        (run.start, run.end, tuple(block.text for block in other_blocks[run.other_start : run.other_end]))
        for run in other_alignment.replaced_runs
    )
    for run in alignment.replaced_runs:
        replacement = (
            run.start,
            run.end,
            tuple(block.text for block in blocks[run.other_start : run.other_end]),
        )
        if replacement in other_replacements:
            continue
        if any(run.start <= index < run.end for index in changed_indexes):
            raise _InseparableChanges
        is_list = all(block.is_item for block in base[run.start : run.end])
        for index, insertion_index in other_alignment.insertion_indexes.items():
            # An item added at either end of replaced items still has a position; an item added between them
            # does not.
            is_adjacent_item = (
                is_list and other_blocks[index].is_item and insertion_index in (run.start, run.end)
            )
            if run.start <= insertion_index <= run.end and not is_adjacent_item:
                raise _InseparableChanges
