"""Where a document or a section is now that stood at an address before: what the branch's history tells.

The newest commit in which the address named something tells what is meant. From there it is carried forward,
commit by commit, on the way of first parents (see `following`). An address that never named anything, and
what cannot be told, was not moved. Neither was what was removed.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.document.addresses import read_fragment, sections_named
from workspace.git import DamagedRepository
from workspace.git.ancestry import Graph
from workspace.history.following import MOST, Following, Place
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document.document import Document, Section
    from workspace.git import GitReader
    from workspace.git.ancestry import Node
    from workspace.snapshot.snapshot import Snapshot

_READ = 1_500_000  # bytes of old documents that one answer may read
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
        self._graph = Graph(git)
        self._answers: LRUCache[tuple[str, str, str | None], Move | None] = LRUCache(_REMEMBERED)

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
        return self._answers.get((tip.commit, path, fragment), self._search, tip, tip.commit, path, fragment)

    def _search(self, tip: Snapshot, commit: str, path: str, fragment: str | None) -> Move | None:
        self._graph.look()
        try:
            states = self._graph.first_parents(commit, most=MOST)
            return _Search(self._git, tip, states).find(path, fragment)
        except DamagedRepository:
            return None


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
        self._following = Following(git, tip.config.is_document, _READ)

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

    def _origin(self, path: str, fragment: str | None) -> tuple[int, Place] | None:
        """The youngest state in which an address named something, by its age, and what it named."""
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
                return age, Place(path)
            document = self._following.document(path, blob)
            section = _resolved(document, fragment) if document else None
            if section is not None:
                return age, Place(path, document, section)
        return None


def _resolved(document: Document, fragment: str) -> Section | None:
    wanted = read_fragment(fragment)
    named = sections_named(document, wanted.section) if wanted.task is None else ()
    return document.section_by_key(fragment) or (named[0] if len(named) == 1 else None)
