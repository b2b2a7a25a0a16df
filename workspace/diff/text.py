"""Compare two texts: by unit, and by word within a matched unit.

Units are paragraphs, list items, headings, rows of tables, lines of code and blank lines. They are found line
by line without a parser. Joined units equal the text, even if the classification of a line is wrong.

A token is a word, a run of spaces, a mark, a code span, or a letter of a script without spaces (Chinese,
Japanese). Tokens are compared one by one. Edits of words are expanded to the surrounding white space for
display.

Texts are compared with LF line endings and without blank lines around them.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sequences import (
    match_similar,
    measure_similarity,
    pair_lines,
    select_ordered_pairs,
)
from workspace.markdown.lines import BLANK, LIST_MARKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section

_SINGLE_LETTERS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"`[^`\n]{{1,200}}`|[{_SINGLE_LETTERS}]|[^\W{_SINGLE_LETTERS}]+|[^\S\n]+|.", re.DOTALL)
_WORD = re.compile(r"\w")
_MAX_TOKENS = 4000  # of two paragraphs; above this number only their common beginning and end match
_MIN_SHARED_WORDS = 1 / 3  # of the words of the longer text; below this share the texts count as different
Run = tuple[int, int, int, int]
"""The tokens [old_start, old_end) of the old text, and [new_start, new_end) of the new text."""


class TextEdit(NamedTuple):
    """An edit: the characters [start, end) of the old text became [new_start, new_end) of the new text."""

    start: int
    end: int
    new_start: int
    new_end: int

    def shift(self, offset: int, new_offset: int) -> TextEdit:
        """Return the edit with offsets in texts that contain these texts."""
        return TextEdit(
            self.start + offset, self.end + offset, self.new_start + new_offset, self.new_end + new_offset
        )


def split_tokens(text: str) -> list[str]:
    """Return the words, spaces and marks of a text; joined tokens equal the text."""
    return _TOKEN.findall(text)


def split_words(text: str) -> list[str]:
    """Return the words and code spans of a text."""
    return [token for token in split_tokens(text) if _WORD.search(token)]


def diff_words(old: str, new: str) -> tuple[TextEdit, ...]:
    """Return the edits from one text to another, in order; a single edit if they share too few words."""
    if old == new:
        return ()
    old_tokens, new_tokens = split_tokens(old), split_tokens(new)
    offsets, new_offsets = _measure_offsets(old_tokens), _measure_offsets(new_tokens)
    return tuple(
        TextEdit(offsets[old_start], offsets[old_end], new_offsets[new_start], new_offsets[new_end])
        for old_start, old_end, new_start, new_end in diff_tokens(old_tokens, new_tokens)
    )


def diff_tokens(old_tokens: Sequence[str], new_tokens: Sequence[str]) -> list[Run]:
    """Return the ranges of tokens that differ, in order; a single range if they share too few words."""
    pairs = _pair_tokens(old_tokens, new_tokens)
    shared_weight = sum(_measure_word(old_tokens[old_index]) for old_index, _ in pairs)
    runs = _join_adjacent_runs(old_tokens, list(_find_runs(pairs, len(old_tokens), len(new_tokens))))
    if shared_weight < _MIN_SHARED_WORDS * max(
        sum(map(_measure_word, old_tokens)), sum(map(_measure_word, new_tokens))
    ):
        runs = [(0, len(old_tokens), 0, len(new_tokens))]
    return [_trim_run(old_tokens, new_tokens, run) for run in runs]


def _pair_tokens(old_tokens: Sequence[str], new_tokens: Sequence[str]) -> list[tuple[int, int]]:
    if len(old_tokens) + len(new_tokens) <= _MAX_TOKENS:
        return pair_lines([token.encode() for token in old_tokens], [token.encode() for token in new_tokens])
    max_count = min(len(old_tokens), len(new_tokens))
    prefix_count = next(
        (index for index in range(max_count) if old_tokens[index] != new_tokens[index]), max_count
    )
    remaining_count = max_count - prefix_count
    suffix_count = next(
        (index for index in range(remaining_count) if old_tokens[-1 - index] != new_tokens[-1 - index]),
        remaining_count,
    )
    pairs = [(index, index) for index in range(prefix_count)]
    return pairs + [
        (len(old_tokens) - index, len(new_tokens) - index) for index in range(suffix_count, 0, -1)
    ]


def _find_runs(pairs: Sequence[tuple[int, int]], size: int, new_size: int) -> Iterator[Run]:
    """Yield the ranges of tokens between the paired tokens."""
    old_start = new_start = 0
    for old_index, new_index in [*pairs, (size, new_size)]:
        if old_index > old_start or new_index > new_start:
            yield old_start, old_index, new_start, new_index
        old_start, new_start = old_index + 1, new_index + 1


def _join_adjacent_runs(old_tokens: Sequence[str], runs: Sequence[Run]) -> list[Run]:
    """Return the ranges; ranges without a word between them are joined, as in `a b` that became `c d`."""
    joined_runs: list[Run] = []
    for run in runs:
        if joined_runs and not any(map(_WORD.search, old_tokens[joined_runs[-1][1] : run[0]])):
            joined_runs[-1] = joined_runs[-1][0], run[1], joined_runs[-1][2], run[3]
        else:
            joined_runs.append(run)
    return joined_runs


def _trim_run(old_tokens: Sequence[str], new_tokens: Sequence[str], run: Run) -> Run:
    """Return a range without the equal tokens at the beginning and the end of both sides."""
    old_start, old_end, new_start, new_end = run
    while old_start < old_end and new_start < new_end and old_tokens[old_start] == new_tokens[new_start]:
        old_start, new_start = old_start + 1, new_start + 1
    while old_start < old_end and new_start < new_end and old_tokens[old_end - 1] == new_tokens[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    return old_start, old_end, new_start, new_end


def _measure_word(token: str) -> int:
    return len(token) if _WORD.search(token) else 0


def _measure_offsets(parts: Sequence[str]) -> list[int]:
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + len(part))
    return starts


Span = tuple[int, int]
"""The bytes [start, end) of a document."""

BLANKS = " \t\r\n"
"""The characters of a blank line (CommonMark 0.31 §2.1); a no-break space, for example, is text."""

_BLANKS = re.compile(r"[ \t\r\n]+")


def collapse_blanks(text: str) -> str:
    """Return a text with one space for each run of blanks, and without blanks at its ends."""
    return _BLANKS.sub(" ", text).strip(BLANKS)


def decode_trimmed(data: bytes) -> str:
    """Return bytes as text with LF line endings, without blank lines around it.

    Text that is not empty ends in LF. Bytes that are not UTF-8 become U+FFFD.
    """
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.rstrip(" \t\n").split("\n")
    first_line = next((index for index, line in enumerate(lines) if line.strip(" \t")), len(lines))
    trimmed_text = "\n".join(lines[first_line:])
    return trimmed_text + "\n" if trimmed_text else ""


def read_source(document: Document, section: Section) -> str:
    """Return a section's own text with its heading."""
    return decode_trimmed(document.source(section))


