"""Which section of one version of a document is which of another, for all of them at once.

Undoing, merging and comparing ask this; `carry` asks it of one address, and refuses where this goes on.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workspace.carry import Twins
from workspace.section_text import own_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document import Document, Section


def section_pairs(old: Document, new: Document) -> dict[int, int]:
    """Which section of an old version each section of a new one was, by position; those that can be told.

    Anchors, slugs and titles tell; what they leave open is told by a text that stands once on each side, or
    by there being only one left of its slug below the same parent.
    """
    twins = Twins(old, new)
    pairs = {item.position: origin.position for item in new.sections if (origin := twins.origin(item))}
    taken = set(pairs.values())
    olds = _by_text(old, [item for item in old.sections if item.position not in taken])
    news = _by_text(new, [item for item in new.sections if item.position not in pairs])
    pairs.update((news[text], olds[text]) for text in news if text in olds)
    _pair_the_last(old, new, pairs)
    return pairs


def _pair_the_last(old: Document, new: Document, pairs: dict[int, int]) -> None:
    """Pairs what is left: of several siblings of one slug the only one that is not told by its text."""
    taken = set(pairs.values())
    left: dict[tuple[int | None, str], list[int]] = {}
    for item in old.sections:
        if item.position not in taken and not item.is_preamble:
            left.setdefault((item.parent, item.slug), []).append(item.position)
    come: dict[tuple[int | None, str], list[int]] = {}
    for item in new.sections:
        above = None if item.parent is None else pairs.get(item.parent)
        if item.position not in pairs and not item.is_preamble and (item.parent is None) == (above is None):
            come.setdefault((above, item.slug), []).append(item.position)
    for name, positions in come.items():
        if len(positions) == 1 and len(left.get(name, ())) == 1:
            pairs[positions[0]] = left[name][0]


def _by_text(document: Document, sections: Sequence[Section]) -> dict[bytes, int]:
    texts = [own_text(document, item) for item in sections]
    times = Counter(texts)
    return {
        text: item.position for item, text in zip(sections, texts, strict=True) if text and times[text] == 1
    }
