"""Overlaps: other open proposals that touch the same sections."""

from __future__ import annotations

from typing import NamedTuple


class Overlap(NamedTuple):
    """Another open proposal, and the addresses that both touch, as the first one names them.

    An address is `path.md#section`; `path.md` alone is the document as a whole, its front matter, or another
    file.
    """

    id: str
    title: str
    addresses: tuple[str, ...]
