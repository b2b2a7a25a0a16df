"""Where a document or a section is now that stood at an address before: what the branch's history tells.

The newest commit in which the address named something tells what is meant. From there it is carried forward,
commit by commit, on the way of first parents: `renames` tells of documents, `descent` of sections. An address
that never named anything, and what cannot be told, was not moved. Neither was what was removed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace.addresses import read_fragment, sections_named
from workspace.config import LimitExceeded
from workspace.descent import Descent, elsewhere, telling_text
from workspace.git import DamagedRepository
from workspace.lineage import MOST, Lineage
from workspace.renames import Renames
from workspace.snapshot import NotADocument, Snapshot, check_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workspace.document import Document, Section
    from workspace.git import GitReader
    from workspace.lineage import State

_READ = 1_500_000  # bytes of old documents that one answer may read
_LOOKED_INTO = 100  # other documents of a commit
_REMEMBERED = 1_000


class Move(NamedTuple):
    """Where something stands now.

    `fragment` is a section's key, None for a document; `commit` moved it last, None where no history tells.
    """

    path: str
    fragment: str | None
    commit: str | None


class Moves:
    """The moves of a branch, by its history or by a list. Safe in several threads."""

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._lineage = Lineage(git)
        self._answers: OrderedDict[tuple[str, str, str | None], Move | None] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, moved: Mapping[str, str]) -> Moves:
        """Moves by a list: for each old path of a document the one that it has now."""
        return _ListedMoves(moved)

    def find(self, tip: Snapshot, path: str, fragment: str | None = None) -> Move | None:
        """Where an address leads at a tip in which it names nothing; None if it was not moved.

        At most the last 1,000 commits are asked. What cannot be read of them tells nothing.
        """
        if tip.commit is None:
            return None
        key = (tip.commit, path, fragment)
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        try:
            found = _Search(self._git, tip, self._lineage.of(tip.commit)).find(path, fragment)
        except DamagedRepository:
            found = None
        with self._lock:
            self._answers[key] = found
            if len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
        return found


class _ListedMoves(Moves):
    """Moves of documents that someone wrote down; sections keep the address that they have in theirs."""

    def __init__(self, moved: Mapping[str, str]) -> None:
        self._moved = moved

    def find(self, tip: Snapshot, path: str, fragment: str | None = None) -> Move | None:
        new = self._moved.get(path)
        if new is None or path in tip.documents or new not in tip.documents:
            return None
        if fragment is None:
            return Move(new, None, None)
        section = _resolved(tip.document(new), fragment)
        return Move(new, section.key, None) if section else None


def renamed_documents(tip: Snapshot, most: int = MOST) -> Mapping[str, str]:
    """The old paths of documents that the last commits renamed, each with the path that it has at the tip."""
    if tip.commit is None:
        return {}
    states = Lineage(tip.git, most).of(tip.commit)
    leads: dict[str, str] = {}  # where what stood at a path, before the commit looked at, is at the tip
    moved: dict[str, str] = {}
    for new, old in pairwise(states):
        try:
            renames = Renames(tip.git, old.tree, new.tree, tip.config.is_document)
            found = {path: renames.of(path) for path in renames.gone}
        except DamagedRepository:
            break
        leads |= {path: leads.get(later, later) if later else "" for path, later in found.items()}
        for path in found:
            moved.setdefault(path, leads[path])
    here = tip.documents
    return {path: new for path, new in sorted(moved.items()) if new in here and path not in here}


class _Place(NamedTuple):
    """Where something stands in one state: at a path, as this section of this document (or as all of it)."""

    path: str
    document: Document | None = None
    section: Section | None = None


class _Search:
    """One search along the states of a branch, newest first."""

    def __init__(self, git: GitReader, tip: Snapshot, states: Sequence[State]) -> None:
        self._git, self._tip, self._states = git, tip, states
        self._left = _READ
        self._documents: dict[tuple[str, str], Document | None] = {}
        self._entries: dict[tuple[str, str], str | None] = {}

    def find(self, path: str, fragment: str | None) -> Move | None:
        origin = self._origin(path, fragment)
        if origin is None:
            return None
        age, place = origin
        moved: str | None = None
        for newer in range(age - 1, -1, -1):
            later = self._carried(place, self._states[newer + 1].tree, self._states[newer].tree)
            if later is None:
                return None
            if _address(later) != _address(place):
                moved = self._states[newer].commit
            place = later
        if moved is None or place.path not in self._tip.documents:
            return None
        return Move(*_address(place), moved)

    def _origin(self, path: str, fragment: str | None) -> tuple[int, _Place] | None:
        """The youngest state in which an address named something, by its age, and what it named."""
        newer: str | None = None
        for age, state in enumerate(self._states):
            try:
                blob = self._blob(state.tree, path)
            except DamagedRepository:
                return None
            if blob is None or blob == newer:
                continue
            newer = blob
            if fragment is None:
                return age, _Place(path)
            document = self._document(path, blob)
            section = _resolved(document, fragment) if document else None
            if section is not None:
                return age, _Place(path, document, section)
        return None

    def _carried(self, place: _Place, old: str, new: str) -> _Place | None:
        """What a place of one tree is in the next."""
        blob, later = self._blob(old, place.path), self._blob(new, place.path)
        if blob == later:
            return place
        if later is not None and place.section is None:
            return place
        if later is not None:
            return self._within(place, place.path, later) or self._elsewhere(place, old, new)
        renames = Renames(self._git, old, new, self._tip.config.is_document)
        path = renames.of(place.path)
        if path is None:
            return self._elsewhere(place, old, new, renames)
        if place.section is None:
            return _Place(path)
        return self._within(place, path, renames.come[path]) or self._elsewhere(place, old, new, renames)

    def _within(self, place: _Place, path: str, blob: str) -> _Place | None:
        """The same section in another version of its document."""
        document = self._document(path, blob)
        if document is None or place.document is None or place.section is None:
            return None
        section = Descent(place.document, document).of(place.section)
        return _Place(path, document, section) if section else None

    def _elsewhere(self, place: _Place, old: str, new: str, renames: Renames | None = None) -> _Place | None:
        """The same section in another document that the same commit changed."""
        if place.document is None or place.section is None or place.section.is_preamble:
            return None
        renames = renames or Renames(self._git, old, new, self._tip.config.is_document)
        words = telling_text(place.document, place.section)
        found = elsewhere(place.document, place.section, self._beside(renames, words)) if words else None
        return _Place(found[0].path, *found) if found else None

    def _beside(self, renames: Renames, words: bytes) -> Iterator[tuple[Document | None, Document]]:
        """The documents of a commit that hold these words, as they were and as they became."""
        others = {**{path: (None, blob) for path, blob in renames.come.items()}, **renames.changed}
        if len(others) > _LOOKED_INTO:
            return
        for path, (before, after) in others.items():
            if words in self._git.blob(after) and (document := self._document(path, after)) is not None:
                yield (self._document(path, before) if before else None), document

    def _document(self, path: str, blob: str) -> Document | None:
        """A version of a document; None for one that is not to be read."""
        key = (path, blob)
        if key not in self._documents:
            self._documents[key] = self._read(path, blob)
        return self._documents[key]

    def _read(self, path: str, blob: str) -> Document | None:
        from workspace.document import Document

        self._left -= self._git.blob_size(blob)
        if self._left < 0:
            return None
        data = self._git.blob(blob)
        try:
            check_pointer(path, data)
            return Document.parse(data, path)
        except (NotADocument, LimitExceeded):
            return None

    def _blob(self, tree: str, path: str) -> str | None:
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


def _resolved(document: Document, fragment: str) -> Section | None:
    wanted = read_fragment(fragment)
    named = sections_named(document, wanted.section) if wanted.task is None else ()
    return document.section_by_key(fragment) or (named[0] if len(named) == 1 else None)


def _address(place: _Place) -> tuple[str, str | None]:
    return place.path, place.section.key if place.section else None
