"""The blocks of a section's text, and their alignment between two versions.

Equal blocks are matched by their bytes, tasks by their titles, and blocks between those by their words.
A block rewritten beyond recognition counts as removed, and its replacement as added.
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

Id = tuple[str, int]
"""Names a piece: the version in which it was met first (`base`, `ours`, `theirs`), and its place there."""

_MARK = re.compile(rb"[ \t]*%b[ \t]+" % LIST_MARKER_BYTES)
_TASK = re.compile(rb"(%b\[)([ xX])(\][ \t]+.*)" % _MARK.pattern, re.DOTALL)

# A link reference definition (CommonMark 0.31 §4.7), or a footnote as forges read it.
DEFINITION = re.compile(rb"^ {0,3}\[([^\[\]\r\n]{1,999})\]:", re.MULTILINE)
_FIELD = re.compile(rb"[ \t]*" + FIELD_LINE.encode(), re.IGNORECASE)


class TextBlock(NamedTuple):
    """A block's bytes, the separator before it, and its start in the text.

    `children` are the blocks of a list item that stand below its `head`, which is its first paragraph. Each
    link definition and footnote is a piece.
    """

    text: bytes
    before: bytes
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
        """The normalized label of a link definition or footnote."""
        found = None if self.is_item else DEFINITION.match(self.text)
        return normalize_label(found) if found else None

    @property
    def series(self) -> Literal["item", "definition"] | None:
        """The series that the block may continue without a blank line: list items, or definitions."""
        return "item" if self.is_item else "definition" if self.label else None

    @property
    def item_text(self) -> bytes | None:
        """The text of a list item after its marker, which may be a number; None for another block."""
        return _MARK.sub(b"", self.text, count=1) if self.is_item else None

    @property
    def field(self) -> bytes | None:
        """The name of a task's field (`note`), if this sub-item gives one."""
        found = _FIELD.match(self.head) if self.is_item else None
        return found[1].lower() if found else None

    @property
    def title(self) -> bytes | None:
        """The title of a task; None for another block."""
        found = split_task_head(self.head) if self.is_item else None
        return found[2].strip(BLANK) if found else None


def normalize_label(definition: re.Match[bytes]) -> bytes:
    """Return the label of a link definition or footnote in the form in which labels are compared."""
    return b" ".join(definition[1].lower().split())