def read_raw_heading(document: Document, section: Section) -> bytes:
    """Return a section's heading with the anchors above it; for a preamble, without the text above it."""
    start = section.heading_start if section.is_preamble else section.start
    return document.data[start : section.body_start]


def read_raw_text(document: Document, section: Section, removed_spans: Iterable[Span] = ()) -> bytes:
    """Return a section's own bytes without its heading, these spans, and surrounding blank lines.

    Text above a document's title belongs to its preamble.
    """
    if not section.is_preamble:
        return _trim_blank_lines(remove_spans(document.data, section.body_start, section.end, removed_spans))
    spans = sorted([*removed_spans, (section.heading_start, section.body_start)])
    return _trim_blank_lines(remove_spans(document.data, section.start, section.end, spans))


def _trim_blank_lines(data: bytes) -> bytes:
    """Return bytes without surrounding blank lines.

    The indentation of the first line is preserved, because it may mark code.
    """
    leading_blanks = len(data) - len(data.lstrip(BLANK))
    line_start = max(data.rfind(b"\n", 0, leading_blanks), data.rfind(b"\r", 0, leading_blanks)) + 1
    return data[line_start:].rstrip(BLANK)


def remove_spans(data: bytes, start: int, end: int, removed_spans: Iterable[Span]) -> bytes:
    """Return the bytes [start, end) without these spans, which must be sorted and must not overlap."""
    return b"".join(
        data[span_start:span_end] for span_start, span_end in _invert_spans(start, end, removed_spans)
    )


def _invert_spans(start: int, end: int, removed_spans: Iterable[Span]) -> Iterator[Span]:
    for span_start, span_end in removed_spans:
        yield start, max(start, span_start)
        start = max(start, span_end)
    yield start, max(start, end)


_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_ITEM = re.compile(rf"[ \t]*{LIST_MARKER}[ \t]")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")
_DELIMITER_ROW = re.compile(r"[ \t]*\|[ \t|:-]*\n?")  # GFM 0.29 §4.10


class TextUnit(NamedTuple):
    """A unit: the characters [start, end) of a text.

    `is_indivisible` is True for a line of code, the delimiter row of a table and a blank line, which are not
    compared word by word. `is_row` is True for any other row of a table.
    """

    start: int
    end: int
    is_indivisible: bool
    is_blank: bool = False
    is_row: bool = False


