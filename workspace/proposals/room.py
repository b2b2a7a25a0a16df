"""How much of what is said of one proposal is read, and what is refused so that the rest stays readable.

What is read follows from the files alone: the smallest first, so that long remarks, whoever planted them, do
not hide a verdict or an end, which are short.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from workspace.proposals.events import Commented, Edited, InvalidWords, KnownBy, Reviewed, Verdict

if TYPE_CHECKING:
    from workspace.proposals.encoding import Event

MOST_EVENTS = 20_000
"""Of one proposal."""

MOST_BYTES = 32_000_000
"""Of all events of one proposal."""

_REMARKS, _CLIENTS, _PEOPLE = 0.5, 0.75, 1.0
"""The parts of the room that each may fill: remarks and what is long, what clients say, all that is said."""

_LONG = 16_000

File = TypeVar("File")


def fitting(sizes: Mapping[File, int]) -> list[File]:
    """The files that are read, of which these are the sizes in bytes; of equal ones, the first come first."""
    found: list[File] = []
    left = MOST_BYTES
    for file in sorted(sizes, key=sizes.__getitem__):
        left -= sizes[file]
        if left < 0 or len(found) == MOST_EVENTS:
            break
        found.append(file)
    return found


def check_room(files: int, size: int, new: Sequence[tuple[Event, int]]) -> None:
    """Raises InvalidWords unless new events, each with its bytes, have room beside so many files and bytes.

    Remarks may fill half of the room only, and what clients say three quarters, so that no flood of either
    keeps a person from a verdict or from closing the proposal.
    """
    for event, more in new:
        files += 1
        size += more
        part = _part(event, more)
        if files > part * MOST_EVENTS or size > part * MOST_BYTES:
            raise InvalidWords(
                "this cannot be kept: too much was said of the proposal already",
                fix="Say it shorter, or go on in another proposal.",
                field=event.words.kind,
            )


def _part(event: Event, size: int) -> float:
    match event.words:
        case Commented() | Edited() | Reviewed(verdict=Verdict.COMMENT):
            return _REMARKS
    if size > _LONG:
        return _REMARKS
    return _CLIENTS if event.author.known_by is KnownBy.CLIENT else _PEOPLE
