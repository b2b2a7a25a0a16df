"""Which proposals a branch has taken in: told by its commits, and by nothing that is stored beside them.

A merge commit on the way of first parents says in its trailers which proposal it took in, so that it is known
also when the proposal's branch is gone. So does one that came in by another parent, as from a clone that went
its own way meanwhile. Without one, a proposal is in when its tip is among the ancestors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from workspace.git.ancestry import reached
from workspace.git.messages import REFRESH, TRAILER, read_trailers
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from workspace.git.ancestry import Graph, Node
    from workspace.git.reader import GitReader


_MOST = 50_000  # first parents that are looked at
_REMEMBERED = 50_000


class Landing(NamedTuple):
    """Where a proposal was taken in: the commit of the target (None where it cannot be told), and its tip."""

    commit: str | None
    tip: str


class Asked(NamedTuple):
    """A proposal that may have been taken in: the commit of the target that it stands on, and its tip.

    Where its tip is that commit, or an older one, nothing is proposed yet.
    """

    base: str | None
    tip: str | None


class Landings:
    """What the branches of a repository have taken in. Safe in several threads."""

    def __init__(self, git: GitReader, graph: Graph) -> None:
        self._git = git
        self._graph = graph
        self._trailers: LRUCache[str, str] = LRUCache(_REMEMBERED)
        self._beside: LRUCache[str, tuple[int, tuple[str, ...]]] = LRUCache(_REMEMBERED)

    def find(self, target: str, asked: Mapping[str, Asked]) -> dict[str, Landing]:
        """Return those of the proposals that the history of a commit of their target holds, by their ids."""
        oldest = self._oldest(asked)
        way = self._graph.first_parents(target, most=_MOST, since=oldest)
        found: dict[str, Landing] = {}
        joined: dict[str, str] = {}
        for commit in reversed(way):
            for other in commit.parents[1:]:
                joined.setdefault(other, commit.id)
                id = self._proposal(commit.id)
                if id in asked:
                    found[id] = Landing(commit.id, other)
        on_way = {commit.id for commit in way}
        if len(found) < len(asked):
            found |= self._found_beside(way, on_way, oldest, {id: asked[id] for id in asked.keys() - found})
        tips = {
            id: one.tip
            for id, one in asked.items()
            if one.tip is not None and one.tip != one.base and id not in found
        }
        here = reached(self._graph, target, tips.values())
        for id, tip in tips.items():
            if tip in here and not self._is_old(tip, asked[id].base):
                found[id] = Landing(tip if tip in on_way else joined.get(tip), tip)
        return found

    def _oldest(self, asked: Mapping[str, Asked]) -> int:
        """Return the time before which none of the proposals was taken in."""
        times = [time for one in asked.values() if (time := self._graph.time(one.base or one.tip or ""))]
        return min(times, default=0)

    def _found_beside(
        self, way: Sequence[Node], on_way: Set[str], oldest: int, asked: Mapping[str, Asked]
    ) -> dict[str, Landing]:
        """Return those of the proposals that were taken in by a merge which came in beside the way itself.

        Anyone's branch may hold a commit that names a proposal, so what it took in must stand on what the
        proposal was begun on.
        """
        found: dict[str, Landing] = {}
        for commit in reversed(way):
            for merge in self._merges_beside(commit, on_way, oldest):
                one = asked.get(self._proposal(merge))
                tip = self._graph.node(merge).parents[1]
                if one is not None and (one.base is None or self._stands_on(tip, one.base)):
                    found[self._proposal(merge)] = Landing(merge, tip)
        return found

    def _merges_beside(self, commit: Node, on_way: Set[str], oldest: int) -> tuple[str, ...]:
        """Return the merges of proposals that came in by other parents of a commit, the oldest first.

        They are those of the commit's history, so they are kept; what is older is not looked at.
        """
        if len(commit.parents) < 2:
            return ()
        kept = self._beside.find(commit.id)
        if kept is not None and kept[0] <= oldest:
            return kept[1]
        beside = self._graph.ancestors(
            commit.parents[1:], seen=set(), since=oldest, most=_MOST, without=on_way
        )
        found = [(node.time, node.id) for node in beside if len(node.parents) > 1 and self._proposal(node.id)]
        merges = tuple(id for _, id in sorted(found))
        self._beside.put(commit.id, (oldest, merges))
        return merges

    def _stands_on(self, tip: str, base: str) -> bool:
        return tip != base and base in reached(self._graph, tip, [base])

    def _proposal(self, commit: str) -> str:
        """The proposal that a merge commit says it took in; empty if it says none, or took in its target."""
        return self._trailers.get(commit, self._read_proposal, commit)

    def _read_proposal(self, commit: str) -> str:
        try:
            trailers = read_trailers(self._git.commit(commit).message)
        except DamagedRepository:
            return ""
        return trailers.get(TRAILER, "") if REFRESH not in trailers else ""

    def _is_old(self, tip: str, base: str | None) -> bool:
        """Whether the target had a tip already when the proposal was begun: nothing is proposed then."""
        return base is not None and tip in reached(self._graph, base, [tip])
