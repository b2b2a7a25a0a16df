"""The commit of its target that a proposal is compared with: where both lines of history part.

What a target's branch holds is read once and followed as the branch goes forward, so that two hundred
proposals cost one walk through its history and a few commits each.
"""

from __future__ import annotations

import heapq
import threading
from typing import TYPE_CHECKING

from workspace.git.ancestry import SLACK

if TYPE_CHECKING:
    from workspace.git import GitReader
    from workspace.git.ancestry import Graph

_MOST = 50_000  # commits of a proposal that are followed one by one
_TARGETS = 4
_BEHIND = 10_000


class _Held:
    """What a branch holds, walked from its tip as far back as was asked for."""

    def __init__(self, graph: Graph, tip: str) -> None:
        self._graph = graph
        self.tips = [tip]
        self._known = {tip}
        self._waiting = [(-graph.time(tip), tip)]

    def has(self, commit: str) -> bool:
        """Whether a commit is the tip or an ancestor of it."""
        oldest = self._graph.time(commit) - SLACK
        while commit not in self._known and self._waiting and -self._waiting[0][0] >= oldest:
            _, id = heapq.heappop(self._waiting)
            self._push(self._graph.parents(id))
        return commit in self._known

    def follow(self, tip: str) -> bool:
        """Takes in what a branch has come to; False, and nothing, where it did not go forward to that."""
        new: set[str] = set()
        waiting = [tip]
        is_forward = False
        while waiting:
            id = waiting.pop()
            if id in new:
                continue
            if self.has(id):
                is_forward = is_forward or id == self.tips[-1]
                continue
            if len(new) >= _MOST:
                return False
            new.add(id)
            waiting += self._graph.parents(id)
        if is_forward:
            self._known |= new
            self.tips[-1] = tip
        return is_forward

    def _push(self, commits: tuple[str, ...]) -> None:
        for id in commits:
            if id not in self._known:
                self._known.add(id)
                heapq.heappush(self._waiting, (-self._graph.time(id), id))


class Bases:
    """Where proposals part from their targets. Safe in several threads."""

    def __init__(self, git: GitReader, graph: Graph) -> None:
        self._git = git
        self._graph = graph
        self._held: dict[str, _Held] = {}
        self._lock = threading.Lock()

    def of(self, target: str, tip: str) -> str | None:
        """The best common ancestor of a target's tip and a proposal's; None where they have none.

        Of several (a criss-cross) it is the newest on the target's way of first parents, else the newest: of
        all of them it shows the least of what the target has by itself.
        Raises ShallowHistory, DamagedRepository.
        """
        with self._lock:
            ends = self._ends(self._of_target(target), tip)
        if len(ends) == 1:
            return ends[0]
        # Of several ends one may hold the others, and none may be the end of a shallow clone.
        bases = self._git.merge_bases(target, tip)
        if len(bases) > 1:
            way = self.way(target, min(self._graph.time(base) for base in bases))
            on_way = set(way)
            return next((base for base in bases if base in on_way), bases[0])
        return bases[0] if bases else None

    def behind(self, target: str, tip: str) -> int:
        """How many steps of first parents the target has made since; 10,000 stands for more.

        It counts what people see of a branch: a merge commit is one step.
        """
        graph = self._graph
        base = self.of(target, tip)
        if base is None:
            return len(self.way(target, 0))
        way = self.way(target, graph.time(base))
        place = {commit: number for number, commit in enumerate(way)}
        if base in place:
            return place[base]
        held = _Held(graph, base)
        return next((number for number, commit in enumerate(way) if held.has(commit)), len(way))

    def before(self, commit: str) -> str | None:
        """The first parent of a commit; None of one that has none."""
        return next(iter(self._graph.parents(commit)), None)

    def begun(self, base: str | None, tip: str) -> str | None:
        """Where a proposal was begun whose target is gone: as it says, if that can be; else a commit back."""
        if base is not None and base != tip and _Held(self._graph, tip).has(base):
            return base
        return self.before(tip)

    def way(self, tip: str, oldest: int) -> list[str]:
        """The first parents of a commit, newest first, back to a day before a time (seconds since 1970)."""
        return [node.id for node in self._graph.first_parents(tip, most=_BEHIND, since=oldest)]

    def _of_target(self, target: str) -> _Held:
        for key, held in self._held.items():
            if key == target:
                return held
        for key, held in self._held.items():
            if held.follow(target):
                self._held[target] = self._held.pop(key)
                return held
        if len(self._held) >= _TARGETS:
            self._held.pop(next(iter(self._held)))
        self._held[target] = _Held(self._graph, target)
        return self._held[target]

    def _ends(self, held: _Held, tip: str) -> list[str]:
        """The first commits of the target on each way back from a proposal's tip."""
        seen = {tip}
        waiting = [tip]
        ends: list[str] = []
        while waiting and len(seen) < _MOST:
            id = waiting.pop()
            if held.has(id):
                ends.append(id)
                continue
            for parent in self._graph.parents(id):
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return ends if not waiting else []