def split_units(text: str) -> list[TextUnit]:
    """Return the units of a text, in order; joined units equal the text."""
    units: list[TextUnit] = []
    fence = ""
    is_open = False  # True if the next line of text continues the last unit
    start = 0
    for line in _split_lines(text):
        end = start + len(line)
        fence_match = _FENCE.match(line)
        if fence:
            units.append(TextUnit(start, end, True))
            if fence_match and fence_match[1].startswith(fence) and not fence_match[2].strip(BLANKS):
                fence = ""
            is_open = False
        elif fence_match and ("`" not in fence_match[2] or fence_match[1][0] == "~"):
            fence = fence_match[1]
            units.append(TextUnit(start, end, True))
            is_open = False
        elif not line.strip(BLANKS):
            units.append(TextUnit(start, end, True, True))
            is_open = False
        elif line.lstrip(" \t").startswith("|"):
            is_delimiter = _DELIMITER_ROW.fullmatch(line) is not None
            units.append(TextUnit(start, end, is_delimiter, is_row=not is_delimiter))
            is_open = False
        elif _HEADING.match(line):
            units.append(TextUnit(start, end, False))
            is_open = False
        elif is_open and not _ITEM.match(line):
            units[-1] = units[-1]._replace(end=end)
        else:
            units.append(TextUnit(start, end, False))
            is_open = True
        start = end
    return units


def _split_lines(text: str) -> list[str]:
    """Return the lines of a text, split at LF only."""
    lines = text.split("\n")
    last_line = lines.pop()
    return [line + "\n" for line in lines] + ([last_line] if last_line else [])


_MIN_SIMILARITY = 1 / 4  # the share of the longer text's words that two versions have in common


class DiffStep(NamedTuple):
    """A step: the characters [start, end) of the old text became [new_start, new_end) of the new text.

    `word_edits` are the edits within one paragraph or row, as offsets of both texts. There are none if full
    lines were removed and added.
    """

    start: int
    end: int
    new_start: int
    new_end: int
    word_edits: tuple[TextEdit, ...] = ()


def diff_units(old: str, new: str) -> Iterator[DiffStep]:
    """Yield the steps from one text to another, in order; text outside of all steps is equal in both."""
    old_units, new_units = split_units(old), split_units(new)
    pairs = pair_lines(_encode_units(old, old_units), _encode_units(new, new_units))
    old_start = new_start = 0
    for old_index, new_index in [*pairs, (len(old_units), len(new_units))]:
        if old_index > old_start or new_index > new_start:
            yield from _diff_range(
                old,
                new,
                old_units[old_start:old_index],
                new_units[new_start:new_index],
                _find_offset(old_units, old_start),
                _find_offset(new_units, new_start),
            )
        old_start, new_start = old_index + 1, new_index + 1


def diff_texts(old: str, new: str) -> tuple[TextEdit, ...]:
    """Return the edits from one text to another; if applied in reverse order, they give the new text."""
    return tuple(
        edit
        for step in diff_units(old, new)
        for edit in step.word_edits or (TextEdit(step.start, step.end, step.new_start, step.new_end),)
    )


def _diff_range(
    old: str,
    new: str,
    old_units: Sequence[TextUnit],
    new_units: Sequence[TextUnit],
    start: int,
    new_start: int,
) -> Iterator[DiffStep]:
    """Yield the steps of a range of different units: only similar paragraphs and rows are matched."""
    matched_indexes = [
        (-1, -1),
        *_match_units(old, new, old_units, new_units),
        (len(old_units), len(new_units)),
    ]
    for (old_index, new_index), (next_old, next_new) in pairwise(matched_indexes):
        end = old_units[next_old - 1].end if next_old > old_index + 1 else start
        new_end = new_units[next_new - 1].end if next_new > new_index + 1 else new_start
        if end > start or new_end > new_start:
            yield DiffStep(start, end, new_start, new_end)
        if next_old == len(old_units):
            return
        old_unit, new_unit = old_units[next_old], new_units[next_new]
        edits = diff_words(old[old_unit.start : old_unit.end], new[new_unit.start : new_unit.end])
        word_edits = tuple(edit.shift(old_unit.start, new_unit.start) for edit in edits)
        yield DiffStep(old_unit.start, old_unit.end, new_unit.start, new_unit.end, word_edits)
        start, new_start = old_unit.end, new_unit.end


def _match_units(
    old: str, new: str, old_units: Sequence[TextUnit], new_units: Sequence[TextUnit]
) -> list[tuple[int, int]]:
    """Return the indexes of paragraphs and rows that are versions of each other, in order."""
    old_indexes, new_indexes = (
        [index for index, unit in enumerate(units) if not unit.is_indivisible]
        for units in (old_units, new_units)
    )
    pairs = match_versions(
        [_make_comparable(old, old_units[index]) for index in old_indexes],
        [_make_comparable(new, new_units[index]) for index in new_indexes],
    )
    return [(old_indexes[old_position], new_indexes[new_position]) for old_position, new_position in pairs]


