"""Resolution of an old address to its current location, by the first-parent history."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.diff.sections import Evidence, SectionMatch, find_moved_section
from workspace.document.addresses import find_sections_by_name, read_fragment
from workspace.document.section_text import read_comparable_text
from workspace.errors import LimitExceeded
from workspace.git.ancestry import Graph
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.snapshot.snapshot import NotADocument, check_pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.git.ancestry import Node
    from workspace.git.reader import GitReader
    from workspace.snapshot.snapshot import Snapshot

MAX_COMMITS = 1_000
"""First parents that are looked back on."""

_LOOKED_INTO = 100  # other documents of one step


class SectionPosition(NamedTuple):
    """A location: a path, and a section of this version (None: the whole document)."""

    path: str
    document: Document | None = None
    section: Section | None = None

    @property
    def address(self) -> tuple[str, str | None]:
        """The path, and the section's key."""
        return self.path, self.section.key if self.section else None


class Tracker:
    """The tracking of locations from tree to tree. Versions are read once, at most `budget` bytes of them."""

    def __init__(self, git: GitReader, is_document: Callable[[str], bool], budget: int) -> None:
        self._git, self._is_document = git, is_document
        self._left = budget
        self._documents: dict[tuple[str, str], Document | None] = {}
        self._entries: dict[tuple[str, str], str | None] = {}

    def step(self, place: SectionPosition, old: str, new: str) -> SectionPosition | None:
        """Return the location in the tree `new` of one in `old`; None if it is missing or ambiguous."""
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
            return SectionPosition(path)
        return self._within(place, path, renames.come[path]) or self._elsewhere(place, renames)

    def blob(self, tree: str, path: str) -> str | None:
        """Return the blob at a path; folders that many trees share are read once."""
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
        """Return a version of a document; None for one that may not be read, or beyond the budget."""
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

    def _within(self, place: SectionPosition, path: str, blob: str) -> SectionPosition | None:
        """Return the same section in another version of its document."""
        document = self.document(path, blob)
        if document is None or place.document is None or place.section is None:
            return None
        section = SectionMatch(place.document, document, Evidence.TEXT).successor(place.section)
        return SectionPosition(path, document, section) if section else None

    def _elsewhere(self, place: SectionPosition, renames: Renames) -> SectionPosition | None:
        """Return the same section in another document that differs between the same two trees."""
        if place.document is None or place.section is None or place.section.is_preamble:
            return None
        words = read_comparable_text(place.document, place.section)
        if not words:
            return None
        others = self._beside(renames, words)
        found = find_moved_section(place.document, place.section, others, Evidence.TEXT)
        return SectionPosition(found[0].path, *found) if found else None

    def _beside(self, renames: Renames, words: bytes) -> Iterator[tuple[Document | None, Document]]:
        """Yield the other changed documents that hold these words, before and after."""
        others = {**{path: (None, blob) for path, blob in renames.come.items()}, **renames.changed}
        if len(others) > _LOOKED_INTO:
            return
        for path, (before, after) in others.items():
            if words in self._git.blob(after) and (document := self.document(path, after)) is not None:
                yield (self.document(path, before) if before else None), document


_READ = 1_500_000  # bytes of old documents that one answer may read
_REMEMBERED = 1_000


class Move(NamedTuple):
    """The current location of a moved document or section.

    `fragment` is a section's key, None for a document; `commit` moved it last, None where no history tells.
    """

    path: str
    fragment: str | None
    commit: str | None


class Moves:
    """The moves of a branch, by its history or by a list. Safe in several threads."""

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._graph = Graph(git)
        self._answers: LRUCache[tuple[str, str, str | None], Move | None] = LRUCache(_REMEMBERED)

    @classmethod
    def of(cls, moved: Mapping[str, str]) -> Moves:
        """Return moves by a list: for each old path of a document its current path."""
        return _ListedMoves(moved)

    def find(self, tip: Snapshot, path: str, fragment: str | None = None) -> Move | None:
        """Return the current location of an address that names nothing at a tip; None if it was not moved.

        At most the last 1,000 commits are asked. What cannot be read of them tells nothing.
        """
        if tip.commit is None:
            return None
        return self._answers.get((tip.commit, path, fragment), self._search, tip, tip.commit, path, fragment)

    def _search(self, tip: Snapshot, commit: str, path: str, fragment: str | None) -> Move | None:
        self._graph.look()
        try:
            states = self._graph.first_parents(commit, most=MAX_COMMITS)
            return _Search(self._git, tip, states).find(path, fragment)
        except DamagedRepository:
            return None


class _ListedMoves(Moves):
    """Moves of documents by a list; the addresses of sections within them stay."""

    def __init__(self, moved: Mapping[str, str]) -> None:
        self._moved = moved

    def find(self, tip: Snapshot, path: str, fragment: str | None = None) -> Move | None:
        new = self._moved.get(path)
        if new is None or path in tip.documents or new not in tip.documents:
            return None
        if fragment is None:
            return Move(new, None, None)
        section = _resolve(tip.document(new), fragment)
        return Move(new, section.key, None) if section else None


def map_renamed_documents(tip: Snapshot, most: int = MAX_COMMITS) -> Mapping[str, str]:
    """Return the old paths of documents that the last commits renamed, with their paths at the tip."""
    if tip.commit is None:
        return {}
    states = Graph(tip.git).first_parents(tip.commit, most=most)
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


class _Search:
    """One search along the states of a branch, newest first."""

    def __init__(self, git: GitReader, tip: Snapshot, states: Sequence[Node]) -> None:
        self._tip, self._states = tip, states
        self._following = Tracker(git, tip.config.is_document, _READ)

    def find(self, path: str, fragment: str | None) -> Move | None:
        origin = self._origin(path, fragment)
        if origin is None:
            return None
        age, place = origin
        # By an alias, or the slug of a heading, it may stand where it stood: the name alone is gone.
        is_named_otherwise = age > 0 and fragment is not None and place.address != (path, fragment)
        moved = self._states[age - 1].id if is_named_otherwise else None
        for newer in range(age - 1, -1, -1):
            later = self._following.step(place, self._states[newer + 1].tree, self._states[newer].tree)
            if later is None:
                return None
            if later.address != place.address:
                moved = self._states[newer].id
            place = later
        if moved is None or place.path not in self._tip.documents:
            return None
        return Move(*place.address, moved)

    def _origin(self, path: str, fragment: str | None) -> tuple[int, SectionPosition] | None:
        """Return the newest state in which an address named something: its age, and the location."""
        newer: str | None = None
        for age, state in enumerate(self._states):
            try:
                blob = self._following.blob(state.tree, path)
            except DamagedRepository:
                return None
            if blob is None or blob == newer:
                continue
            newer = blob
            if fragment is None:
                return age, SectionPosition(path)
            document = self._following.document(path, blob)
            section = _resolve(document, fragment) if document else None
            if section is not None:
                return age, SectionPosition(path, document, section)
        return None


def _resolve(document: Document, fragment: str) -> Section | None:
    wanted = read_fragment(fragment)
    named = find_sections_by_name(document, wanted.section) if wanted.task is None else ()
    return document.section_by_key(fragment) or (named[0] if len(named) == 1 else None)
