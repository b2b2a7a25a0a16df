"""The current artifact of a folder: a replacement is opened in the background, and then served.

The old artifact is served until the new one is open, and until running calls have ended. If the new artifact
is invalid, the old one is still served.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from index.artifacts.artifact import make_swap_timeout_error, open_artifact
from index.artifacts.search_index import ArtifactSearchIndex
from index.port import Progress
from index.storage.metadata import MetadataProblem
from index.vectors.options import NO_EMBEDDING, EmbeddingOptions
from workspace.errors import WorkspaceError

_SWAP_TIMEOUT_S = 1.0  # seconds that the first call after a replacement waits for the new artifact
_MAX_ATTEMPTS = 20  # attempts to open an artifact while builders replace it
_RETRY_AFTER_S = 2.0  # seconds until an invalid artifact is opened again: its copy may have been incomplete


class Artifacts:
    """The artifacts of a folder, one after the other. Safe to use from threads.

    `on_refused` is called with the error if a new artifact cannot be served, but not twice in a row with one
    message. `on_progress` receives the progress of each build of an index. `on_problem` is called with a
    problem in the metadata of an opened artifact. Raises the errors of `open_artifact`.
    """

    def __init__(
        self,
        folder: Path,
        key: bytes | None = None,
        on_refused: Callable[[WorkspaceError], object] = lambda error: None,
        on_progress: Progress | None = None,
        on_problem: Callable[[MetadataProblem], object] = lambda problem: None,
        embedding: EmbeddingOptions = NO_EMBEDDING,
    ) -> None:
        self._folder = folder
        self._key = key
        self._on_refused = on_refused
        self._on_progress = on_progress
        self._on_problem = on_problem
        self._embedding = embedding
        self._index = self._open_current()
        self._lock = threading.Lock()
        self._opening_thread: threading.Thread | None = None
        self._refused_message: str | None = None
        self._retry_time = 0.0

    def get_open_index(self) -> ArtifactSearchIndex:
        """Return the current index with open files, so that it can be searched after they are deleted.

        Each call reads the status of each file. Raises ArtifactDamaged and related errors if files of the
        served artifact were changed and the folder has no valid replacement.
        """
        for _ in range(_MAX_ATTEMPTS):
            index = self.get_index()
            try:
                if not index.has_all_files_open:
                    index.preload()
                return index
            except WorkspaceError:
                if index.artifact.metadata_stamp.is_unchanged():
                    raise
        raise make_swap_timeout_error()

    def get_index(self) -> ArtifactSearchIndex:
        """Return the current index for a caller that only reads its metadata; its files may not be open."""
        index = self._index
        if not index.artifact.is_untouched():
            return self._reopen(index)
        if not index.artifact.metadata_stamp.is_unchanged():
            thread = self._start_opening(index)
            if index.has_all_files_open:
                _wait_for_thread(thread, _SWAP_TIMEOUT_S)
            else:  # the old files may have been removed, and then there is no index to search yet
                _wait_for_thread(thread or self._opening_thread, None)
        return self._index

    def close(self) -> None:
        """Close the files."""
        self._index.close()

    def _start_opening(self, index: ArtifactSearchIndex) -> threading.Thread | None:
        """Start a thread that opens the replacement of an index, and return the thread.

        Return None if another thread does so or has replaced the index, or if the replacement was just found
        invalid.
        """
        with self._lock:
            if (
                self._opening_thread is not None
                or index is not self._index
                or time.monotonic() < self._retry_time
            ):
                return None
            index.is_superseded = True
            # A daemon thread does not delay the end of the process, and it leaves no files.
            self._opening_thread = threading.Thread(target=self._open, name="docyard artifact", daemon=True)
            self._opening_thread.start()
            return self._opening_thread

    def _open(self) -> None:
        is_opened = False
        try:
            self._index = self._open_next()
            self._refused_message = None
            is_opened = True
        except WorkspaceError as error:
            self._report_refusal(error)
        finally:
            self._retry_time = 0.0 if is_opened else time.monotonic() + _RETRY_AFTER_S
            self._opening_thread = None

    def _open_next(self) -> ArtifactSearchIndex:
        """Open the current artifact of the folder, and retry if a builder has removed its files."""
        for _ in range(_MAX_ATTEMPTS):
            index = self._open_current()
            try:
                index.preload()
                index.update_to_tip()
                return index
            except WorkspaceError:
                if index.artifact.metadata_stamp.is_unchanged():
                    raise
        raise make_swap_timeout_error()

    def _open_current(self) -> ArtifactSearchIndex:
        artifact = open_artifact(self._folder, self._key)
        if artifact.problem is not None:
            self._on_problem(artifact.problem)
        return ArtifactSearchIndex(artifact, self._on_progress, self._embedding)

    def _reopen(self, index: ArtifactSearchIndex) -> ArtifactSearchIndex:
        """Open a folder again after its files have changed; the old files must not be read."""
        with self._lock:
            if self._index is index:
                self._index = self._open_current()
            return self._index

    def _report_refusal(self, error: WorkspaceError) -> None:
        if error.message != self._refused_message:
            self._refused_message = error.message
            self._on_refused(error)


def _wait_for_thread(thread: threading.Thread | None, seconds: float | None) -> None:
    if thread is not None:
        thread.join(seconds)
