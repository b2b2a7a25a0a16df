"""Summaries of documents for lists, cached by blob, and the last commit that changed each document."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.taxonomy import BUILT_IN_KEYS
from workspace.document.document import Document
from workspace.errors import WorkspaceError
from workspace.git import trees
from workspace.git.ancestry import Graph
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.markdown.lines import LIST_MARKER_BYTES
from workspace.snapshot.snapshot import check_lfs_pointer

if TYPE_CHECKING:
    from workspace.snapshot.snapshot import Snapshot

_MAX_CACHED_SUMMARIES = 200_000  # each takes some hundred bytes
_MAX_DOCUMENTS_READ_AHEAD = 20_000
_QUIET_TIME_S = 0.3  # reading ahead continues if no request has arrived for this time
_OPEN_CHECKBOX = re.compile(rb"\[[ \t]")
_CHECKBOX = re.compile(rb"\[[ xX]\]")

# Parsing the tasks of a larger document takes seconds, so lines that look like tasks are counted instead.
_MAX_PARSED_BYTES = 1_000_000
_TASK_LINE = re.compile(rb"^[ \t]*%b[ \t]+\[([ xX])\][ \t]" % LIST_MARKER_BYTES, re.MULTILINE)


class DocumentSummary(NamedTuple):
    """The summary of a document in a list. `facets` has the type and tags of its front matter.

    `task_count` counts all tasks, `completed_count` the completed tasks. `reason` explains why the document
    cannot be read; the other fields are then empty.
    """

    title: str
    task_count: int = 0
    completed_count: int = 0
    facets: Mapping[str, object] = {}
    reason: str | None = None

    @property
    def open_count(self) -> int:
        """Return the number of open tasks."""
        return self.task_count - self.completed_count


class Summaries:
    """The summaries of documents, created on demand. Thread-safe."""

    def __init__(self) -> None:
        self._cached_summaries: LRUCache[tuple[str, str], DocumentSummary] = LRUCache(_MAX_CACHED_SUMMARIES)
        # Blobs without any text that looks like an open task.
        self._blobs_without_open_checkboxes: LRUCache[str, bool] = LRUCache(_MAX_CACHED_SUMMARIES)
        self._thread: threading.Thread | None = None
        self._close_event = threading.Event()
        self._last_request = 0.0

    def get(self, snapshot: Snapshot, path: str) -> DocumentSummary:
        """Return the summary of a document of a snapshot; `reason` is set if it cannot be read."""
        blob = snapshot.documents[path]
        summary = self._cached_summaries.find((path, blob))
        if summary is None:
            summary = _read_summary(snapshot, path, blob)
            if summary.reason is None:  # a failure may depend on limits or damage, which may change
                self._cached_summaries.put((path, blob), summary)
        return summary

    def has_open_tasks(self, snapshot: Snapshot, path: str) -> bool:
        """Return True if a document has open tasks. A document without an open checkbox is not parsed."""
        blob = snapshot.documents[path]
        if blob in self._blobs_without_open_checkboxes:
            return False
        if (path, blob) not in self._cached_summaries:
            try:
                has_no_open_checkbox = _OPEN_CHECKBOX.search(snapshot.git.blob(blob)) is None
            except DamagedRepository:  # the row of the document shows the error
                return False
            if has_no_open_checkbox:
                self._blobs_without_open_checkboxes.put(blob, True)
                return False
        return self.get(snapshot, path).open_count > 0

    def start_read_ahead(self, snapshot: Snapshot) -> None:
        """Start to read the documents of a snapshot in the background, once, so that lists are fast."""
        if self._thread is None and not self._close_event.is_set():
            self._thread = threading.Thread(
                target=self._run, args=(snapshot,), name="docyard-read-ahead", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Stop reading ahead, and wait for the end of its thread."""
        self._close_event.set()
        if self._thread is not None:
            self._thread.join()

    def delay_read_ahead(self) -> None:
        """Delay reading ahead until no request has arrived for a moment, so that requests run first."""
        self._last_request = time.monotonic()

    def _run(self, snapshot: Snapshot) -> None:
        for path in list(snapshot.documents)[:_MAX_DOCUMENTS_READ_AHEAD]:
            while not self._close_event.is_set() and time.monotonic() - self._last_request < _QUIET_TIME_S:
                self._close_event.wait(_QUIET_TIME_S)
            if self._close_event.is_set():
                return
            self.get(snapshot, path)


def _read_summary(snapshot: Snapshot, path: str, blob: str) -> DocumentSummary:
    try:
        snapshot.config.limits.check_document(path, snapshot.git.blob_size(blob))
        content = snapshot.git.blob(blob)
        check_lfs_pointer(path, content)
        document = Document.parse(content, path)
        completion_states = _list_completion_states(document)
        facets = {key: document.front_matter[key] for key in BUILT_IN_KEYS if key in document.front_matter}
    except WorkspaceError as error:
        return DocumentSummary(path.rpartition("/")[2], reason=f"{error.message}. {error.fix}")
    return DocumentSummary(document.title, len(completion_states), sum(completion_states), facets)


def _list_completion_states(document: Document) -> list[bool]:
    """Return the completion state of each task."""
    if len(document.data) > _MAX_PARSED_BYTES:
        return [mark != b" " for mark in _TASK_LINE.findall(document.data)]
    # Parsing lists is slow, and most documents contain no text that looks like a checkbox.
    return [task.is_done for task in document.all_tasks] if _CHECKBOX.search(document.data) else []


MAX_COMMITS = 300
"""The maximum number of commits to walk. Only first parents are walked, so a merge counts as one change."""


class LastChanges:
    """The last commit that changed each path, as of the last requested commit. Thread-safe.

    The changes of a new commit are added to the cached changes, so each commit is compared with its parent
    once.
    """

    def __init__(self) -> None:
        self._commit: str | None = None
        self._commit_by_path: Mapping[str, str] = {}
        self._lock = threading.Lock()

    def get(self, snapshot: Snapshot) -> Mapping[str, str]:
        """Return the last commit that changed each path; a path without a recent change is missing."""
        if snapshot.commit is None:
            return {}
        with self._lock:
            if self._commit == snapshot.commit:
                return self._commit_by_path
            commit_by_path = self._walk_history(snapshot, snapshot.commit)
            self._commit, self._commit_by_path = snapshot.commit, commit_by_path
            return commit_by_path

    def _walk_history(self, snapshot: Snapshot, commit: str) -> dict[str, str]:
        git = snapshot.git
        commits = Graph(git).first_parents(commit, max_commits=MAX_COMMITS + 1)
        changes: dict[str, str] = {}
        for index, commit_info in enumerate(commits[:MAX_COMMITS]):
            if commit_info.id == self._commit:
                return {**self._commit_by_path, **changes}
            try:
                if index + 1 < len(commits):
                    old_tree: str | None = commits[index + 1].tree
                elif commit_info.parents:
                    break  # the end of a shallow clone
                else:
                    old_tree = None
                for change in trees.diff_trees(git, old_tree, commit_info.tree):
                    changes.setdefault(change.path, commit_info.id)
            except DamagedRepository:
                break
        return changes
