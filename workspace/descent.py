"""Which section of a later version of a document was this one, and in which other document it stands now.

Where its address is no longer there, its own text tells; what two sections share tells nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.addresses import SectionNotFound
from workspace.carry import Conflict, Twins
from workspace.section_text import own_text, telling_text, whole_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.document import Document, Section


class Descent:
    """The sections of two versions of a document, the second of them perhaps at another path."""

    def __init__(self, old: Document, new: Document) -> None:
        self._old, self._new = old, new
        self._twins = Twins(old, new)

    def of(self, section: Section) -> Section | None:
        """The section of the new version that was this one; None if it is gone, or cannot be told."""
        try:
            return self._twins.of(section)
        except Conflict:
            return None
        except SectionNotFound:
            return self._of_the_same_text(section) or self._below_its_parent(section)

    def _of_the_same_text(self, section: Section) -> Section | None:
        for text in (own_text, whole_text):
            words = text(self._old, section)
            if words and sum(text(self._old, item) == words for item in self._old.sections) == 1:
                same = [item for item in self._new.sections if text(self._new, item) == words]
                if len(same) == 1 and self._twins.origin(same[0]) is None:
                    return same[0]
        return None

    def _below_its_parent(self, section: Section) -> Section | None:
        """The only one of its heading below the section that its parent became."""
        if section.parent is None:
            return None
        parent = self.of(self._old.sections[section.parent])
        same = [
            item
            for item in (self._new.children(parent) if parent else ())
            if item.slug == section.slug and self._twins.origin(item) is None
        ]
        return same[0] if len(same) == 1 else None


def elsewhere(
    old: Document, section: Section, others: Iterable[tuple[Document | None, Document]]
) -> tuple[Document, Section] | None:
    """The section of another document that was this one: the only new one of its text and its name.

    `others` are documents that changed with it, each before (None if it is new) and after.
    """
    words = telling_text(old, section)
    found: list[tuple[Document, Section]] = []
    for before, after in others:
        if before is not None and _says(before, words):
            continue
        found += [(after, item) for item in _says(after, words) if same_name(section, item)]
    return found[0] if len(found) == 1 else None


def same_name(one: Section, other: Section) -> bool:
    """Whether sections of two documents are called alike: a move writes the address as an anchor."""
    return (
        one.slug == other.slug
        or other.anchor == one.address
        or (one.anchor is not None and one.anchor == other.address)
    )


def _says(document: Document, words: bytes) -> list[Section]:
    return [item for item in document.sections if telling_text(document, item) == words]
