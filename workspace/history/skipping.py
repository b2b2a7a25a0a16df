"""Edits that stand beside a section and cannot concern it: most versions need no parse at all.

Where the lines that two versions do not share hold nothing that headings, fences or HTML are made of, and
touch none of the section's bytes, the section is the same, some bytes further on.
"""

from __future__ import annotations

import re
from itertools import compress, count
from operator import ne

# A line that may begin, end or hide a heading (CommonMark 0.31 §4.2 to §4.6), or name it.
_MARKS = re.compile(rb"[#<]|```|~~~|^[ \t>]*(?:=+|-+)[ \t]*\r?$", re.MULTILINE)
_BLOCK = 1 << 12


def shifted(new: bytes, old: bytes, start: int, end: int) -> int | None:
    """By how many bytes the section [start, end) of a text is moved in another version of it.

    None where it may be another one there.
    """
    first = common_prefix(new, old)
    last = common_suffix(new, old, first)
    left, right = len(new) - last, len(old) - last
    if first >= end:
        beside = first > end or (end < len(new) and end < len(old))
        move = 0
    else:
        beside, move = left <= start, len(old) - len(new)
    if not beside or _is_marked(new, first, left) or _is_marked(old, first, right):
        return None
    return move


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


def _is_marked(text: bytes, first: int, last: int) -> bool:
    """Whether the lines of [first, last), or those beside them, hold a mark."""
    begin = text.rfind(b"\n", 0, max(0, text.rfind(b"\n", 0, first))) + 1
    end = text.find(b"\n", last)
    end = text.find(b"\n", end + 1) if end != -1 else -1
    return _MARKS.search(text[begin : end if end != -1 else len(text)]) is not None
