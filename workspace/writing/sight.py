"""Sight: which texts a client has seen, kept as digests.

What counts is a section's own text without its heading and without blank lines around it, and of a preamble
also what stands before the title. So a text that was seen stays seen when its section is renamed or moved.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.document.section_text import own_text
from workspace.lru_cache import LRUCache
from workspace.markdown.lines import BLANK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.document.document import Document, Section

_REMEMBERED = 50_000


def digest(document: Document, section: Section) -> bytes | None:
    """The SHA-256 of a section's own text; None where it says nothing."""
    text = own_text(document, section)
    if section.is_preamble and (above := document.data[section.start : section.heading_start].strip(BLANK)):
        text = above + b"\n\n" + text
    return hashlib.sha256(text).digest() if text else None


@dataclass(frozen=True, slots=True)
class SectionText:
    """A section as it can be shown: its address, its own source with the heading, and its text's digest."""

    slug: str
    source: str
    digest: bytes | None


def section_text(document: Document, section: Section) -> SectionText:
    """A section's own text, as it stands."""
    return SectionText(section.key, document.text(section.start, section.end), digest(document, section))


class Sight:
    """What one client was shown in full, or wrote. The least recently used digests go first.

    Safe in several threads.
    """

    def __init__(self, size: int = _REMEMBERED) -> None:
        self._seen: LRUCache[bytes, bool] = LRUCache(size)

    def add(self, digests: Iterable[bytes | None]) -> None:
        """Remembers texts; None stands for one that says nothing."""
        for seen in digests:
            if seen is not None:
                self._seen.put(seen, True)

    def __contains__(self, seen: bytes) -> bool:
        return self._seen.find(seen) is not None

    def __len__(self) -> int:
        return len(self._seen)
