"""Where a document or a section stood at another commit, followed over the trees in between."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from workspace.git.ancestry import Graph, first_parents
from workspace.history.following import MOST, Following

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.git import GitReader
    from workspace.git.ancestry import Node
    from workspace.history.following import Place
    from workspace.snapshot.snapshot import Snapshot

_READ = 30_000_000  # bytes of versions that one answer may read


def states_between(git: GitReader, newer: str, older: str) -> Sequence[Node]:
    """Return the first-parent history from one commit back to another, both included.

    Only these two where the older one is not on that way, or too far back.
    """
    graph = Graph(git)
    found: list[Node] = []
    for node in first_parents(graph.node, git.boundary, newer, most=MOST):
        found.append(node)
        if node.id == older:
            return found
    return [found[0], graph.node(older)]


class Tracing:
    """Places and versions of one workspace, whose settings say what a document is; versions are read once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._following = Following(snapshot.git, snapshot.config.is_document, _READ)
        self._changes: dict[str, Sequence[tuple[str, str, str | None]]] = {}

    def follow(self, way: Sequence[Node], place: Place) -> Place | None:
        """What a place of the first state is in the last; None where it is gone, or cannot be told."""
        for old, new in pairwise(state.tree for state in way):
            later = place if old == new else self._following.step(place, old, new)
            if later is None:
                return None
            place = later
        return place

    def changed_since(self, way: Sequence[Node], path: str, key: str | None) -> Sequence[str]:
        """The commits of a way, newest first, that changed a document, or the section of a key in it.

        They are told for the path that the document has in the first state. Ask one object for one way only.
        """
        if path not in self._changes:
            blobs = [self._following.blob(state.tree, path) for state in way]
            self._changes[path] = [
                (state.id, now, then)
                for state, (now, then) in zip(way, pairwise(blobs), strict=False)
                if now is not None and now != then
            ]
        return [
            commit
            for commit, now, then in self._changes[path]
            if key is None or self._text(path, now, key) != self._text(path, then, key)
        ]

    def _text(self, path: str, blob: str | None, key: str) -> bytes | None:
        """The own text of a section in a version of a document, where it is there."""
        document = self._following.document(path, blob) if blob else None
        section = document.section_by_key(key) if document else None
        return document.source(section).rstrip() if document and section else None
