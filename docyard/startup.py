"""Imports without the garbage collector.

An import makes many objects and drops few, so a collection in the middle of one finds nothing and takes a
noticeable part of a start. What was imported is then set aside for good: no later collection looks at it.
"""

from __future__ import annotations

import gc


class ImportsKept:
    """`with ImportsKept():` the garbage collector rests, and afterwards leaves alone what was made.

    Where it is nested, the outermost one counts.
    """

    __slots__ = ("_outermost",)

    def __enter__(self) -> None:
        self._outermost = gc.isenabled()
        gc.disable()

    def __exit__(self, *exception: object) -> None:
        if self._outermost:
            gc.freeze()
            gc.enable()
