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
from workspace.snapshot.snapshot import check_pointer

if TYPE_CHECKING:
    from workspace.snapshot.snapshot import Snapshot

_CACHE_SIZE = 200_000  # summaries of some hundred bytes each
_MAX_READ_AHEAD = 20_000  # documents
_QUIET_S = 0.3  # without a request, before reading ahead continues
_OPEN_BOX = re.compile(rb"\[[ \t]")
_BOX = re.compile(rb"\[[ xX]\]")

# Parsing the tasks of a larger document takes seconds, so lines that look like tasks are counted instead.
_MAX_PARSED_BYTES = 1_000_000
_TASK_LINE = re.compile(rb"^[ \t]*%b[ \t]+\[([ xX])\][ \t]" % LIST_MARKER_BYTES, re.MULTILINE)


class DocumentSummary(NamedTuple):
    """A document in a list. `facets` has the type and tags of its front matter.

    `tasks` counts all tasks, `done` the completed ones. `reason` explains why the document cannot be read;
    the other fields are then empty.
    """

    title: str
    tasks: int = 0
    done: int = 0
    facets: Mapping[str, object] = {}
    reason: str | None = None

    @property
    def open(self) -> int:
        """Return the number of open tasks."""
        return self.tasks - self.done


class Summaries:
    """The summaries of documents, created on demand. Safe in several threads."""

    def __init__(self) -> None:
        self._cached: LRUCache[tuple[str, str], DocumentSummary] = LRUCache(_CACHE_SIZE)
        # Blobs without any text that looks like an open task.
        self._boxless: LRUCache[str, bool] = LRUCache(_CACHE_SIZE)
        self._thread: threading.Thread | None = None
        self._closed = threading.Event()
        self._last_request = 0.0

    def of(self, snapshot: Snapshot, path: str) -> DocumentSummary:
        """Return the summary of a document of a snapshot; `reason` is set if it cannot be read."""
        blob = snapshot.documents[path]
        summary = self._cached.find((path, blob))
        if summary is None:
            summary = _read_summary(snapshot, path, blob)
            if summary.reason is None:  # a failure may depend on limits or damage, which may change
                self._cached.put((path, blob), summary)
        return summary

    def has_open(self, snapshot: Snapshot, path: str) -> bool:
        """Return True if a document has open tasks. Most documents have no box, and are not parsed."""
        blob = snapshot.documents[path]
        if blob in self._boxless:
            return False
        if (path, blob) not in self._cached:
            try:
                is_boxless = _OPEN_BOX.search(snapshot.git.blob(blob)) is None
            except DamagedRepository:  # the row of the document shows the error
                return False
            if is_boxless:
                self._boxless.put(blob, True)
                return False
        return self.of(snapshot, path).open > 0

    def read_ahead(self, snapshot: Snapshot) -> None:
        """Start to read the documents of a snapshot in the background, once, so that lists are fast."""
        if self._thread is None and not self._closed.is_set():
            self._thread = threading.Thread(
                target=self._run, args=(snapshot,), name="docyard library", daemon=True
            )
            self._thread.start()

    def close(self) -> None:
        """Stop reading ahead, and wait for the end of its thread."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def pause(self) -> None:
        """Delay reading ahead until no request has arrived for a moment, so that requests run first."""
        self._last_request = time.monotonic()

    def _run(self, snapshot: Snapshot) -> None:
        for path in list(snapshot.documents)[:_MAX_READ_AHEAD]:
            while not self._closed.is_set() and time.monotonic() - self._last_request < _QUIET_S:
                self._closed.wait(_QUIET_S)
            if self._closed.is_set():
                return
            self.of(snapshot, path)


def _read_summary(snapshot: Snapshot, path: str, blob: str) -> DocumentSummary:
    try:
        snapshot.config.limits.check_document(path, snapshot.git.blob_size(blob))
        data = snapshot.git.blob(blob)
        check_pointer(path, data)
        document = Document.parse(data, path)
        completion_states = _list_completion_states(document)
        facets = {key: document.front_matter[key] for key in BUILT_IN_KEYS if key in document.front_matter}
    except WorkspaceError as error:
        return DocumentSummary(path.rpartition("/")[2], reason=f"{error.message}. {error.fix}")
    return DocumentSummary(document.title, len(completion_states), sum(completion_states), facets)


def _list_completion_states(document: Document) -> list[bool]:
    """Return the completion state of each task."""
    if len(document.data) > _MAX_PARSED_BYTES:
        return [box != b" " for box in _TASK_LINE.findall(document.data)]
    # Parsing lists is slow, and most documents contain no text that looks like a box.
    return [task.is_done for task in document.all_tasks] if _BOX.search(document.data) else []


MAX_COMMITS = 300
"""The number of commits to walk, along first parents: a merge counts as a change by its author."""


class LastChanges:
    """The last change of each path, for the last requested commit. Safe in several threads.

    The changes of a new commit are added to the cached ones, so each commit is compared once with its parent.
    """

    def __init__(self) -> None:
        self._commit: str | None = None
        self._last: Mapping[str, str] = {}
        self._lock = threading.Lock()

    def of(self, snapshot: Snapshot) -> Mapping[str, str]:
        """Return the last commit that changed each path; a path without a recent change is missing."""
        if snapshot.commit is None:
            return {}
        with self._lock:
            if self._commit == snapshot.commit:
                return self._last
            last = self._walk(snapshot, snapshot.commit)
            self._commit, self._last = snapshot.commit, last
            return last

    def _walk(self, snapshot: Snapshot, commit: str) -> dict[str, str]:
        git = snapshot.git
        states = Graph(git).first_parents(commit, max_commits=MAX_COMMITS + 1)
        changes: dict[str, str] = {}
        for index, state in enumerate(states[:MAX_COMMITS]):
            if state.id == self._commit:
                return {**self._last, **changes}
            try:
                if index + 1 < len(states):
                    old_tree: str | None = states[index + 1].tree
                elif state.parents:
                    break  # the end of a shallow clone
                else:
                    old_tree = None
                for change in trees.diff_trees(git, old_tree, state.tree):
                    changes.setdefault(change.path, state.id)
            except DamagedRepository:
                break
        return changes
