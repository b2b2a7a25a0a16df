"""What reading a text may cost: how many lines and blocks it may have, and how deep they may be nested."""

from __future__ import annotations

import re

from workspace.config.config import LimitExceeded

# Reading costs up to 20 µs and 500 bytes for each of these, so both bound time and memory.
MAX_LINES = 200_000
MAX_TOKENS = 1_000_000

# A quotation is one level and a list two. What is deeper is read as text; the parser recurses at each level.
MAX_LEVELS = 100

_CONTAINER_MARKS = (b"-", b"+", b"*", b".", b")", b">")
# Such marks begin a block only where nothing but marks, numbers and white space stands before them.
_MARKED = re.compile(rb"(?:\A|[\r\n])([ \t>*+\-0-9.)]+)")
_SPARE = 4


def too_many_blocks() -> LimitExceeded:
    """The error of a text of more blocks than are read."""
    return LimitExceeded(
        f"the text has over {MAX_TOKENS:,} beginnings and ends of blocks, which is more than is read",
        fix="Split it into several documents.",
        limit=MAX_TOKENS,
    )


def check_lines(count: int) -> None:
    """Raises LimitExceeded for a text of more lines than are read."""
    if count > MAX_LINES:
        raise LimitExceeded(
            f"the text has {count:,} lines, and at most {MAX_LINES:,} are read",
            fix="Split it into several documents.",
            limit=MAX_LINES,
            actual=count,
        )


def may_have_too_many_blocks(data: bytes, lines: int) -> bool:
    """Whether a text may have more blocks than are read, as far as can be told without reading it.

    A mark of a list or a quotation begins and ends up to two, and a line one more and its text.
    """
    if 2 * (len(data) + _SPARE) <= MAX_TOKENS or not _exceeds(data, lines):
        return False
    return _exceeds(b"".join(_MARKED.findall(data)), lines)


def _exceeds(marks: bytes, lines: int) -> bool:
    return 4 * sum(map(marks.count, _CONTAINER_MARKS)) + 3 * lines + _SPARE > MAX_TOKENS
