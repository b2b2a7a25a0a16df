"""The changes of a proposal: documents by their sections, other files by name.

A proposal is compared with its merge base with the target. The history of a target is read once, and extended
when the branch is fast-forwarded. So the comparison of two hundred proposals needs one walk through that
history, and a few commits of each proposal.
"""

from __future__ import annotations

import heapq
import threading
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.changes import ChangeKind, DocumentChange, DocumentChangeKind
from workspace.diff.trees import compare_document, compare_trees
from workspace.errors import InvalidConfig, LimitExceeded
from workspace.git import trees
from workspace.git.ancestry import MAX_CLOCK_SKEW_S, select_reachable
from workspace.history.commits import describe_commit
from workspace.merge.file_tree import MergedFileTree
from workspace.snapshot.snapshot import DocumentNotFound, list_changed_documents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workspace.git.ancestry import Graph
    from workspace.git.reader import GitReader
    from workspace.history.commits import CommitInfo
    from workspace.merge.trees import Merge
    from workspace.snapshot.snapshot import FileChange, Snapshot

MAX_DOCUMENTS = 200
MAX_BYTES = 16_000_000
"""The maximum size of both versions of all documents. Above either limit, only paths are listed."""


class CommitChanges(NamedTuple):
    """The differences of two commits.

    `base` is the merge base with the target, or for a merged proposal the target before the merge. It is None
    for unrelated histories, in which all files are changes. `tip` is the proposal's commit or the merge, or
    None if its branch is deleted. `files` are the paths of files that are not documents. `reason` explains
    why sections were not compared; it is None if they were compared.
    """

    base: str | None
    tip: str | None
    documents: tuple[DocumentChange, ...] = ()
    files: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def paths(self) -> frozenset[str]:
        """Every path that differs, including the old and the new path of a move."""
        document_paths = {
            path for change in self.documents for path in (change.path, change.old_path) if path is not None
        }
        return frozenset(document_paths.union(self.files))


def compare_commits(old: Snapshot, new: Snapshot) -> CommitChanges:
    """Return the differences of two commits of one repository. Raises DamagedRepository.

    If the settings are invalid, changes are listed as files.
    """
    paths = list_changed_paths(old, new)
    try:
        file_changes = list(list_changed_documents(old, new))
        size = sum(new.git.blob_size(blob) for _, *blobs in file_changes for blob in blobs if blob)
    except InvalidConfig as error:
        return CommitChanges(old.commit, new.commit, (), tuple(sorted(paths)), error.message)
    reason = None
    if len(file_changes) > MAX_DOCUMENTS or size > MAX_BYTES:
        reason = f"{len(file_changes):,} documents of {size:,} bytes are too many to compare word by word"
        documents = _list_changes_by_path(file_changes)
    else:
        documents = tuple(compare_trees(old, new))
    listed_paths = CommitChanges(old.commit, new.commit, documents).paths
    return CommitChanges(old.commit, new.commit, documents, tuple(sorted(paths - listed_paths)), reason)


def list_merge_changes(merge: Merge, paths: Iterable[str]) -> CommitChanges:
    """Return the changes at some paths from theirs to the result of the merge. `tip` is None."""
    files = MergedFileTree(merge)
    documents: list[DocumentChange] = []
    other_paths: list[str] = []
    for path in sorted(paths):
        try:
            old = merge.theirs.document(path) if merge.theirs.entry(path) is not None else None
        except (DocumentNotFound, LimitExceeded):
            other_paths.append(path)
            continue
        change = compare_document(old, files.document(path))
        if change is None:
            other_paths.append(path)
        else:
            documents.append(change)
    return CommitChanges(merge.theirs.commit, None, tuple(documents), tuple(other_paths))


def select_section(document: DocumentChange, slug: str) -> DocumentChange | None:
    """Return the changes of a document in or below a section; return None if there are no such changes."""
    section = slug.partition("[")[0]
    section_changes = tuple(
        change
        for change in document.section_changes
        if change.kind is not ChangeKind.METADATA
        and any(
            version is not None
            and version.path == document.path
            and _is_at_or_below(version.address, section)
            for version in (change.before, change.after)
        )
    )
    return document._replace(section_changes=section_changes) if section_changes else None


def _is_at_or_below(address: str, section: str) -> bool:
    return address == section or address.startswith((f"{section}/", f"{section}["))


def list_changed_paths(old: Snapshot, new: Snapshot) -> frozenset[str]:
    """Return every path at which two commits differ, of any kind."""
    return frozenset(change.path for change in trees.diff_trees(new.git, old.tree, new.tree))


def _list_changes_by_path(file_changes: Sequence[FileChange]) -> tuple[DocumentChange, ...]:
    return tuple(_classify_file(*change) for change in sorted(file_changes))


def _classify_file(path: str, old: str | None, new: str | None) -> DocumentChange:
    if old is None:
        return DocumentChange(DocumentChangeKind.ADDED, None, path, path)
    if new is None:
        return DocumentChange(DocumentChangeKind.REMOVED, path, path, path)
    return DocumentChange(DocumentChangeKind.CHANGED, path, path, path)


_MAX_SEARCHED_COMMITS = 50_000  # the maximum number of commits of a proposal that are read one by one
_MAX_CACHED_TARGETS = 4
_MAX_FIRST_PARENTS = 10_000


