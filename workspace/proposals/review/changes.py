"""The changes of a proposal: documents by their sections, other files by name.

A proposal is compared with its merge base with the target. The history of a target is read once and extended
when the branch is fast-forwarded. So two hundred proposals cost one walk and a few commits each.
"""

from __future__ import annotations

import heapq
import threading
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.changes import ChangeKind, DocumentChange, DocumentKind
from workspace.diff.trees import compare_document, compare_trees
from workspace.errors import InvalidConfig, LimitExceeded
from workspace.git import trees
from workspace.git.ancestry import MAX_CLOCK_SKEW_S, select_reachable
from workspace.history.commits import describe_commit
from workspace.merge.world import MergedWorld
from workspace.snapshot.snapshot import DocumentNotFound, list_changed_documents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workspace.git.ancestry import Graph
    from workspace.git.reader import GitReader
    from workspace.history.commits import CommitInfo
    from workspace.merge.trees import Merge
    from workspace.snapshot.snapshot import FileChange, Snapshot

MOST_DOCUMENTS = 200
MOST_BYTES = 16_000_000
"""The most bytes of both versions. Above either limit, only the paths of documents are listed."""


class CommitChanges(NamedTuple):
    """The differences of two commits.

    `base` is the merge base with the target, or for a merged proposal the target before the merge. It is None
    for unrelated histories, in which all files are changes. `tip` is the proposal's commit or the merge, or
    None if its branch is deleted. `files` are the paths of files that are not documents. `reason` is the
    reason why sections were not compared, or None if they were compared.
    """

    base: str | None
    tip: str | None
    documents: tuple[DocumentChange, ...] = ()
    files: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def paths(self) -> frozenset[str]:
        """Every path that differs, both ends of a move included."""
        ends = {end for change in self.documents for end in (change.path, change.old_path) if end is not None}
        return frozenset(ends.union(self.files))


def compare_commits(old: Snapshot, new: Snapshot) -> CommitChanges:
    """Return the differences of two commits of one repository. Raises DamagedRepository.

    If the settings are invalid, changes are listed as files.
    """
    paths = list_changed_paths(old, new)
    try:
        changed = list(list_changed_documents(old, new))
        size = sum(new.git.blob_size(blob) for _, *blobs in changed for blob in blobs if blob)
    except InvalidConfig as error:
        return CommitChanges(old.commit, new.commit, (), tuple(sorted(paths)), error.message)
    reason = None
    if len(changed) > MOST_DOCUMENTS or size > MOST_BYTES:
        reason = f"{len(changed):,} documents of {size:,} bytes are too many to compare word by word"
        documents = _list_paths(changed)
    else:
        documents = tuple(compare_trees(old, new))
    listed_paths = CommitChanges(old.commit, new.commit, documents).paths
    return CommitChanges(old.commit, new.commit, documents, tuple(sorted(paths - listed_paths)), reason)


def list_merge_changes(merge: Merge, paths: Iterable[str]) -> CommitChanges:
    """Return the changes that a merge makes to some paths beyond theirs. `tip` is None."""
    files = MergedWorld(merge)
    documents: list[DocumentChange] = []
    others: list[str] = []
    for path in sorted(paths):
        try:
            old = merge.theirs.document(path) if merge.theirs.entry(path) is not None else None
        except (DocumentNotFound, LimitExceeded):
            others.append(path)
            continue
        change = compare_document(old, files.document(path))
        if change is None:
            others.append(path)
        else:
            documents.append(change)
    return CommitChanges(merge.theirs.commit, None, tuple(documents), tuple(others))


def select_section(document: DocumentChange, slug: str) -> DocumentChange | None:
    """Return the part of a document's change in or below a section; return None if there is no such part."""
    section = slug.partition("[")[0]
    sections = tuple(
        change
        for change in document.sections
        if change.kind is not ChangeKind.METADATA
        and any(
            place is not None and place.path == document.path and _is_at_or_below(place.address, section)
            for place in (change.before, change.after)
        )
    )
    return document._replace(sections=sections) if sections else None


def _is_at_or_below(address: str, section: str) -> bool:
    return address == section or address.startswith((f"{section}/", f"{section}["))


def list_changed_paths(old: Snapshot, new: Snapshot) -> frozenset[str]:
    """Return every path at which two commits differ, of any kind."""
    return frozenset(change.path for change in trees.diff_trees(new.git, old.tree, new.tree))


def _list_paths(changed: Sequence[FileChange]) -> tuple[DocumentChange, ...]:
    return tuple(_classify_file(*change) for change in sorted(changed))


def _classify_file(path: str, old: str | None, new: str | None) -> DocumentChange:
    if old is None:
        return DocumentChange(DocumentKind.ADDED, None, path, path)
    if new is None:
        return DocumentChange(DocumentKind.REMOVED, path, path, path)
    return DocumentChange(DocumentKind.CHANGED, path, path, path)


_MOST = 50_000  # the most commits of a proposal that are read one by one
_TARGETS = 4
_BEHIND = 10_000


