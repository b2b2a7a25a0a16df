"""The numbers of documents and tasks over time, at the end of each day, week or longer period.

The first-parent history is walked once. For each period, the newest commit at its end is compared with that
of the period before, so that only changed folders are listed and only changed documents are parsed. The
settings of the snapshot decide for all commits what a document is.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.toml import CONFIG_PATH
from workspace.errors import WorkspaceError
from workspace.git.ancestry import MAX_OLD_COMMITS, Graph, walk_first_parents
from workspace.git.repository import DamagedRepository
from workspace.git.trees import diff_trees
from workspace.history.periods import Periods, split_into_periods, to_datetime
from workspace.lru_cache import LRUCache
from workspace.task_graph import may_have_tasks

if TYPE_CHECKING:
    from workspace.config.config import WorkspaceConfig
    from workspace.git.objects import TreeEntry
    from workspace.git.reader import GitReader
    from workspace.snapshot.snapshot import Snapshot

MAX_COMMITS = 100_000
"""The maximum number of commits that are walked; an older history is unknown."""

_MAX_CACHED_DOCUMENTS = 200_000
_MAX_CACHED_TREES = 5_000
_COMMITS_PER_STEP = 200


class DocumentCounts(NamedTuple):
    """The documents of a commit, their tasks, and the documents whose tasks could not be read."""

    documents: int = 0
    open_tasks: int = 0
    done_tasks: int = 0
    unreadable_documents: int = 0


class Growth(NamedTuple):
    """The counts at the end of each period.

    `trees` are the trees of the counted commits, and `settings` identifies the settings. `is_complete` is
    False if the time before the first period is unknown: a shallow clone, or too many commits.
    """

    periods: Periods
    counts: Sequence[DocumentCounts]
    trees: Sequence[str | None]
    settings: str
    is_complete: bool = True


class GrowthProgress(NamedTuple):
    """The number of walked commits, of counted periods, of all periods (0 during the walk), of documents."""

    commits: int
    periods: int = 0
    period_count: int = 0
    documents: int = 0


Counting = Generator[GrowthProgress, None, Growth]
"""A count that yields after each small step, and returns the growth."""


class GrowthCounter:
    """A counter of documents and tasks in the commits of a repository. Thread-safe."""

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._graph = Graph(git)
        # The open and the done tasks by blob and limit of bytes; None if the blob cannot be read.
        self._tasks: LRUCache[tuple[str, int], tuple[int, int] | None] = LRUCache(_MAX_CACHED_DOCUMENTS)
        self._counts: LRUCache[tuple[str, str], DocumentCounts] = LRUCache(_MAX_CACHED_TREES)

    def add_known_counts(self, settings: str, counts: Mapping[str, DocumentCounts]) -> None:
        """Add counts by tree, such as those of an earlier process, so that they are not counted again."""
        for tree, tree_counts in counts.items():
            self._counts.put((settings, tree), tree_counts)

    def count(self, snapshot: Snapshot, since: date | None, now: datetime) -> Counting:
        """Count in the first-parent history of a snapshot since a day (None for all), in small steps.

        The last count is that of the snapshot, whatever the clocks of its authors showed. Raises
        InvalidConfig, DamagedRepository.
        """
        settings = read_settings_id(snapshot)
        today = now.astimezone(UTC).date()
        if snapshot.commit is None or snapshot.tree is None:
            periods = split_into_periods(today, today)
            return Growth(periods, [DocumentCounts()] * len(periods.starts), [None], settings)
        self._graph.refresh()
        walk = yield from self._walk(snapshot.commit, since)
        oldest_day = _to_day(walk.commits[-1][0], today)
        periods = split_into_periods(max(oldest_day, since or oldest_day), today)
        trees = _select_trees(walk.commits, periods.end_times)
        trees[-1] = snapshot.tree
        counts: list[DocumentCounts] = []
        old_tree, old_counts, document_count = None, DocumentCounts(), 0
        for number, tree in enumerate(trees):
            if tree is None:
                counts.append(DocumentCounts())
                continue
            known_counts = self._counts.find((settings, tree))
            if known_counts is None:
                changes = self._count_changes(snapshot.config, old_tree, tree)
                known_counts, is_damaged = old_counts, False
                for change in changes:
                    document_count += 1
                    known_counts = DocumentCounts(
                        *(left + right for left, right in zip(known_counts, change.counts, strict=True))
                    )
                    is_damaged |= change.is_damaged
                    yield GrowthProgress(len(walk.commits), number, len(trees), document_count)
                if not is_damaged:
                    self._counts.put((settings, tree), known_counts)
            counts.append(known_counts)
            old_tree, old_counts = tree, known_counts
            yield GrowthProgress(len(walk.commits), number + 1, len(trees), document_count)
        return Growth(periods, counts, trees, settings, walk.is_complete)

    def _walk(self, tip: str, since: date | None) -> Generator[GrowthProgress, None, _Walk]:
        """Return the first-parent history, newest first, as far as it can be needed for a time since a day.

        It ends after 50 consecutive commits before the day, because the clocks of authors differ.
        """
        commits: list[tuple[int, str]] = []
        since_time = None if since is None else int(to_datetime(since).timestamp())
        old_count, is_complete = 0, False
        with suppress(DamagedRepository):  # the end of a shallow clone
            for node in walk_first_parents(self._graph.node, frozenset, tip, max_commits=MAX_COMMITS):
                commits.append((node.time, node.tree))
                old_count = old_count + 1 if since_time is not None and node.time < since_time else 0
                is_complete = not node.parents or old_count > 0
                if old_count > MAX_OLD_COMMITS:
                    break
                if len(commits) % _COMMITS_PER_STEP == 0:
                    yield GrowthProgress(len(commits))
        if not commits:
            self._graph.node(tip)  # raises the error
        return _Walk(_correct_times(commits), is_complete)

    def _count_changes(
        self, config: WorkspaceConfig, old_tree: str | None, tree: str
    ) -> Generator[_CountChange, None, None]:
        """Yield the change of the counts by each document that differs between two trees."""
        root = f"{config.root}/" if config.root else ""

        def may_contain_documents(folder: str) -> bool:
            return folder.startswith(root) or root.startswith(folder)

        for difference in diff_trees(self._graph, old_tree, tree, may_contain_documents):
            if config.is_document(difference.path):
                old, new = (
                    self._count_entry(entry, config.limits.document_bytes)
                    for entry in (difference.old, difference.new)
                )
                changes = [right - left for left, right in zip(old.counts, new.counts, strict=True)]
                yield _CountChange(DocumentCounts(*changes), old.is_damaged or new.is_damaged)

    def _count_entry(self, entry: TreeEntry | None, max_bytes: int) -> _CountChange:
        if entry is None or not entry.is_blob:
            return _CountChange(DocumentCounts(), False)
        try:
            tasks = self._tasks.get((entry.id, max_bytes), self._count_tasks, entry.id, max_bytes)
        except DamagedRepository:
            return _CountChange(DocumentCounts(1, unreadable_documents=1), True)
        counts = DocumentCounts(1, unreadable_documents=1) if tasks is None else DocumentCounts(1, *tasks)
        return _CountChange(counts, False)

    def _count_tasks(self, blob: str, max_bytes: int) -> tuple[int, int] | None:
        """Return the numbers of open and of done tasks; None if the document cannot be read."""
        if self._git.blob_size(blob) > max_bytes:
            return None
        data = self._git.blob(blob)
        if not may_have_tasks(data):
            return 0, 0
        from workspace.document.document import Document

        try:
            tasks = Document.parse(data, "document.md").all_tasks
        except DamagedRepository:
            raise
        except WorkspaceError:
            return None
        done_count = sum(task.is_done for task in tasks)
        return len(tasks) - done_count, done_count


class _Walk(NamedTuple):
    """The times and trees of commits, newest first; `is_complete` is True if none of the time is missing."""

    commits: Sequence[tuple[int, str]]
    is_complete: bool


class _CountChange(NamedTuple):
    """A change of the counts; `is_damaged` is True if a text may be readable after a repair."""

    counts: DocumentCounts
    is_damaged: bool


def read_settings_id(snapshot: Snapshot) -> str:
    """Return the id of the settings that decide what a document is."""
    entry = snapshot.entry(CONFIG_PATH)
    return f"{entry.id if entry else ''} {snapshot.folder or ''}"


def _correct_times(commits: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return commits, newest first, each not earlier than the older ones, whatever the clocks showed."""
    corrected: list[tuple[int, str]] = []
    newest_time = commits[-1][0]
    for time, tree in reversed(commits):
        newest_time = max(newest_time, time)
        corrected.append((newest_time, tree))
    return corrected[::-1]


def _select_trees(commits: Sequence[tuple[int, str]], times: Sequence[int]) -> list[str | None]:
    """Return for each time the tree of the newest commit that is not later; None without one."""
    trees: list[str | None] = [None] * len(times)
    index = len(times) - 1
    for time, tree in commits:
        while index >= 0 and time <= times[index]:
            trees[index] = tree
            index -= 1
    return trees


def _to_day(time: int, today: date) -> date:
    """Return the day of a commit's time; today for a time that is later, or no day of the calendar."""
    try:
        return min(datetime.fromtimestamp(time, UTC).date(), today)
    except (OverflowError, OSError, ValueError):
        return today
