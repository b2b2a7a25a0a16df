"""Detection of merged proposals from a branch's commits alone.

A merge commit on the first-parent history names its proposal in a trailer, so that it is found even after the
proposal's branch is deleted. A merge that came by another parent, such as from a clone with its own history,
also names its proposal. Without a trailer, a proposal is merged if its tip is among the ancestors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from workspace.git.ancestry import select_reachable
from workspace.git.messages import PROPOSAL_TRAILER, REFRESH_TRAILER, read_trailers
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from workspace.git.ancestry import Graph, Node
    from workspace.git.reader import GitReader


_MOST = 50_000  # the most first parents that are read
_REMEMBERED = 50_000


class MergeRecord(NamedTuple):
    """The merge of a proposal: the commit of the target, or None if unknown, and the proposal's tip."""

    commit: str | None
    tip: str


class MergeCandidate(NamedTuple):
    """A proposal that may be merged: the commit of the target that it is based on, and its tip.

    If its tip is that commit or an older one, nothing is proposed yet.
    """

    base: str | None
    tip: str | None


class MergeDetector:
    """The proposals that the branches of a repository contain. Safe in several threads."""

    def __init__(self, git: GitReader, graph: Graph) -> None:
        self._git = git
        self._graph = graph
        self._trailers: LRUCache[str, str] = LRUCache(_REMEMBERED)
        self._side_merges: LRUCache[str, tuple[int, tuple[str, ...]]] = LRUCache(_REMEMBERED)

    def find(self, target: str, candidates: Mapping[str, MergeCandidate]) -> dict[str, MergeRecord]:
        """Return the proposals that the history of a commit of their target contains, by their ids."""
        oldest = self._find_oldest_time(candidates)
        mainline = self._graph.first_parents(target, max_commits=_MOST, since=oldest)
        found: dict[str, MergeRecord] = {}
        merge_commits: dict[str, str] = {}
        for commit in reversed(mainline):
            for other in commit.parents[1:]:
                merge_commits.setdefault(other, commit.id)
                id = self._find_proposal(commit.id)
                if id in candidates:
                    found[id] = MergeRecord(commit.id, other)
        mainline_ids = {commit.id for commit in mainline}
        if len(found) < len(candidates):
            found |= self._find_side_merges(
                mainline, mainline_ids, oldest, {id: candidates[id] for id in candidates.keys() - found}
            )
        tips = {
            id: candidate.tip
            for id, candidate in candidates.items()
            if candidate.tip is not None and candidate.tip != candidate.base and id not in found
        }
        reachable = select_reachable(self._graph, target, tips.values())
        for id, tip in tips.items():
            if tip in reachable and not self._was_in_base(tip, candidates[id].base):
                found[id] = MergeRecord(tip if tip in mainline_ids else merge_commits.get(tip), tip)
        return found

    def _find_oldest_time(self, candidates: Mapping[str, MergeCandidate]) -> int:
        """Return the time before which none of the proposals was merged."""
        times = [
            time
            for candidate in candidates.values()
            if (time := self._graph.time(candidate.base or candidate.tip or ""))
        ]
        return min(times, default=0)

    def _find_side_merges(
        self,
        mainline: Sequence[Node],
        mainline_ids: Set[str],
        oldest: int,
        candidates: Mapping[str, MergeCandidate],
    ) -> dict[str, MergeRecord]:
        """Return the proposals merged by a commit that came by another parent than the first.

        Any branch may contain a commit that names a proposal, so the merged commit must descend from the
        proposal's base.
        """
        found: dict[str, MergeRecord] = {}
        for commit in reversed(mainline):
            for merge in self._list_side_merges(commit, mainline_ids, oldest):
                candidate = candidates.get(self._find_proposal(merge))
                tip = self._graph.node(merge).parents[1]
                if candidate is not None and (
                    candidate.base is None or self._is_based_on(tip, candidate.base)
                ):
                    found[self._find_proposal(merge)] = MergeRecord(merge, tip)
        return found

    def _list_side_merges(self, commit: Node, mainline_ids: Set[str], oldest: int) -> tuple[str, ...]:
        """Return the merges of proposals that came by other parents of a commit, the oldest first.

        The result depends only on the commit's history, so it is cached. Commits before `oldest` are not
        read.
        """
        if len(commit.parents) < 2:
            return ()
        cached = self._side_merges.find(commit.id)
        if cached is not None and cached[0] <= oldest:
            return cached[1]
        side_commits = self._graph.ancestors(
            commit.parents[1:], visited=set(), since=oldest, max_visited=_MOST, excluded=mainline_ids
        )
        dated_merges = [
            (node.time, node.id)
            for node in side_commits
            if len(node.parents) > 1 and self._find_proposal(node.id)
        ]
        merges = tuple(id for _, id in sorted(dated_merges))
        self._side_merges.put(commit.id, (oldest, merges))
        return merges

    def _is_based_on(self, tip: str, base: str) -> bool:
        return tip != base and base in select_reachable(self._graph, tip, [base])

    def _find_proposal(self, commit: str) -> str:
        """Return the proposal that a merge commit names, or "" if it names none or is a refresh."""
        return self._trailers.get(commit, self._read_proposal, commit)

    def _read_proposal(self, commit: str) -> str:
        try:
            trailers = read_trailers(self._git.commit(commit).message)
        except DamagedRepository:
            return ""
        return trailers.get(PROPOSAL_TRAILER, "") if REFRESH_TRAILER not in trailers else ""

    def _was_in_base(self, tip: str, base: str | None) -> bool:
        """Return True if the target had a tip before the proposal was opened: nothing is proposed then."""
        return base is not None and tip in select_reachable(self._graph, base, [tip])
