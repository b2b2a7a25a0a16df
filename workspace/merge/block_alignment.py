"""The blocks of a section's text, and their alignment between two versions.

Blocks are matched by a feature that is unique on both sides: their bytes, the text of a list item, the label
of a definition, the name of a task's field, or the title of a task. Blocks between matches are matched by
their words. If no match is found, the old block counts as removed and the new block as added.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from workspace.diff.sequences import find_longest_common_subsequence, measure_similarity
from workspace.document.tasks import FIELD_LINE
from workspace.markdown.blocks import BlockKind, parse_nested_blocks
from workspace.markdown.lines import BLANK, LIST_MARKER_BYTES, find_content_end

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from workspace.markdown.blocks import Block

BlockId = tuple[str, int]
"""The first version that has a block (`base`, `ours`, `theirs`), and the block's index there."""

_MARKER = re.compile(rb"[ \t]*%b[ \t]+" % LIST_MARKER_BYTES)
_TASK = re.compile(rb"(%b\[)([ xX])(\][ \t]+.*)" % _MARKER.pattern, re.DOTALL)

# A link reference definition (CommonMark 0.31 §4.7), or a footnote as forges read it.
DEFINITION = re.compile(rb"^ {0,3}\[([^\[\]\r\n]{1,999})\]:", re.MULTILINE)
_FIELD = re.compile(rb"[ \t]*" + FIELD_LINE.encode(), re.IGNORECASE)


class TextBlock(NamedTuple):
    """A block's bytes, the separator before it, and its start in the text.

    The `head` of a list item is its first paragraph; its `children` are the blocks below the paragraph. Each
    link definition and each footnote is a block.
    """

    text: bytes
    separator: bytes
    start: int
    kind: BlockKind
    head: bytes
    children: tuple[TextBlock, ...]

    @property
    def is_item(self) -> bool:
        """Return True for a list item."""
        return self.kind is BlockKind.ITEM

    @property
    def label(self) -> bytes | None:
        """The normalized label of a link definition or footnote; None for other blocks."""
        match = None if self.is_item else DEFINITION.match(self.text)
        return normalize_label(match) if match else None

    @property
    def series(self) -> Literal["item", "definition"] | None:
        """The series that the block may continue without a blank line: list items, or definitions."""
        return "item" if self.is_item else "definition" if self.label else None

    @property
    def item_text(self) -> bytes | None:
        """The text of a list item after its marker, which may be a number; None for other blocks."""
        return _MARKER.sub(b"", self.text, count=1) if self.is_item else None

    @property
    def field(self) -> bytes | None:
        """The name of a task's field, such as `note`; None if this sub-item is not a field."""
        match = _FIELD.match(self.head) if self.is_item else None
        return match[1].lower() if match else None

    @property
    def title(self) -> bytes | None:
        """The title of a task; None for other blocks."""
        parts = split_task_head(self.head) if self.is_item else None
        return parts[2].strip(BLANK) if parts else None


def normalize_label(definition: re.Match[bytes]) -> bytes:
    """Return the label of a link definition or footnote in its normal form: lower case, single spaces."""
    return b" ".join(definition[1].lower().split())


