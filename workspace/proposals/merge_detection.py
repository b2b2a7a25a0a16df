"""The detection of merged proposals from a branch's commits alone.

A merge commit on the first-parent history names its proposal in a trailer, so that the merge is found even
after the proposal's branch is deleted. A merge outside the first-parent history, such as from another clone,
also names its proposal. Without a trailer, a proposal counts as merged if its tip is an ancestor of the
branch's tip.
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


_MAX_FIRST_PARENTS = 50_000  # the maximum number of first parents that are read
_MAX_CACHED_COMMITS = 50_000


class MergeRecord(NamedTuple):
    """The merge of a proposal: the commit of the target, or None if unknown, and the proposal's tip."""

    commit: str | None
    tip: str


class MergeCandidate(NamedTuple):
    """A proposal that may be merged: the target's commit on which it is based, and its tip.

    If the tip is that commit or an ancestor of it, nothing is proposed yet.
    """

    base: str | None
    tip: str | None


class MergeDetector:
    """A detector of proposals that were merged into branches of a repository. Thread-safe."""

    def __init__(self, git: GitReader, graph: Graph) -> None:
        self._git = git
        self._graph = graph
        self._trailers: LRUCache[str, str] = LRUCache(_MAX_CACHED_COMMITS)
        self._side_merges: LRUCache[str, tuple[int, tuple[str, ...]]] = LRUCache(_MAX_CACHED_COMMITS)

    def find(self, target: str, candidates: Mapping[str, MergeCandidate]) -> dict[str, MergeRecord]:
        """Return the merges of proposals in the history of the target's commit `target`, by proposal id."""
        oldest_time = self._find_oldest_time(candidates)
        first_parents = self._graph.first_parents(target, max_commits=_MAX_FIRST_PARENTS, since=oldest_time)
        records: dict[str, MergeRecord] = {}
        merge_commits: dict[str, str] = {}
        for commit in reversed(first_parents):
            for merged_tip in commit.parents[1:]:
                merge_commits.setdefault(merged_tip, commit.id)
                id = self._find_proposal_id(commit.id)
                if id in candidates:
                    records[id] = MergeRecord(commit.id, merged_tip)
        first_parent_ids = {commit.id for commit in first_parents}
        if len(records) < len(candidates):
            records |= self._find_side_merges(
                first_parents,
                first_parent_ids,
                oldest_time,
                {id: candidates[id] for id in candidates.keys() - records},
            )
        tips = {
            id: candidate.tip
            for id, candidate in candidates.items()
            if candidate.tip is not None and candidate.tip != candidate.base and id not in records
        }
        reachable = select_reachable(self._graph, target, tips.values())
        for id, tip in tips.items():
            if tip in reachable and not self._is_in_base(tip, candidates[id].base):
                records[id] = MergeRecord(tip if tip in first_parent_ids else merge_commits.get(tip), tip)
        return records

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
        first_parents: Sequence[Node],
        first_parent_ids: Set[str],
        oldest_time: int,
        candidates: Mapping[str, MergeCandidate],
    ) -> dict[str, MergeRecord]:
        """Return the merges of proposals outside the first-parent history, by proposal id.

        Any commit may name a proposal, so the merged tip must descend from the proposal's base.
        """
        records: dict[str, MergeRecord] = {}
        for commit in reversed(first_parents):
            for merge in self._list_side_merges(commit, first_parent_ids, oldest_time):
                candidate = candidates.get(self._find_proposal_id(merge))
                tip = self._graph.node(merge).parents[1]
                if candidate is not None and (
                    candidate.base is None or self._is_based_on(tip, candidate.base)
                ):
                    records[self._find_proposal_id(merge)] = MergeRecord(merge, tip)
        return records

    def _list_side_merges(
        self, commit: Node, first_parent_ids: Set[str], oldest_time: int
    ) -> tuple[str, ...]:
        """Return the merges of proposals reached by the other parents of a commit, the oldest first.

        The result depends only on the commit's history, so it is cached. Commits before `oldest_time` are not
        read.
        """
        if len(commit.parents) < 2:
            return ()
        cached_merges = self._side_merges.find(commit.id)
        if cached_merges is not None and cached_merges[0] <= oldest_time:
            return cached_merges[1]
        side_commits = self._graph.ancestors(
            commit.parents[1:],
            visited=set(),
            since=oldest_time,
            max_visited=_MAX_FIRST_PARENTS,
            excluded=first_parent_ids,
        )
        dated_merges = [
            (node.time, node.id)
            for node in side_commits
            if len(node.parents) > 1 and self._find_proposal_id(node.id)
        ]
        merges = tuple(id for _, id in sorted(dated_merges))
        self._side_merges.put(commit.id, (oldest_time, merges))
        return merges

    def _is_based_on(self, tip: str, base: str) -> bool:
        return tip != base and base in select_reachable(self._graph, tip, [base])

    def _find_proposal_id(self, commit: str) -> str:
        """Return the id that a merge commit names; return "" for a commit without an id and for a refresh."""
        return self._trailers.get(commit, self._read_proposal_id, commit)

    def _read_proposal_id(self, commit: str) -> str:
        try:
            trailers = read_trailers(self._git.commit(commit).message)
        except DamagedRepository:
            return ""
        return trailers.get(PROPOSAL_TRAILER, "") if REFRESH_TRAILER not in trailers else ""

    def _is_in_base(self, tip: str, base: str | None) -> bool:
        """Return True if a proposal's base contains a tip: nothing is proposed then."""
        return base is not None and tip in select_reachable(self._graph, base, [tip])
