"""A text diff: by unit, and by word within a paragraph that has a match.

Which words of a paragraph differ from those of another version of it.

Words, spaces and marks are compared one by one, a code span as a whole, and letters that are written without
spaces (Chinese, Japanese) each by itself.

Words that differ, widened to the white space around them, so that marks beside them are read.

The units in which a text is compared: paragraphs, list items, rows of tables, lines of code.

This reads lines as people see them, and need not know all of CommonMark: whatever it takes for a unit, the
units joined are the text.

Texts as they are compared and shown: LF line ends, no blank lines around them.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sequences import find_longest_common_subsequence, match_similar, pair_lines
from workspace.markdown.lines import BLANK, LIST_MARKER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section

_ALONE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"`[^`\n]{{1,200}}`|[{_ALONE}]|[^\W{_ALONE}]+|[^\S\n]+|.", re.DOTALL)
_WORD = re.compile(r"\w")
_MOST = 4000  # tokens of two paragraphs; of more, only what both begin and end with is looked for
_MIN_SHARED = 1 / 3  # of the longer one's words; where less is kept, they are different texts
Run = tuple[int, int, int, int]
"""Tokens [first, last) of one text, and [start, end) of another."""


class TextEdit(NamedTuple):
    """The characters [start, end) of an old text became [new_start, new_end) of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int

    def moved(self, by: int, new_by: int) -> TextEdit:
        """Return the same in texts of which these are parts."""
        return TextEdit(self.start + by, self.end + by, self.new_start + new_by, self.new_end + new_by)


def split_tokens(text: str) -> list[str]:
    """Return a text in words, spaces and marks, which together are the text."""
    return _TOKEN.findall(text)


def split_words(text: str) -> list[str]:
    """Return the words and code spans of a text."""
    return [token for token in split_tokens(text) if _WORD.search(token)]


def diff_words(old: str, new: str) -> tuple[TextEdit, ...]:
    """Return the edits from one text to another, in order; a single edit if they share too few words."""
    if old == new:
        return ()
    had, has = split_tokens(old), split_tokens(new)
    pairs = _pairs(had, has)
    kept = sum(_weight(had[one]) for one, _ in pairs)
    starts, news = _starts(had), _starts(has)
    runs = _join_runs(had, list(_runs(pairs, len(had), len(has))))
    if kept < _MIN_SHARED * max(sum(map(_weight, had)), sum(map(_weight, has))):
        runs = [(0, len(had), 0, len(has))]
    runs = [_trim_run(had, has, run) for run in runs]
    return tuple(TextEdit(starts[a], starts[b], news[c], news[d]) for a, b, c, d in runs)


def _pairs(had: Sequence[str], has: Sequence[str]) -> list[tuple[int, int]]:
    if len(had) + len(has) <= _MOST:
        return pair_lines([token.encode() for token in had], [token.encode() for token in has])
    size = min(len(had), len(has))
    lead = next((at for at in range(size) if had[at] != has[at]), size)
    rest = size - lead
    tail = next((at for at in range(rest) if had[-1 - at] != has[-1 - at]), rest)
    pairs = [(at, at) for at in range(lead)]
    return pairs + [(len(had) - at, len(has) - at) for at in range(tail, 0, -1)]


def _runs(pairs: Sequence[tuple[int, int]], size: int, new_size: int) -> Iterator[Run]:
    """Yield the stretches of tokens between those that are paired."""
    row = column = 0
    for one, other in [*pairs, (size, new_size)]:
        if one > row or other > column:
            yield row, one, column, other
        row, column = one + 1, other + 1


def _join_runs(had: Sequence[str], runs: Sequence[Run]) -> list[Run]:
    """Return the stretches, of which those with no word between them are one: `a b` became `c d`."""
    joined: list[Run] = []
    for run in runs:
        if joined and not any(map(_WORD.search, had[joined[-1][1] : run[0]])):
            joined[-1] = joined[-1][0], run[1], joined[-1][2], run[3]
        else:
            joined.append(run)
    return joined


def _trim_run(had: Sequence[str], has: Sequence[str], run: Run) -> Run:
    """Return a stretch without the tokens with which both sides of it begin, or end."""
    first, last, start, end = run
    while first < last and start < end and had[first] == has[start]:
        first, start = first + 1, start + 1
    while first < last and start < end and had[last - 1] == has[end - 1]:
        last, end = last - 1, end - 1
    return first, last, start, end


def _weight(token: str) -> int:
    return len(token) if _WORD.search(token) else 0


def _starts(parts: Sequence[str]) -> list[int]:
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + len(part))
    return starts


