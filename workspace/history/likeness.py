"""Which section of an older version a section was: by its name, by its text, else by most of its lines.

A person may retitle a section, rewrite a part of it and commit both at once; what shares at least half of its
lines with only one section that is gone, was that section, as Git reckons for files (gitdiffcore,
"diffcore-rename").
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from workspace.carry import Twins
from workspace.descent import Descent, same_name
from workspace.section_text import telling_text
from workspace.sequences import similarity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workspace.document import Document, Section

_LEAST = 0.5
DESTINATION = re.compile(rb"(?<=\]\()[^()\s]+|(?<=\]: )\S+")
"""Where a link leads to, written anew in a section that moves (CommonMark 0.31 §6.3, §4.7)."""
_COMPARED = 200  # sections that are gone; of more, none is compared


def origin(old: Document, new: Document, section: Section) -> Section | None:
    """The section of the older version that became this one; None if it is new, or cannot be told."""
    twins = Twins(old, new)
    known = twins.origin(section) or Descent(new, old).of(section)
    if known is not None:
        return known
    return _best(new, section, [(old, item) for item in _gone(old, twins)])


def most_alike(
    document: Document, section: Section, others: Iterable[tuple[Document | None, Document]]
) -> tuple[Document, Section] | None:
    """The section of another document that is gone there, is called like this one, and is most like it.

    `others` are documents that changed with it, each after (None if it is gone) and before.
    """
    found: list[tuple[Document, Section]] = []
    for after, before in others:
        named = [item for item in before.sections if not item.is_preamble and same_name(section, item)]
        if named and after is not None:
            gone = {item.position for item in _gone(before, Twins(before, after))}
            named = [item for item in named if item.position in gone]
        found += [(before, item) for item in named]
    best = _best_of(document, section, found)
    return found[best] if best is not None else None


def _gone(old: Document, twins: Twins) -> list[Section]:
    """The sections of the older version of which the newer has none."""
    kept = {
        item.position
        for item in (twins.origin(section) for section in twins.new.sections)
        if item is not None
    }
    return [item for item in old.sections if item.position not in kept and not item.is_preamble]


def _best(document: Document, section: Section, found: Sequence[tuple[Document, Section]]) -> Section | None:
    best = None if section.is_preamble else _best_of(document, section, found)
    return found[best][1] if best is not None else None


def _best_of(document: Document, section: Section, found: Sequence[tuple[Document, Section]]) -> int | None:
    """Which of some sections is most like one, if it is so alone, and at least by half."""
    if len(found) > _COMPARED:
        return None
    lines = _lines(document, section)
    likeness = [similarity(lines, _lines(other, item)) for other, item in found]
    most = max(likeness, default=0.0)
    return likeness.index(most) if most >= _LEAST and likeness.count(most) == 1 else None


def _lines(document: Document, section: Section) -> Counter[bytes]:
    text = DESTINATION.sub(b"", telling_text(document, section))
    return Counter(line for line in text.splitlines() if line.strip())