def split_task_head(head: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Split a task's first paragraph: the text before the mark in the box, the mark, the text after it."""
    match = _TASK.fullmatch(head)
    return (match[1], match[2], match[3]) if match else None


def split_item_head(head: bytes) -> tuple[bytes, ...] | None:
    """Return the first paragraph of a list item in parts: its marker and its text, or the parts of a task."""
    match = _MARKER.match(head)
    return split_task_head(head) or ((match.group(), head[match.end() :]) if match else None)


def parse_blocks(data: bytes) -> tuple[TextBlock, ...]:
    """Return the blocks of a text.

    Raises LimitExceeded for too many blocks.
    """
    return _parse_blocks(data, parse_nested_blocks(data), 0) if data else ()


def _parse_blocks(data: bytes, blocks: Sequence[Block], position: int) -> tuple[TextBlock, ...]:
    text_blocks: list[TextBlock] = []
    for block in blocks:
        head = data[block.start : block.end]
        children: tuple[TextBlock, ...] = ()
        if block.children:
            first_child, *later_children = block.children
            head = data[block.start : first_child.end]
            children = _parse_blocks(data, later_children, first_child.end)
        for start, end in _split_definitions(data, block):
            text = data[start:end]
            text_blocks.append(TextBlock(text, data[position:start], start, block.kind, head, children))
            position = end
    return tuple(text_blocks)


def _split_definitions(data: bytes, block: Block) -> list[tuple[int, int]]:
    """Return the span of each definition in a block; a block without definitions is one span."""
    if block.kind is BlockKind.ITEM or not DEFINITION.match(data, block.start):
        return [(block.start, block.end)]
    starts = [match.start() for match in DEFINITION.finditer(data, block.start, block.end)]
    ends = [find_content_end(data, start) for start in starts[1:]]
    return list(zip(starts, [*ends, block.end], strict=True))


class BlockVersion(NamedTuple):
    """The blocks of one version of a text by their ids, in order."""

    blocks: Mapping[BlockId, TextBlock]

    @property
    def ids(self) -> list[BlockId]:
        """The ids in order."""
        return [*self.blocks]


_WORD = re.compile(rb"[^\W_]+|[^\x00-\x7f]")

# The comparison of each pair of blocks by words takes quadratic time.
_MAX_COMPARED_PAIRS = 2_500
_MIN_SIMILARITY = 1 / 3  # the share of the longer block's words that both blocks have


class RunPair(NamedTuple):
    """The base blocks [start, end), and the blocks [other_start, other_end) of the other version.

    Both runs are between the same two matched blocks, or at the beginning or end.
    """

    start: int
    end: int
    other_start: int
    other_end: int


class Alignment(NamedTuple):
    """The matches between the blocks of base and of another version, by index.

    `origins` maps the index of a matched block to the index of its block in base. `insertion_indexes` maps
    the index of each added block to the index in base before which it was added. `replaced_runs` are the runs
    of base with a removed block, and the runs of the other version with an added block at the same position.
    """

    origins: dict[int, int]
    insertion_indexes: dict[int, int]
    replaced_runs: tuple[RunPair, ...]


def align_blocks(base: Sequence[TextBlock], other: Sequence[TextBlock]) -> Alignment:
    """Match the blocks of two versions, and return the matches."""
    origins: dict[int, int] = {}
    first_count, last_count = _count_equal_ends(base, other)
    origins.update((index, index) for index in range(first_count))
    shift = len(other) - len(base)
    origins.update((index + shift, index) for index in range(len(base) - last_count, len(base)))
    inner_ranges = range(first_count, len(base) - last_count), range(first_count, len(other) - last_count)
    for feature in (_get_text, _get_item_text, _get_label, _get_field, _get_title):
        _pair_unique(base, other, inner_ranges, origins, feature)
    for gap in _find_gaps(len(base), len(other), origins):
        _pair_gap(base, other, gap, origins)
    replaced_runs: list[RunPair] = []
    insertion_indexes: dict[int, int] = {}
    paired_indexes = set(origins.values())
    for run in _find_gaps(len(base), len(other), origins):
        added_indexes = [index for index in range(run.other_start, run.other_end) if index not in origins]
        insertion_indexes.update((index, run.end) for index in added_indexes)
        if added_indexes and any(index not in paired_indexes for index in range(run.start, run.end)):
            replaced_runs.append(run)
    return Alignment(origins, insertion_indexes, tuple(replaced_runs))


def _count_equal_ends(base: Sequence[TextBlock], other: Sequence[TextBlock]) -> tuple[int, int]:
    """Return the number of equal blocks at the beginning, and of further equal blocks at the end."""
    max_count = min(len(base), len(other))
    first_count = next(
        (index for index in range(max_count) if base[index].text != other[index].text), max_count
    )
    remaining_count = max_count - first_count
    last_count = next(
        (index for index in range(remaining_count) if base[-1 - index].text != other[-1 - index].text),
        remaining_count,
    )
    return first_count, last_count


def _get_text(block: TextBlock) -> Hashable:
    return block.text


def _get_item_text(block: TextBlock) -> Hashable:
    return block.item_text


def _get_label(block: TextBlock) -> Hashable:
    return block.label


def _get_field(block: TextBlock) -> Hashable:
    return block.field


def _get_title(block: TextBlock) -> Hashable:
    return block.title


def _pair_unique(
    base: Sequence[TextBlock],
    other: Sequence[TextBlock],
    inner_ranges: tuple[range, range],
    origins: dict[int, int],
    feature: Callable[[TextBlock], Hashable],
) -> None:
    """Pair the blocks whose feature has a value that occurs once on each side."""
    paired_indexes = set(origins.values())
    base_values = {index: feature(base[index]) for index in inner_ranges[0] if index not in paired_indexes}
    other_values = {index: feature(other[index]) for index in inner_ranges[1] if index not in origins}
    base_counts, other_counts = Counter(base_values.values()), Counter(other_values.values())
    base_indexes = {value: index for index, value in base_values.items()}
    for index, value in other_values.items():
        if value is not None and base_counts[value] == other_counts[value] == 1:
            origins[index] = base_indexes[value]


def _find_gaps(base_size: int, other_size: int, origins: dict[int, int]) -> Iterator[RunPair]:
    """Yield the runs between the matched blocks that are in the same order on both sides."""
    origins_in_order = [origins[index] for index in range(other_size) if index in origins]
    indexes = {origin: index for index, origin in origins.items()}
    start = other_start = 0
    for origin in find_longest_common_subsequence(range(base_size), origins_in_order):
        yield RunPair(start, origin, other_start, indexes[origin])
        start, other_start = origin + 1, indexes[origin] + 1
    yield RunPair(start, base_size, other_start, other_size)


def _pair_gap(
    base: Sequence[TextBlock], other: Sequence[TextBlock], gap: RunPair, origins: dict[int, int]
) -> None:
    """Pair the unpaired blocks of a gap, in order: a single pair, or blocks with similar words."""
    paired_indexes = set(origins.values()) if gap.start < gap.end else set()
    old_indexes = [index for index in range(gap.start, gap.end) if index not in paired_indexes]
    new_indexes = [index for index in range(gap.other_start, gap.other_end) if index not in origins]
    if len(old_indexes) == len(new_indexes) == 1:
        if _have_same_kind(base[old_indexes[0]], other[new_indexes[0]]):
            origins[new_indexes[0]] = old_indexes[0]
        return
    if not old_indexes or not new_indexes or len(old_indexes) * len(new_indexes) > _MAX_COMPARED_PAIRS:
        return
    old_words = {index: _count_words(base[index]) for index in old_indexes}
    first_candidate = 0
    for new_index in new_indexes:
        new_words = _count_words(other[new_index])
        for candidate in range(first_candidate, len(old_indexes)):
            old_index = old_indexes[candidate]
            if (
                _have_same_kind(base[old_index], other[new_index])
                and measure_similarity(old_words[old_index], new_words) >= _MIN_SIMILARITY
            ):
                origins[new_index] = old_index
                first_candidate = candidate + 1
                break


def _count_words(block: TextBlock) -> Counter[bytes]:
    """Return the words of a block with their counts; the number of a list item is not a word."""
    return Counter(_WORD.findall(block.text if block.item_text is None else block.item_text))


def _have_same_kind(old: TextBlock, new: TextBlock) -> bool:
    return (old.kind, old.field, old.label) == (new.kind, new.field, new.label)
