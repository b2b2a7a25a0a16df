"""The count of documents and tasks over time: in the background for a page, and its cache in a file.

The counts of trees are cached next to the search index, so that a later process counts only new commits. The
file can be deleted at any time. One that cannot be read or written is ignored.
"""

from __future__ import annotations

import re
import threading
import time
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from index.storage.files import write_atomically
from index.storage.location import find_candidate_folders, make_growth_name, make_private_folder
from workspace.history.growth import DocumentCounts, Growth, GrowthProgress, read_settings_id
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from docyard.terminal.console import ReportProgress
    from docyard.web.background import BackgroundQueue
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_FORMAT = "docyard-growth-1"
_FILE = "counts.json"
_MAX_FILE_BYTES = 1_000_000
_MAX_SAVED_TREES = 2_000
_TREE_ID = re.compile(r"[0-9a-f]{40}")
_STEP_S = 0.02
_MAX_WAIT_S = 0.25  # that a page waits, so that a small repository needs no second request
_MAX_COUNTS = 16


class GrowthCounts:
    """The counts that pages show, each counted once in the background. Thread-safe."""

    def __init__(self) -> None:
        self._counts: LRUCache[tuple[str | None, str, date | None, date], _Count] = LRUCache(_MAX_COUNTS)
        self._lock = threading.Lock()

    def get(
        self, workspace: Workspace, snapshot: Snapshot, since: date | None, background: BackgroundQueue
    ) -> Growth | GrowthProgress:
        """Return the growth up to a snapshot since a day (None for all), or the progress of its count.

        Raises NoHistory, and the errors of `GrowthCounter.count`.
        """
        now = datetime.now(UTC)
        key = (snapshot.commit, read_settings_id(snapshot), since, now.date())
        with self._lock:
            count = self._counts.get(key, _Count, workspace, snapshot, since, now)
        if not count.is_done.is_set():
            background.submit(key, count.advance)
            count.is_done.wait(_MAX_WAIT_S)
        if count.error is not None:
            self._counts.retain(lambda other: other != key)  # the next request may succeed
            raise count.error
        return count.growth or count.progress


class _Count:
    """A count that one thread advances in short steps."""

    def __init__(self, workspace: Workspace, snapshot: Snapshot, since: date | None, now: datetime) -> None:
        self._workspace = workspace
        self._counting = workspace.growth_counter().count(snapshot, since, now)
        self._settings = read_settings_id(snapshot)
        self._has_started = False
        self.progress = GrowthProgress(0)
        self.growth: Growth | None = None
        self.error: Exception | None = None
        self.is_done = threading.Event()

    def advance(self) -> bool:
        """Count for a moment; return True at the end."""
        if self.is_done.is_set():  # a page submitted the count just before its end
            return True
        end_time = time.monotonic() + _STEP_S
        try:
            if not self._has_started:
                self._has_started = True
                read_counts_file(self._workspace, self._settings)
            while time.monotonic() < end_time:
                self.progress = next(self._counting)
            return False
        except StopIteration as end:
            growth: Growth = end.value
            write_counts_file(self._workspace, growth)
            self.growth = growth
        except Exception as error:  # each page that waits for the count raises it
            self.error = error
        self.is_done.set()
        return True


def count_growth(
    workspace: Workspace, snapshot: Snapshot, since: date | None, report: ReportProgress | None
) -> Growth:
    """Return the growth up to a snapshot since a day (None for all).

    Raises NoHistory, and the errors of `GrowthCounter.count`.
    """
    counting = workspace.growth_counter().count(snapshot, since, datetime.now(UTC))
    read_counts_file(workspace, read_settings_id(snapshot))
    try:
        while True:
            progress = next(counting)
            if report is not None:
                report(progress.periods, progress.period_count or None, describe_progress(progress))
    except StopIteration as end:
        growth: Growth = end.value
    write_counts_file(workspace, growth)
    return growth


def describe_progress(progress: GrowthProgress) -> str:
    """Return the progress of a count as text."""
    if not progress.period_count:
        return f"{progress.commits:,} commits read"
    return f"{progress.documents:,} documents read"


def read_counts_file(workspace: Workspace, settings: str) -> None:
    """Add the counts of an earlier process, for the same settings, to the counter of a workspace."""
    workspace.growth_counter().add_known_counts(settings, _read_counts(_find_file(workspace), settings))


def write_counts_file(workspace: Workspace, growth: Growth) -> None:
    """Save the counts of a growth, with those that the file has for the same settings."""
    file = _find_file(workspace)
    if file is None:
        return
    known = _read_counts(file, growth.settings)
    counts = dict(known)
    for tree, tree_counts in zip(growth.trees, growth.counts, strict=False):
        # The text of an unreadable document may be readable later.
        if tree is not None and not tree_counts.unreadable_documents:
            counts.pop(tree, None)
            counts[tree] = tree_counts
    if counts == known:
        return
    newest = list(counts.items())[-_MAX_SAVED_TREES:]
    content = {
        "format": _FORMAT,
        "settings": growth.settings,
        "counts": {tree: tuple(item) for tree, item in newest},
    }
    with suppress(OSError):
        write_atomically(file, orjson.dumps(content))


def _find_file(workspace: Workspace) -> Path | None:
    for folder in find_candidate_folders(workspace.git.common_dir, make_growth_name()):
        if make_private_folder(folder):
            return folder / _FILE
    return None


def _read_counts(file: Path | None, settings: str) -> dict[str, DocumentCounts]:
    """Return the counts by tree of a file; none for other settings, and for a file that is no such file."""
    if file is None:
        return {}
    try:
        with file.open("rb") as stream:
            content: Any = orjson.loads(stream.read(_MAX_FILE_BYTES + 1))
        if (content["format"], content["settings"]) != (_FORMAT, settings):
            return {}
        return {
            tree: DocumentCounts(*counts)
            for tree, counts in content["counts"].items()
            if _TREE_ID.fullmatch(tree) and len(counts) == 4 and all(type(item) is int for item in counts)
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}