class ComparableUnit(NamedTuple):
    """The words of a unit, and its kind: only units of one kind can be versions of each other."""

    kind: str
    words: Counter[str]


def _make_comparable(text: str, unit: TextUnit) -> ComparableUnit:
    words = Counter(split_words(text[unit.start : unit.end]))
    return ComparableUnit("row" if unit.is_row else "paragraph", words)


def match_versions(
    old_units: Sequence[ComparableUnit], new_units: Sequence[ComparableUnit]
) -> list[tuple[int, int]]:
    """Return the indexes of units that are versions of each other, as pairs in the order of both sequences.

    The only old unit of a kind matches the only new one. Otherwise, similar units match; of matches in
    different orders, those with the greatest similarity in total are selected. Between two matches,
    units of equal number match by position, if they are similar: rows of numbers may have no word of their
    own.
    """
    matches: dict[int, int] = {}
    for kind in {unit.kind for unit in old_units}:
        old_indexes, new_indexes = (
            [index for index, unit in enumerate(units) if unit.kind == kind]
            for units in (old_units, new_units)
        )
        if len(old_indexes) == len(new_indexes) == 1:
            matches[old_indexes[0]] = new_indexes[0]
            continue
        similar_units = match_similar(
            [old_units[index].words for index in old_indexes],
            [new_units[index].words for index in new_indexes],
            _MIN_SIMILARITY,
        )
        matches |= {old_indexes[old]: new_indexes[new] for old, new in similar_units.items()}
    similarities = [
        (old_index, new_index, measure_similarity(old_units[old_index].words, new_units[new_index].words))
        for old_index, new_index in matches.items()
    ]
    pairs: list[tuple[int, int]] = []
    old_start = new_start = 0
    for old_index, new_index in [
        *select_ordered_pairs(similarities),
        (len(old_units), len(new_units)),
    ]:
        if old_index - old_start == new_index - new_start:
            pairs += [
                pair
                for pair in zip(range(old_start, old_index), range(new_start, new_index), strict=True)
                if _are_similar(old_units[pair[0]], new_units[pair[1]])
            ]
        pairs.append((old_index, new_index))
        old_start, new_start = old_index + 1, new_index + 1
    return pairs[:-1]


def _are_similar(old: ComparableUnit, new: ComparableUnit) -> bool:
    return old.kind == new.kind and measure_similarity(old.words, new.words) >= _MIN_SIMILARITY


def _encode_units(text: str, units: Sequence[TextUnit]) -> list[bytes]:
    return [text[unit.start : unit.end].encode() for unit in units]


def _find_offset(units: Sequence[TextUnit], index: int) -> int:
    """Return the offset at which a unit begins; for an index after the last unit, the end of that unit."""
    if index < len(units):
        return units[index].start
    return units[-1].end if units else 0


_MAX_EXPANSION = 40  # characters on each side of an edit


def expand_to_word_boundaries(before: str, after: str, step: DiffStep) -> list[TextEdit]:
    """Return the edits of a paragraph, expanded to the next white space; adjacent edits are joined."""
    edits: list[TextEdit] = []
    min_start = step.start
    for index, edit in enumerate(step.word_edits):
        max_end = step.word_edits[index + 1].start if index + 1 < len(step.word_edits) else step.end
        expansion_before = _measure_expansion_before(before, after, edit, min_start)
        expansion_after = _measure_expansion_after(before, after, edit, max_end)
        expanded_edit = TextEdit(
            edit.start - expansion_before,
            edit.end + expansion_after,
            edit.new_start - expansion_before,
            edit.new_end + expansion_after,
        )
        if edits and expanded_edit.start <= edits[-1].end:
            edits[-1] = TextEdit(
                edits[-1].start, expanded_edit.end, edits[-1].new_start, expanded_edit.new_end
            )
        else:
            edits.append(expanded_edit)
        min_start = edit.end
    return edits


def _measure_expansion_before(before: str, after: str, edit: TextEdit, min_start: int) -> int:
    old, new = before[edit.start : edit.end], after[edit.new_start : edit.new_end]
    if all(text[:1].isspace() for text in (old, new) if text):
        return 0
    position = edit.start
    while position > max(min_start, edit.start - _MAX_EXPANSION) and not before[position - 1].isspace():
        position -= 1
    return edit.start - position


def _measure_expansion_after(before: str, after: str, edit: TextEdit, max_end: int) -> int:
    old, new = before[edit.start : edit.end], after[edit.new_start : edit.new_end]
    if all(text[-1:].isspace() for text in (old, new) if text):
        return 0
    position = edit.end
    while position < min(max_end, edit.end + _MAX_EXPANSION) and not before[position].isspace():
        position += 1
    return position - edit.end