Span = tuple[int, int]
BLANKS = " \t\r\n"
"""What a blank line is made of (CommonMark 0.31 §2.1); a no-break space, say, is text that somebody wrote."""

_BLANKS = re.compile(r"[ \t\r\n]+")


def collapse_blanks(text: str) -> str:
    """Return a text with one space for each run of blanks, and none around it."""
    return _BLANKS.sub(" ", text).strip(BLANKS)


def decode_trimmed(data: bytes) -> str:
    """Return bytes as text with LF line ends and one at the end, without blank lines around, or "".

    Bytes that are not UTF-8 become U+FFFD.
    """
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.rstrip(" \t\n").split("\n")
    first = next((place for place, line in enumerate(lines) if line.strip(" \t")), len(lines))
    kept = "\n".join(lines[first:])
    return kept + "\n" if kept else ""


def read_source(document: Document, section: Section) -> str:
    """Return a section's own text with its heading."""
    return decode_trimmed(document.source(section))


def read_raw_heading(document: Document, section: Section) -> bytes:
    """Return a section's heading with the anchors above it; a preamble's without the text above it."""
    start = section.heading_start if section.is_preamble else section.start
    return document.data[start : section.body]


def read_raw_text(document: Document, section: Section, holes: Iterable[Span] = ()) -> bytes:
    """Return a section's own bytes without its heading, some spans in order, and the blank lines around them.

    What stands above a document's title belongs to its preamble.
    """
    if not section.is_preamble:
        return _unpadded(remove_spans(document.data, section.body, section.end, holes))
    spans = sorted([*holes, (section.heading_start, section.body)])
    return _unpadded(remove_spans(document.data, section.start, section.end, spans))


def _unpadded(data: bytes) -> bytes:
    """Return bytes without blank lines around; the first line keeps its indent, which can make it code."""
    lead = len(data) - len(data.lstrip(BLANK))
    first = max(data.rfind(b"\n", 0, lead), data.rfind(b"\r", 0, lead)) + 1
    return data[first:].rstrip(BLANK)


def remove_spans(data: bytes, start: int, end: int, holes: Iterable[Span]) -> bytes:
    """Return the bytes [start, end) without those of some spans, which are in order and do not overlap."""
    return b"".join(data[one:other] for one, other in _between(start, end, holes))


def _between(start: int, end: int, holes: Iterable[Span]) -> Iterator[Span]:
    for one, other in holes:
        yield start, max(start, one)
        start = max(start, other)
    yield start, max(start, end)


_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")
_ITEM = re.compile(rf"[ \t]*{LIST_MARKER}[ \t]")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]")


class TextUnit(NamedTuple):
    """The characters [start, end) of a text. `is_whole`: a line of code or a row, never told word by word."""

    start: int
    end: int
    is_whole: bool
    is_blank: bool = False


def split_units(text: str) -> list[TextUnit]:
    """Return the units of a text, in order, which together are the text."""
    found: list[TextUnit] = []
    fence = ""
    is_open = False  # whether the next line of words goes on with the unit before it
    at = 0
    for line in _lines(text):
        end = at + len(line)
        opening = _FENCE.match(line)
        if fence:
            found.append(TextUnit(at, end, True))
            if opening and opening[1].startswith(fence) and not opening[2].strip(BLANKS):
                fence = ""
            is_open = False
        elif opening and ("`" not in opening[2] or opening[1][0] == "~"):
            fence = opening[1]
            found.append(TextUnit(at, end, True))
            is_open = False
        elif not line.strip(BLANKS):
            found.append(TextUnit(at, end, True, True))
            is_open = False
        elif line.lstrip(" \t").startswith("|"):
            found.append(TextUnit(at, end, True))
            is_open = False
        elif _HEADING.match(line):
            found.append(TextUnit(at, end, False))
            is_open = False
        elif is_open and not _ITEM.match(line):
            found[-1] = found[-1]._replace(end=end)
        else:
            found.append(TextUnit(at, end, False))
            is_open = True
        at = end
    return found


