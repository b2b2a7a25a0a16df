"""Where a document or a section stood at another commit, followed over the trees in between.

The trees may be in either order: what a place of one is in the next is told by `renames` and `descent`, which
compare two versions and ask not which of them is older.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace import trees
from workspace.config import LimitExceeded
from workspace.descent import Descent, elsewhere, telling_text
from workspace.document import Document
from workspace.lineage import MOST, State
from workspace.renames import Renames

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.document import Section
    from workspace.git import GitReader
    from workspace.snapshot import Snapshot

_READ = 30_000_000  # bytes of versions that one answer may read
_LOOKED_INTO = 100  # other documents of one step


class Place(NamedTuple):
    """Where something stands: at a path, and as this section of this version (None: the whole document)."""

    path: str
    document: Document | None = None
    section: Section | None = None


def states_between(git: GitReader, newer: str, older: str) -> Sequence[State]:
    """The states on the way of first parents from one commit to another, both included.

    Only these two where the older one is not on that way, or too far back.
    """
    found: list[State] = []
    at: str | None = newer
    while at is not None and len(found) < MOST:
        commit = git.commit(at)
        found.append(State(at, commit.tree))
        if at == older:
            return found
        at = commit.parents[0] if commit.parents else None
    return [found[0], State(older, git.commit(older).tree)]


class Tracing:
    """Places and versions of one workspace, whose settings say what a document is; versions are read once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._git, self._config = snapshot.git, snapshot.config
        self._left = _READ
        self._read: dict[tuple[str, str], Document | None] = {}
        self._changes: dict[str, Sequence[tuple[str, str, str | None]]] = {}

    def follow(self, way: Sequence[State], place: Place) -> Place | None:
        """What a place of the first state is in the last; None where it is gone, or cannot be told."""
        blob = self._blob(way[0].tree, place.path)
        for old, new in pairwise(state.tree for state in way):
            if old == new:
                continue
            then = self._blob(new, place.path)
            if blob is not None and then == blob:
                continue
            later = self._step(place, old, new, then)
            if later is None:
                return None
            place, blob = later, self._blob(new, later.path)
        return place

    def changed_since(self, way: Sequence[State], path: str, key: str | None) -> Sequence[str]:
        """The commits of a way, newest first, that changed a document, or the section of a key in it.

        They are told for the path that the document has in the first state. Ask one object for one way only.
        """
        if path not in self._changes:
            blobs = [self._blob(state.tree, path) for state in way]
            self._changes[path] = [
                (state.commit, now, then)
                for state, (now, then) in zip(way, pairwise(blobs), strict=False)
                if now is not None and now != then
            ]
        return [
            commit
            for commit, now, then in self._changes[path]
            if key is None or self._text(path, now, key) != self._text(path, then, key)
        ]

    def _step(self, place: Place, old: str, new: str, then: str | None) -> Place | None:
        if then is not None:
            if place.section is None:
                return place
            return self._within(place, place.path, then) or self._elsewhere(place, self._renames(old, new))
        renames = self._renames(old, new)
        path = renames.of(place.path)
        if path is None:
            return self._elsewhere(place, renames)
        if place.section is None:
            return Place(path)
        return self._within(place, path, renames.come[path]) or self._elsewhere(place, renames)

    def _renames(self, old: str, new: str) -> Renames:
        return Renames(self._git, old, new, self._config.is_document)

    def _within(self, place: Place, path: str, blob: str) -> Place | None:
        """The same section in another version of its document."""
        document = self._document(path, blob)
        if document is None or place.document is None or place.section is None:
            return None
        section = Descent(place.document, document).of(place.section)
        return Place(path, document, section) if section else None

    def _elsewhere(self, place: Place, renames: Renames) -> Place | None:
        """The same section in another document that differs between the same two trees."""
        if place.document is None or place.section is None or place.section.is_preamble:
            return None
        words = telling_text(place.document, place.section)
        found = elsewhere(place.document, place.section, self._beside(renames, words)) if words else None
        return Place(found[0].path, *found) if found else None

    def _beside(self, renames: Renames, words: bytes) -> Iterator[tuple[Document | None, Document]]:
        others = {**{path: (None, blob) for path, blob in renames.come.items()}, **renames.changed}
        if len(others) > _LOOKED_INTO:
            return
        for path, (before, after) in others.items():
            if words in self._git.blob(after) and (document := self._document(path, after)) is not None:
                yield (self._document(path, before) if before else None), document

    def _document(self, path: str, blob: str) -> Document | None:
        """A version of a document; None for one that is too large, or too much by now."""
        key = (path, blob)
        if key not in self._read:
            self._left -= self._git.blob_size(blob)
            try:
                self._read[key] = Document.parse(self._git.blob(blob), path) if self._left >= 0 else None
            except LimitExceeded:
                self._read[key] = None
        return self._read[key]

    def _text(self, path: str, blob: str | None, key: str) -> bytes | None:
        """The own text of a section in a version of a document, where it is there."""
        document = self._document(path, blob) if blob else None
        section = document.section_by_key(key) if document else None
        return document.source(section).rstrip() if document and section else None

    def _blob(self, tree: str, path: str) -> str | None:
        entry = trees.find(self._git, tree, path)
        return entry.id if entry is not None and entry.is_blob else None
