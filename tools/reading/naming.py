"""How answers name a section: in few characters, whatever its heading holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workspace.texts.outline import Entry

MAX_ADDRESS = 1_000
"""Characters of an address that an answer repeats."""


def name_of(entry: Entry) -> str:
    """What read_section takes for a section: its address, or its number where that is far too long."""
    return entry.address if len(entry.address) <= MAX_ADDRESS else entry.number
