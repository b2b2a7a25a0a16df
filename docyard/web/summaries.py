"""What a list tells of a document: its title, its tasks, and its facets; remembered by its blob.

Which commit changed each document last, as far as the last commits tell.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.taxonomy import BUILT_IN
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

_KEPT = 200_000  # summaries, of some hundred bytes each
_AHEAD = 20_000  # documents that are read before anyone asks
_CALM = 0.3  # seconds
_OPEN_BOX = re.compile(rb"\[[ \t]")
_BOX = re.compile(rb"\[[ xX]\]")

# To find the tasks of a larger document takes seconds; of it every line that looks like one is counted.
_PARSED = 1_000_000  # bytes
_TASK_LINE = re.compile(rb"^[ \t]*%b[ \t]+\[([ xX])\][ \t]" % LIST_MARKER_BYTES, re.MULTILINE)


class DocumentSummary(NamedTuple):
    """A document in a list. `facets` is what its front matter says of type and tags.

    `tasks` counts all, `done` those that are done. `reason` says why it cannot be read: nothing else of it is
    known then.
    """

    title: str
    tasks: int = 0
    done: int = 0
    facets: Mapping[str, object] = {}
    reason: str | None = None

    @property
    def open(self) -> int:
        """How many tasks are to be done."""
        return self.tasks - self.done


class Summaries:
    """The summaries of documents, each made when it is first asked for. Safe in several threads."""

    def __init__(self) -> None:
        self._known: LRUCache[tuple[str, str], DocumentSummary] = LRUCache(_KEPT)
        # Blobs in which nothing looks like a task that is to be done.
        self._boxless: LRUCache[str, bool] = LRUCache(_KEPT)
        self._ahead: threading.Thread | None = None
        self._over = threading.Event()
        self._asked = 0.0

    def of(self, snapshot: Snapshot, path: str) -> DocumentSummary:
        """Return the summary of a document of a snapshot; one that cannot be read says so."""
        blob = snapshot.documents[path]
        known = self._known.find((path, blob))
        if known is None:
            known = _read(snapshot, path, blob)
            if known.reason is None:  # limits and what Git can read may be others tomorrow
                self._known.put((path, blob), known)
        return known

    def has_open(self, snapshot: Snapshot, path: str) -> bool:
        """Whether a document has tasks to be done; most are told from their bytes, without parsing them."""
        blob = snapshot.documents[path]
        if blob in self._boxless:
            return False
        if (path, blob) not in self._known:
            try:
                is_boxless = _OPEN_BOX.search(snapshot.git.blob(blob)) is None
            except DamagedRepository:  # a list that it stands in says so
                return False
            if is_boxless:
                self._boxless.put(blob, True)
                return False
        return self.of(snapshot, path).open > 0

    def read_ahead(self, snapshot: Snapshot) -> None:
        """Begin, once, to read the documents of a snapshot beside all else, so that lists find them read."""
        if self._ahead is None and not self._over.is_set():
            self._ahead = threading.Thread(
                target=self._run, args=(snapshot,), name="docyard library", daemon=True
            )
            self._ahead.start()

    def close(self) -> None:
        """End the reading ahead, and wait for it."""
        self._over.set()
        if self._ahead is not None:
            self._ahead.join()

    def pause(self) -> None:
        """Let a request go first: nothing is read ahead until nobody has asked for a moment."""
        self._asked = time.monotonic()

    def _run(self, snapshot: Snapshot) -> None:
        for path in list(snapshot.documents)[:_AHEAD]:
            while not self._over.is_set() and time.monotonic() - self._asked < _CALM:
                self._over.wait(_CALM)
            if self._over.is_set():
                return
            self.of(snapshot, path)


def _read(snapshot: Snapshot, path: str, blob: str) -> DocumentSummary:
    try:
        snapshot.config.limits.check_document(path, snapshot.git.blob_size(blob))
        data = snapshot.git.blob(blob)
        check_pointer(path, data)
        document = Document.parse(data, path)
        done = _list_done(document)
        facets = {key: document.front_matter[key] for key in BUILT_IN if key in document.front_matter}
    except WorkspaceError as error:
        return DocumentSummary(path.rpartition("/")[2], reason=f"{error.message}. {error.fix}")
    return DocumentSummary(document.title, len(done), sum(done), facets)


def _list_done(document: Document) -> list[bool]:
    """Of each task whether it is done."""
    if len(document.data) > _PARSED:
        return [box != b" " for box in _TASK_LINE.findall(document.data)]
    # Lists are what takes longest to find, and most documents have nothing that may be a box.
    return [task.is_done for task in document.all_tasks] if _BOX.search(document.data) else []


MOST = 300
"""Commits that are looked back on, along first parents: a merge counts as who merged."""


class LastChanges:
    """The last change of each path, for the commit that was asked for last. Safe in several threads.

    What a new commit changed is added to what is known; each commit is compared once with the one before.
    """

    def __init__(self) -> None:
        self._commit: str | None = None
        self._last: Mapping[str, str] = {}
        self._lock = threading.Lock()

    def of(self, snapshot: Snapshot) -> Mapping[str, str]:
        """Return the commit that changed each path last; a path that is not there was not changed lately."""
        if snapshot.commit is None:
            return {}
        with self._lock:
            if self._commit == snapshot.commit:
                return self._last
            last = self._walked(snapshot, snapshot.commit)
            self._commit, self._last = snapshot.commit, last
            return last

    def _walked(self, snapshot: Snapshot, commit: str) -> dict[str, str]:
        git = snapshot.git
        states = Graph(git).first_parents(commit, most=MOST + 1)
        found: dict[str, str] = {}
        for place, state in enumerate(states[:MOST]):
            if state.id == self._commit:
                return {**self._last, **found}
            try:
                if place + 1 < len(states):
                    before: str | None = states[place + 1].tree
                elif state.parents:
                    break  # of a shallow clone, whose earlier commits are elsewhere
                else:
                    before = None
                for change in trees.diff_trees(git, before, state.tree):
                    found.setdefault(change.path, state.id)
            except DamagedRepository:
                break
        return found
