"""Edits that concern no heading, told without a parse: most versions need none.

An edit may make a heading or take one away only by lines that hold what headings, fences, quotes or HTML are
made of, or by ending a list or a block of HTML around one. Both end by themselves at a blank line before one
that is not indented (CommonMark 0.31 §5.2, §4.6), so it is enough to look from the edit to there.
"""

from __future__ import annotations

import re
from itertools import compress, count
from operator import ne
from typing import NamedTuple

# What may begin, end or hide a heading (CommonMark 0.31 §4.2 to §4.6, §5.1). A CR alone ends lines that are
# not looked at one by one.
_MARKS = re.compile(rb"[#<>]|```|~~~|\r(?!\n)|^[ \t]*(?:=+|-+)[ \t]*\r?$", re.MULTILINE)
_REST = re.compile(rb"\n[ \t]*\r?\n(?=[^ \t\r\n])")
_BLOCK = 1 << 12
_BOM = b"\xef\xbb\xbf"


class Edit(NamedTuple):
    """Where two versions differ, and no heading does: [first, last) became [first, end) of the other."""

    first: int
    last: int
    end: int

    def moved(self, start: int, stop: int) -> tuple[int, int] | None:
        """The bytes that a section at [start, stop) has in the other version; None if that is not sure.

        An edit where a section stops is its own: a heading there would be next to the edit.
        """
        move = self.end - self.last
        if self.first > stop:
            return start, stop
        if self.last <= start:
            return start + move, stop + move
        return (start, stop + move) if self.first > start and self.last <= stop else None


def edit_between(new: bytes, old: bytes) -> Edit | None:
    """The edit from one version of a text back to another; None where it may concern a heading."""
    first = common_prefix(new, old)
    # Looked at as whole lines: what a line means depends on how it begins.
    first = new.rfind(b"\n", 0, first) + 1
    size = common_suffix(new, old, first)
    last, end = len(new) - size, len(old) - size
    rest = _REST.search(new, last)
    tail = rest.start() - last if rest else size
    if _MARKS.search(new, first, last + tail) or _MARKS.search(old, first, end + tail):
        return None
    # Without a word above the first heading, the title would be the preamble.
    is_above = not _has_words(new, 0, first) or new.removeprefix(_BOM).startswith(b"---")
    if is_above and not (_has_words(new, first, last) and _has_words(old, first, end)):
        return None
    return Edit(first, last, end)


def _has_words(text: bytes, first: int, last: int) -> bool:
    return bool(text[first:last].removeprefix(_BOM).strip())


def common_prefix(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike."""
    most = min(len(one), len(other))
    at = 0
    while at < most and one[at : at + _BLOCK] == other[at : at + _BLOCK]:
        at += _BLOCK
    at = min(at, most)
    pairs = map(ne, one[at : at + _BLOCK], other[at : at + _BLOCK])
    return at + next(compress(count(), pairs), min(_BLOCK, most - at))


def common_suffix(one: bytes, other: bytes, prefix: int) -> int:
    """How many bytes two texts end with alike, beside those that they begin with."""
    most = min(len(one), len(other)) - prefix
    at = 0
    while at + _BLOCK <= most and _tail(one, at, _BLOCK) == _tail(other, at, _BLOCK):
        at += _BLOCK
    size = min(_BLOCK, most - at)
    pairs = map(ne, reversed(_tail(one, at, size)), reversed(_tail(other, at, size)))
    return at + next(compress(count(), pairs), size)


def _tail(text: bytes, at: int, size: int) -> bytes:
    return text[len(text) - at - size : len(text) - at]
