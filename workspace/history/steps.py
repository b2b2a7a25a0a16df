"""One step of a walk: what a commit did to a place, and where that was in the commit's parents.

A merge is told where it differs from every parent; where one parent has the same text at the same place, only
that one is followed (git-log(1), "History Simplification", "Default mode").
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from workspace.git import DamagedRepository
from workspace.history.origins import Origins
from workspace.history.places import absent

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from workspace.git.ancestry import Graph
    from workspace.history.places import Place, Versions


class Station(NamedTuple):
    """A place in a commit."""

    commit: str
    place: Place


class Before(NamedTuple):
    """What a place was in a parent, which a commit is told against; None stands for the first commit's."""

    parent: str | None
    place: Place
    is_elsewhere: bool


class Step(NamedTuple):
    """What a commit did to a place.

    `before` is None where nothing is told of the commit; `parents` are the stations to go on from, `work`
    what the step took, in commits looked at, and `unread` the parents that could not be read.
    """

    parents: tuple[Station, ...]
    before: Before | None
    work: int
    unread: tuple[str, ...]


class Steps:
    """Takes steps through the history of one snapshot's settings."""

    def __init__(self, graph: Graph, versions: Versions, is_document: Callable[[str], bool]) -> None:
        self._graph = graph
        self._versions = versions
        self._origins = Origins(versions, is_document)

    def pass_by(self, station: Station, most: int, known: Container[str] = ()) -> tuple[Station, int]:
        """The commit before the next one that may have changed a station's document; how many were passed.

        It also ends at a commit of `known`. This is where nearly all of the time goes, so it asks for
        nothing but the file's id.
        """
        commit, place = station
        node, blob, passed = self._graph.node, self._graph.blob, 0
        with suppress(DamagedRepository):
            at = node(commit)
            while passed < most:
                for parent in at.parents:
                    before = node(parent)
                    if before.tree == at.tree or blob(before.tree, place.path) == place.blob:
                        commit, at = parent, before
                        break
                else:
                    break
                passed += 1
                if commit in known:
                    break
        return Station(commit, place), passed

    def take(self, station: Station) -> Step:
        """The step back from a station. What cannot be read of the history is told, not raised."""
        commit, place = station
        try:
            node = self._graph.node(commit)
        except DamagedRepository:
            return Step((), None, 1, (commit,))
        if not node.parents:
            return Step((), self._created(place), 1, ())
        passed = self.pass_by(station, 1)
        if passed[1]:
            return Step((passed[0],), None, 1, ())
        work, unread = 1, []
        found: list[Before] = []
        for parent in node.parents:
            try:
                tree = self._graph.node(parent).tree
                origin = self._origins.of(place, node.tree, tree, self._graph.blob(tree, place.path))
            except DamagedRepository:
                unread.append(parent)
                continue
            work += origin.work
            if self._same(origin.place, place):
                return Step((Station(parent, origin.place),), None, work, ())
            found.append(Before(parent, origin.place, origin.is_elsewhere))
        return self._told(place, found, work, tuple(unread))

    def _told(self, place: Place, found: list[Before], work: int, unread: tuple[str, ...]) -> Step:
        if not found:
            return Step((), None, work, unread)
        alike = [other for other in found if other.place.is_there and self._same_text(other.place, place)]
        followed = alike[:1] or found
        against = next((other for other in followed if other.place.is_there), followed[0])
        parents = tuple(Station(other.parent, other.place) for other in followed if other.parent)
        return Step(parents, against, work, unread)

    def _created(self, place: Place) -> Before | None:
        """What a first commit did: it made what is there."""
        return Before(None, absent(place.path, place.key), False) if place.is_there else None

    def _same(self, one: Place, other: Place) -> bool:
        """Whether a place is as it was: neither there, or at the same address with the same text."""
        if not one.is_there or not other.is_there:
            return one.is_there == other.is_there
        return one.address == other.address and self._same_text(one, other)

    def _same_text(self, one: Place, other: Place) -> bool:
        if one.key is None or one[2:] == other[2:]:
            return one.blob == other.blob
        if one.end - one.start != other.end - other.start:
            return False
        text = self._versions.text(one)
        return text is not None and text == self._versions.text(other)
