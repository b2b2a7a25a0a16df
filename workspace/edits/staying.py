"""Lines that stay where they are, since what they stand in cannot be taken back.

A commit moves lines: from one section to another, or to another document. If one side was changed since and
is left alone, the other side stays as well. Else the lines would be lost, or stand in both.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from workspace.diff.sections import DESTINATION

# A heading has another level, and an anchor, where it was moved to.
_MARKS = b" \t#>"
_ANCHOR = re.compile(rb"\{(?::|/\*)?[ \t]*#[^{}]*\}\s*$")
_WORD = re.compile(rb"\w|[^\x00-\x7f]")


class Staying(NamedTuple):
    """Lines that a commit took from what is left alone (`missing` there), and those that it put there."""

    missing: frozenset[bytes] = frozenset()
    kept: frozenset[bytes] = frozenset()

    @classmethod
    def of(cls, before: bytes, after: bytes) -> Staying:
        """The lines of a text that stays as it is, by what the commit found and what it left."""
        old, new = _lines(before), _lines(after)
        return cls(old - new, new - old)

    def __or__(self, other: Staying) -> Staying:
        return Staying(self.missing | other.missing, self.kept | other.kept)

    def __le__(self, other: Staying) -> bool:  # type: ignore[override]
        return self.missing <= other.missing and self.kept <= other.kept

    def hold(self, before: bytes, after: bytes) -> bool:
        """Whether a text that a commit changed must stay as it is, too."""
        if not self.missing and not self.kept:
            return False
        old, new = _lines(before), _lines(after)
        return not (self.missing.isdisjoint(new - old) and self.kept.isdisjoint(old - new))


NOTHING = Staying()


def _lines(text: bytes) -> frozenset[bytes]:
    """The lines that say something, without what moving them changes."""
    found = (_ANCHOR.sub(b"", DESTINATION.sub(b"", line)).strip(_MARKS) for line in text.splitlines())
    return frozenset(line for line in found if _WORD.search(line))
