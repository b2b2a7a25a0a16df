"""One value of three versions: that of the side that changed it."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal, TypeVar


class _Clash(Enum):
    CLASH = "clash"


CLASH: Final = _Clash.CLASH
"""Both sides changed the value, differently."""

Clash = Literal[_Clash.CLASH]
T = TypeVar("T")


def three_way(base: T, ours: T, theirs: T) -> T | Clash:
    """The value that a merge takes, or CLASH."""
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else CLASH