def _lines(text: str) -> list[str]:
    """Return the lines of a text, which end in LF alone."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


_LEAST = 1 / 4  # of the words of the longer of two paragraphs, to be versions of one


class DiffStep(NamedTuple):
    """The characters [start, end) of the old text became [new_start, new_end) of the new one.

    `words` are the edits within, in offsets of both texts, where this is one paragraph of which words differ;
    else whole lines went and came, and there are none.
    """

    start: int
    end: int
    new_start: int
    new_end: int
    words: tuple[TextEdit, ...] = ()


def diff_units(old: str, new: str) -> Iterator[DiffStep]:
    """Yield what turns one text into another, in order. What no step names is alike in both."""
    olds, news = split_units(old), split_units(new)
    pairs = pair_lines(_bytes(old, olds), _bytes(new, news))
    row = column = 0
    for one, other in [*pairs, (len(olds), len(news))]:
        if one > row or other > column:
            yield from _diff_stretch(
                old, new, olds[row:one], news[column:other], _at(olds, row), _at(news, column)
            )
        row, column = one + 1, other + 1


def diff_texts(old: str, new: str) -> tuple[TextEdit, ...]:
    """Return the edits that turn one text into another: applying them, the last first, gives the new text."""
    return tuple(
        edit
        for step in diff_units(old, new)
        for edit in step.words or (TextEdit(step.start, step.end, step.new_start, step.new_end),)
    )


def _diff_stretch(
    old: str, new: str, olds: Sequence[TextUnit], news: Sequence[TextUnit], start: int, new_start: int
) -> Iterator[DiffStep]:
    """Yield the steps of a stretch whose units all differ: similar paragraphs are matched, others by line."""
    bounds = [(-1, -1), *_versions(old, new, olds, news), (len(olds), len(news))]
    for (one, other), (last, new_last) in pairwise(bounds):
        end = olds[last - 1].end if last > one + 1 else start
        new_end = news[new_last - 1].end if new_last > other + 1 else new_start
        if end > start or new_end > new_start:
            yield DiffStep(start, end, new_start, new_end)
        if last == len(olds):
            return
        before, after = olds[last], news[new_last]
        words = diff_words(old[before.start : before.end], new[after.start : after.end])
        moved = tuple(edit.moved(before.start, after.start) for edit in words)
        yield DiffStep(before.start, before.end, after.start, after.end, moved)
        start, new_start = before.end, after.end


def _versions(
    old: str, new: str, olds: Sequence[TextUnit], news: Sequence[TextUnit]
) -> list[tuple[int, int]]:
    """Return the paragraphs of a stretch that are versions of one, in the order of both."""
    had = [at for at, unit in enumerate(olds) if not unit.is_whole]
    has = [at for at, unit in enumerate(news) if not unit.is_whole]
    if len(had) == len(has) == 1:
        return [(had[0], has[0])]
    words = [Counter(split_words(old[olds[at].start : olds[at].end])) for at in had]
    words_now = [Counter(split_words(new[news[at].start : news[at].end])) for at in has]
    found = match_similar(words, words_now, _LEAST)
    back = {two: one for one, two in sorted(found.items())}
    return [(had[back[two]], has[two]) for two in find_longest_common_subsequence(list(back), sorted(back))]


def _bytes(text: str, parts: Sequence[TextUnit]) -> list[bytes]:
    return [text[unit.start : unit.end].encode() for unit in parts]


def _at(parts: Sequence[TextUnit], place: int) -> int:
    """Return where a unit begins; the end of all behind the last one."""
    if place < len(parts):
        return parts[place].start
    return parts[-1].end if parts else 0


_FAR = 40  # characters that an edit is widened at most


def expand_to_word_boundaries(before: str, after: str, step: DiffStep) -> list[TextEdit]:
    """Return the edits of a paragraph, each as far as the white space around it; those that meet are one."""
    found: list[TextEdit] = []
    floor = step.start
    for number, edit in enumerate(step.words):
        ceiling = step.words[number + 1].start if number + 1 < len(step.words) else step.end
        lead = _lead(before, after, edit, floor)
        tail = _tail(before, after, edit, ceiling)
        wide = TextEdit(edit.start - lead, edit.end + tail, edit.new_start - lead, edit.new_end + tail)
        if found and wide.start <= found[-1].end:
            found[-1] = TextEdit(found[-1].start, wide.end, found[-1].new_start, wide.new_end)
        else:
            found.append(wide)
        floor = edit.end
    return found


def _lead(before: str, after: str, edit: TextEdit, floor: int) -> int:
    old, new = before[edit.start : edit.end], after[edit.new_start : edit.new_end]
    if all(text[:1].isspace() for text in (old, new) if text):
        return 0
    at = edit.start
    while at > max(floor, edit.start - _FAR) and not before[at - 1].isspace():
        at -= 1
    return edit.start - at


def _tail(before: str, after: str, edit: TextEdit, ceiling: int) -> int:
    old, new = before[edit.start : edit.end], after[edit.new_start : edit.new_end]
    if all(text[-1:].isspace() for text in (old, new) if text):
        return 0
    at = edit.end
    while at < min(ceiling, edit.end + _FAR) and not before[at].isspace():
        at += 1
    return at - edit.end