def split_task_head(head: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Return the first paragraph of a task: up to its box, what is in the box, and the rest."""
    found = _TASK.fullmatch(head)
    return (found[1], found[2], found[3]) if found else None


def split_item_head(head: bytes) -> tuple[bytes, ...] | None:
    """Return the first paragraph of a list item: its mark (a task's with its box apart), and the rest."""
    found = _MARK.match(head)
    return split_task_head(head) or ((found.group(), head[found.end() :]) if found else None)


def parse_blocks(data: bytes) -> tuple[TextBlock, ...]:
    """Return the blocks of a text. Raises LimitExceeded for too many blocks."""
    return _parse_blocks(data, parse_nested_blocks(data), 0) if data else ()


def _parse_blocks(data: bytes, blocks: Sequence[Block], position: int) -> tuple[TextBlock, ...]:
    found: list[TextBlock] = []
    for block in blocks:
        head = data[block.start : block.end]
        children: tuple[TextBlock, ...] = ()
        if block.children:
            first, *rest = block.children
            head = data[block.start : first.end]
            children = _parse_blocks(data, rest, first.end)
        for start, end in _definitions(data, block):
            text = data[start:end]
            found.append(TextBlock(text, data[position:start], start, block.kind, head, children))
            position = end
    return tuple(found)


def _definitions(data: bytes, block: Block) -> list[tuple[int, int]]:
    """Return a block of definitions as the spans of each; any other as the one that it is."""
    if block.kind is BlockKind.ITEM or not DEFINITION.match(data, block.start):
        return [(block.start, block.end)]
    starts = [found.start() for found in DEFINITION.finditer(data, block.start, block.end)]
    ends = [find_content_end(data, start) for start in starts[1:]]
    return list(zip(starts, [*ends, block.end], strict=True))


class BlockVersion(NamedTuple):
    """The blocks of one version of a text by their ids, in order."""

    pieces: Mapping[Id, TextBlock]

    @property
    def ids(self) -> list[Id]:
        """The ids in order."""
        return [*self.pieces]


_WORD = re.compile(rb"[^\W_]+|[^\x00-\x7f]")

# Blocks are compared with each other by their words only where there are few of them.
_COMPARED = 2_500
_LEAST = 1 / 3  # of the words of the longer of two blocks, to be versions of one


class ReplacedRun(NamedTuple):
    """Base blocks [start, end) that were replaced by the blocks [first, last) of the other version."""

    start: int
    end: int
    first: int
    last: int


class Alignment(NamedTuple):
    """`origins` gives for blocks of the other version the block of base, both by position.

    `after` gives for each block that came how many blocks of base stand before it.
    """

    origins: dict[int, int]
    after: dict[int, int]
    replaced: tuple[ReplacedRun, ...]


def align_blocks(base: Sequence[TextBlock], other: Sequence[TextBlock]) -> Alignment:
    """Pair the blocks of two versions."""
    origins: dict[int, int] = {}
    first, last = _count_equal_ends(base, other)
    origins.update((place, place) for place in range(first))
    shift = len(other) - len(base)
    origins.update((place + shift, place) for place in range(len(base) - last, len(base)))
    inner = range(first, len(base) - last), range(first, len(other) - last)
    for feature in (_text, _said, _label, _field, _title):
        _pair_unique(base, other, inner, origins, feature)
    for gap in _gaps(len(base), len(other), origins):
        _pair_gap(base, other, gap, origins)
    replaced: list[ReplacedRun] = []
    after: dict[int, int] = {}
    taken = set(origins.values())
    for run in _gaps(len(base), len(other), origins):
        came = [place for place in range(run.first, run.last) if place not in origins]
        after.update((place, run.end) for place in came)
        if came and any(place not in taken for place in range(run.start, run.end)):
            replaced.append(run)
    return Alignment(origins, after, tuple(replaced))


def _count_equal_ends(base: Sequence[TextBlock], other: Sequence[TextBlock]) -> tuple[int, int]:
    """Return how many blocks are equal at the beginning, and how many of the rest at the end."""
    shortest = min(len(base), len(other))
    first = next((place for place in range(shortest) if base[place].text != other[place].text), shortest)
    rest = shortest - first
    last = next((place for place in range(rest) if base[-1 - place].text != other[-1 - place].text), rest)
    return first, last


def _text(piece: TextBlock) -> Hashable:
    return piece.text


def _said(piece: TextBlock) -> Hashable:
    return piece.item_text


def _label(piece: TextBlock) -> Hashable:
    return piece.label


def _field(piece: TextBlock) -> Hashable:
    return piece.field


def _title(piece: TextBlock) -> Hashable:
    return piece.title


def _pair_unique(
    base: Sequence[TextBlock],
    other: Sequence[TextBlock],
    inner: tuple[range, range],
    origins: dict[int, int],
    feature: Callable[[TextBlock], Hashable],
) -> None:
    """Pair blocks of which a feature occurs once on each side."""
    taken = set(origins.values())
    had = {place: feature(base[place]) for place in inner[0] if place not in taken}
    has = {place: feature(other[place]) for place in inner[1] if place not in origins}
    times, times_now = Counter(had.values()), Counter(has.values())
    known = {value: place for place, value in had.items()}
    for place, value in has.items():
        if value is not None and times[value] == times_now[value] == 1:
            origins[place] = known[value]


def _gaps(size: int, other: int, origins: dict[int, int]) -> Iterator[ReplacedRun]:
    """Yield the stretches between the pairs that are in the same order on both sides."""
    row = [origins[place] for place in range(other) if place in origins]
    places = {origin: place for place, origin in origins.items()}
    start = first = 0
    for origin in find_longest_common_subsequence(range(size), row):
        yield ReplacedRun(start, origin, first, places[origin])
        start, first = origin + 1, places[origin] + 1
    yield ReplacedRun(start, size, first, other)


def _pair_gap(
    base: Sequence[TextBlock], other: Sequence[TextBlock], gap: ReplacedRun, origins: dict[int, int]
) -> None:
    """Pair the rest of a gap in order: blocks with most words in common, or the only two."""
    taken = set(origins.values()) if gap.start < gap.end else set()
    olds = [place for place in range(gap.start, gap.end) if place not in taken]
    news = [place for place in range(gap.first, gap.last) if place not in origins]
    if len(olds) == len(news) == 1:
        if _have_same_kind(base[olds[0]], other[news[0]]):
            origins[news[0]] = olds[0]
        return
    if not olds or not news or len(olds) * len(news) > _COMPARED:
        return
    words = {place: _words(base[place]) for place in olds}
    floor = 0
    for new in news:
        mine = _words(other[new])
        for index in range(floor, len(olds)):
            old = olds[index]
            if _have_same_kind(base[old], other[new]) and measure_similarity(words[old], mine) >= _LEAST:
                origins[new] = old
                floor = index + 1
                break


def _words(piece: TextBlock) -> Counter[bytes]:
    """Return the words of a block, without the number of an item."""
    return Counter(_WORD.findall(piece.text if piece.item_text is None else piece.item_text))


def _have_same_kind(old: TextBlock, new: TextBlock) -> bool:
    return (old.kind, old.field, old.label) == (new.kind, new.field, new.label)
