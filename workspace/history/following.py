"""What a place of one tree is in another: a document is followed by `renames`, a section by `section_pairs`.

Two versions are compared, and neither of them needs to be the older one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.config.config import LimitExceeded
from workspace.diff.renames import Renames
from workspace.diff.sections import Evidence, SectionMatch, find_moved_section
from workspace.document.section_text import telling_text
from workspace.snapshot.snapshot import NotADocument, check_pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workspace.document.document import Document, Section
    from workspace.git import GitReader

MOST = 1_000
"""First parents that are looked back on."""

_LOOKED_INTO = 100  # other documents of one step


class Place(NamedTuple):
    """Where something stands: at a path, and as this section of this version (None: the whole document)."""

    path: str
    document: Document | None = None
    section: Section | None = None

    @property
    def address(self) -> tuple[str, str | None]:
        """The path, and the section's key."""
        return self.path, self.section.key if self.section else None


class Following:
    """Steps from tree to tree. Versions are read once, and no more bytes of them than `budget`."""

    def __init__(self, git: GitReader, is_document: Callable[[str], bool], budget: int) -> None:
        self._git, self._is_document = git, is_document
        self._left = budget
        self._documents: dict[tuple[str, str], Document | None] = {}
        self._entries: dict[tuple[str, str], str | None] = {}

    def step(self, place: Place, old: str, new: str) -> Place | None:
        """What a place of the tree `old` is in the tree `new`; None where it is gone, or cannot be told."""
        later = self.blob(new, place.path)
        if later is not None:
            if place.section is None or later == self.blob(old, place.path):
                return place
            return self._within(place, place.path, later) or self._elsewhere(place, self._renames(old, new))
        renames = self._renames(old, new)
        path = renames.of(place.path)
        if path is None:
            return self._elsewhere(place, renames)
        if place.section is None:
            return Place(path)
        return self._within(place, path, renames.come[path]) or self._elsewhere(place, renames)

    def blob(self, tree: str, path: str) -> str | None:
        """The blob at a path; folders that many trees share are looked into once."""
        asked: list[tuple[str, str]] = []
        at: str | None = tree
        rest = path
        while at is not None and rest:
            if (at, rest) in self._entries:
                at = self._entries[at, rest]
                break
            asked.append((at, rest))
            name, slash, rest = rest.partition("/")
            entry = self._git.entry(at, name) if name else None
            at = entry.id if entry and (entry.is_tree if slash and rest else entry.is_blob) else None
        self._entries.update(dict.fromkeys(asked, at))
        return at

    def document(self, path: str, blob: str) -> Document | None:
        """A version of a document; None for one that is not to be read, or is too much by now."""
        key = (path, blob)
        if key not in self._documents:
            self._documents[key] = self._read(path, blob)
        return self._documents[key]

    def _read(self, path: str, blob: str) -> Document | None:
        from workspace.document.document import Document

        self._left -= self._git.blob_size(blob)
        if self._left < 0:
            return None
        data = self._git.blob(blob)
        try:
            check_pointer(path, data)
            return Document.parse(data, path)
        except (NotADocument, LimitExceeded):
            return None

    def _renames(self, old: str, new: str) -> Renames:
        return Renames(self._git, old, new, self._is_document)

    def _within(self, place: Place, path: str, blob: str) -> Place | None:
        """The same section in another version of its document."""
        document = self.document(path, blob)
        if document is None or place.document is None or place.section is None:
            return None
        section = SectionMatch(place.document, document, Evidence.TEXT).successor(place.section)
        return Place(path, document, section) if section else None

    def _elsewhere(self, place: Place, renames: Renames) -> Place | None:
        """The same section in another document that differs between the same two trees."""
        if place.document is None or place.section is None or place.section.is_preamble:
            return None
        words = telling_text(place.document, place.section)
        if not words:
            return None
        others = self._beside(renames, words)
        found = find_moved_section(place.document, place.section, others, Evidence.TEXT)
        return Place(found[0].path, *found) if found else None

    def _beside(self, renames: Renames, words: bytes) -> Iterator[tuple[Document | None, Document]]:
        """The documents that differ and hold these words, as they were and as they became."""
        others = {**{path: (None, blob) for path, blob in renames.come.items()}, **renames.changed}
        if len(others) > _LOOKED_INTO:
            return
        for path, (before, after) in others.items():
            if words in self._git.blob(after) and (document := self.document(path, after)) is not None:
                yield (self.document(path, before) if before else None), document