class _ReachableCommits:
    """The commits of a branch, walked from its tip as far back as requested."""

    def __init__(self, graph: Graph, tip: str) -> None:
        self._graph = graph
        self.tips = [tip]
        self._visited = {tip}
        self._queue = [(-graph.time(tip), tip)]

    def has(self, commit: str) -> bool:
        """Return True if a commit is the tip or an ancestor of it."""
        oldest = self._graph.time(commit) - MAX_CLOCK_SKEW_S
        while commit not in self._visited and self._queue and -self._queue[0][0] >= oldest:
            _, id = heapq.heappop(self._queue)
            self._push(self._graph.parents(id))
        return commit in self._visited

    def extend(self, tip: str) -> bool:
        """Add the commits of a new tip and return True; return False if it is not a fast-forward."""
        new_commits: set[str] = set()
        queue = [tip]
        is_fast_forward = False
        while queue:
            id = queue.pop()
            if id in new_commits:
                continue
            if self.has(id):
                is_fast_forward = is_fast_forward or id == self.tips[-1]
                continue
            if len(new_commits) >= _MAX_SEARCHED_COMMITS:
                return False
            new_commits.add(id)
            queue += self._graph.parents(id)
        if is_fast_forward:
            self._visited |= new_commits
            self.tips[-1] = tip
        return is_fast_forward

    def _push(self, commits: tuple[str, ...]) -> None:
        for id in commits:
            if id not in self._visited:
                self._visited.add(id)
                heapq.heappush(self._queue, (-self._graph.time(id), id))


class MergeBases:
    """The merge bases of proposals and their targets. Thread-safe."""

    def __init__(self, git: GitReader, graph: Graph) -> None:
        self._git = git
        self._graph = graph
        self._reachable_by_tip: dict[str, _ReachableCommits] = {}
        self._lock = threading.Lock()

    def find(self, target: str, tip: str) -> str | None:
        """Return the best common ancestor of the tips of a target and a proposal, or None if unrelated.

        Several ancestors exist after a criss-cross merge. The newest one in the target's first-parent history
        is used, or else the newest, because it shows the fewest changes of the target. Raises ShallowHistory,
        DamagedRepository.
        """
        with self._lock:
            reached_commits = self._find_first_reachable(self._get_reachable_commits(target), tip)
        if len(reached_commits) == 1:
            return reached_commits[0]
        # One of several commits may descend from the others, and a shallow clone may have no such commit.
        bases = self._git.merge_bases(target, tip)
        if len(bases) > 1:
            mainline = self.list_first_parents(target, min(self._graph.time(base) for base in bases))
            mainline_ids = set(mainline)
            return next((base for base in bases if base in mainline_ids), bases[0])
        return bases[0] if bases else None

    def count_commits_behind(self, target: str, tip: str) -> int:
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

    def find_first_parent(self, commit: str) -> str | None:
        """Return the first parent of a commit, or None."""
        return next(iter(self._graph.parents(commit)), None)

    def find_base(self, base: str | None, tip: str) -> str | None:
        """Return the base of a proposal whose target is missing.

        The recorded base is used if the tip has it as an ancestor, or else the first parent of the tip.
        """
        if base is not None and base != tip and _ReachableCommits(self._graph, tip).has(base):
            return base
        return self.find_first_parent(tip)

    def list_first_parents(self, tip: str, oldest: int) -> list[str]:
        """Return a commit and its first parents, newest first, back to a day before `oldest`.

        `oldest` is in seconds since 1970.
        """
        return [
            node.id for node in self._graph.first_parents(tip, max_commits=_MAX_FIRST_PARENTS, since=oldest)
        ]

    def _get_reachable_commits(self, target: str) -> _ReachableCommits:
        for key, reachable in self._reachable_by_tip.items():
            if key == target:
                return reachable
        for key, reachable in self._reachable_by_tip.items():
            if reachable.extend(target):
                self._reachable_by_tip[target] = self._reachable_by_tip.pop(key)
                return reachable
        if len(self._reachable_by_tip) >= _MAX_CACHED_TARGETS:
            self._reachable_by_tip.pop(next(iter(self._reachable_by_tip)))
        self._reachable_by_tip[target] = _ReachableCommits(self._graph, target)
        return self._reachable_by_tip[target]

    def _find_first_reachable(self, reachable: _ReachableCommits, tip: str) -> list[str]:
        """Return the first commit of the target on each path back from a proposal's tip."""
        visited = {tip}
        queue = [tip]
        reached_commits: list[str] = []
        while queue and len(visited) < _MAX_SEARCHED_COMMITS:
            id = queue.pop()
            if reachable.has(id):
                reached_commits.append(id)
                continue
            for parent in self._graph.parents(id):
                if parent not in visited:
                    visited.add(parent)
                    queue.append(parent)
        return reached_commits if not queue else []


MAX_LISTED_COMMITS = 100
"""The maximum number of commits of a proposal that are listed."""


class ProposedCommit(NamedTuple):
    """A commit in a proposal's first-parent history; `is_merge` is True for a merge, such as a refresh."""

    info: CommitInfo
    is_merge: bool


def list_proposed_commits(
    git: GitReader, graph: Graph, base: str | None, tip: str
) -> tuple[ProposedCommit, ...]:
    """Return a tip and its first parents down to a base, the newest first, 100 at most.

    Refreshes are included, but not the commits that they merged.
    """
    first_parents = graph.first_parents(tip, max_commits=MAX_LISTED_COMMITS)
    base_ancestors = (
        select_reachable(graph, base, (node.id for node in first_parents))
        if base is not None
        else frozenset()
    )
    own_commits = takewhile(lambda node: node.id not in base_ancestors, first_parents)
    return tuple(
        ProposedCommit(describe_commit(git.commit(node.id)), len(node.parents) > 1) for node in own_commits
    )
