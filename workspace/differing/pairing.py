"""Which section of an old version is which of a new one.

As undoing pairs them (names, anchors, texts); and then those that were both renamed and rewritten in part, by
half of their lines, as history follows them. History asks for one section and compares it with all; here all
are asked for at once, so that only lines count which one section of each version has alone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workspace.differing.texts import raw_text
from workspace.lines import BLANK
from workspace.section_pairs import section_pairs
from workspace.sequences import match_similar

if TYPE_CHECKING:
    from workspace.document import Document, Section

_LEAST = 0.5


def pair_sections(old: Document, new: Document) -> dict[int, int]:
    """The position in `old` of each section of `new` that stood there, by its position in `new`."""
    pairs = section_pairs(old, new)
    taken = set(pairs.values())
    gone = [item for item in old.sections if item.position not in taken and not item.is_preamble]
    come = [item for item in new.sections if item.position not in pairs and not item.is_preamble]
    if gone and come:
        found = match_similar(
            [_lines(old, item) for item in gone], [_lines(new, item) for item in come], _LEAST
        )
        pairs.update((come[two].position, gone[one].position) for one, two in found.items())
    return pairs


def _lines(document: Document, section: Section) -> Counter[bytes]:
    return Counter(line for line in raw_text(document, section).splitlines() if line.strip(BLANK))