class _ReachableCommits:
    """The commits of a branch, walked from its tip as far back as requested."""

    def __init__(self, graph: Graph, tip: str) -> None:
        self._graph = graph
        self.tips = [tip]
        self._known = {tip}
        self._waiting = [(-graph.time(tip), tip)]

    def has(self, commit: str) -> bool:
        """Return True if a commit is the tip or an ancestor of it."""
        oldest = self._graph.time(commit) - MAX_CLOCK_SKEW_S
        while commit not in self._known and self._waiting and -self._waiting[0][0] >= oldest:
            _, id = heapq.heappop(self._waiting)
            self._push(self._graph.parents(id))
        return commit in self._known

    def follow(self, tip: str) -> bool:
        """Add the commits of a new tip; return False, without a change, unless it is a fast-forward."""
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


class MergeBases:
    """The merge bases of proposals and their targets. Safe in several threads."""

    def __init__(self, git: GitReader, graph: Graph) -> None:
        self._git = git
        self._graph = graph
        self._cached: dict[str, _ReachableCommits] = {}
        self._lock = threading.Lock()

    def find(self, target: str, tip: str) -> str | None:
        """Return the best common ancestor of the tips of a target and a proposal, or None if unrelated.

        Several ancestors exist after a criss-cross merge. The newest one in the target's first-parent history
        is used, or else the newest, because it shows the fewest changes of the target. Raises ShallowHistory,
        DamagedRepository.
        """
        with self._lock:
            ends = self._find_first_reachable(self._get_reachable_commits(target), tip)
        if len(ends) == 1:
            return ends[0]
        # One of several ends may descend from the others, and a shallow clone may have no end.
        bases = self._git.merge_bases(target, tip)
        if len(bases) > 1:
            mainline = self.list_first_parents(target, min(self._graph.time(base) for base in bases))
            mainline_ids = set(mainline)
            return next((base for base in bases if base in mainline_ids), bases[0])
        return bases[0] if bases else None

    def behind(self, target: str, tip: str) -> int:
        """Return the number of first-parent steps of the target since the merge base, at most 10,000.

        A merge commit counts as one step.
        """
        graph = self._graph
        base = self.find(target, tip)
        if base is None:
            return len(self.list_first_parents(target, 0))
        mainline = self.list_first_parents(target, graph.time(base))
        positions = {commit: number for number, commit in enumerate(mainline)}
        if base in positions:
            return positions[base]
        reachable = _ReachableCommits(graph, base)
        return next(
            (number for number, commit in enumerate(mainline) if reachable.has(commit)), len(mainline)
        )

    def before(self, commit: str) -> str | None:
        """Return the first parent of a commit, or None."""
        return next(iter(self._graph.parents(commit)), None)

    def find_base(self, base: str | None, tip: str) -> str | None:
        """Return the base of a proposal whose target is missing.

        The recorded base is used if the tip has it as an ancestor, or else the first parent of the tip.
        """
        if base is not None and base != tip and _ReachableCommits(self._graph, tip).has(base):
            return base
        return self.before(tip)

    def list_first_parents(self, tip: str, oldest: int) -> list[str]:
        """Return a commit and its first parents, newest first, back to a day before `oldest`.

        `oldest` is in seconds since 1970.
        """
        return [node.id for node in self._graph.first_parents(tip, max_commits=_BEHIND, since=oldest)]

    def _get_reachable_commits(self, target: str) -> _ReachableCommits:
        for key, reachable in self._cached.items():
            if key == target:
                return reachable
        for key, reachable in self._cached.items():
            if reachable.follow(target):
                self._cached[target] = self._cached.pop(key)
                return reachable
        if len(self._cached) >= _TARGETS:
            self._cached.pop(next(iter(self._cached)))
        self._cached[target] = _ReachableCommits(self._graph, target)
        return self._cached[target]

    def _find_first_reachable(self, reachable: _ReachableCommits, tip: str) -> list[str]:
        """Return the first commits of the target on each path back from a proposal's tip."""
        seen = {tip}
        waiting = [tip]
        ends: list[str] = []
        while waiting and len(seen) < _MOST:
            id = waiting.pop()
            if reachable.has(id):
                ends.append(id)
                continue
            for parent in self._graph.parents(id):
                if parent not in seen:
                    seen.add(parent)
                    waiting.append(parent)
        return ends if not waiting else []


MOST = 100
"""The most commits of a proposal that are listed."""


class ProposedCommit(NamedTuple):
    """A commit in a proposal's first-parent history; `is_refresh` is True for a merge of the target."""

    info: CommitInfo
    is_refresh: bool


def list_proposed_commits(
    git: GitReader, graph: Graph, base: str | None, tip: str
) -> tuple[ProposedCommit, ...]:
    """Return a tip and its first parents down to a base, the newest first, 100 at most.

    Refreshes are included, but not the commits that they merged.
    """
    first_parents = graph.first_parents(tip, max_commits=MOST)
    base_ancestors = (
        select_reachable(graph, base, (node.id for node in first_parents))
        if base is not None
        else frozenset()
    )
    own_commits = takewhile(lambda node: node.id not in base_ancestors, first_parents)
    return tuple(
        ProposedCommit(describe_commit(git.commit(node.id)), len(node.parents) > 1) for node in own_commits
    )
