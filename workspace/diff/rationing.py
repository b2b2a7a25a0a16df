"""What fits into a number of characters, and how many changes do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Block = TypeVar("Block")


def rationed(
    blocks: Iterable[tuple[Callable[[], Block], int]], most: int, size_of: Callable[[Block], int]
) -> tuple[list[Block], int]:
    """The first blocks that together have at most `most` characters, and how many changes the others tell.

    A block is made when it is called for, comes with the number of changes that it tells, and is not cut.
    """
    kept: list[Block] = []
    size = more = 0
    for make, count in blocks:
        if size <= most:
            block = make()
            size += size_of(block)
            if size <= most:
                kept.append(block)
                continue
        more += count
    return kept, more
