"""The current artifact of a folder: a replacement is opened in the background and served between two calls.

The old artifact serves meanwhile, and until the end of the calls that it has begun. If the new one is
refused, the old one continues to serve.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from index.artifacts.artifact import open_artifact, swap_timeout_error
from index.artifacts.frozen import FrozenIndex
from index.port import Progress
from index.storage.metadata import Problem
from workspace.errors import WorkspaceError

_PATIENCE = 1.0  # seconds that the call which meets another artifact waits for it
_TRIES = 20  # how often we begin again while builders replace what we open
_AGAIN = 2.0  # seconds after which one that was refused is looked at again: it may have been copied halfway


class Artifacts:
    """The artifacts of a folder, one after the other. Safe to use from threads.

    `refused` is told, once for each, why an artifact is not taken, and `watch` how far an index is that has
    to be built. `warned` is called with what is wrong in the metadata of one that is served. Raises what
    `open_artifact` raises.
    """

    def __init__(
        self,
        folder: Path,
        key: bytes | None = None,
        refused: Callable[[WorkspaceError], object] = lambda error: None,
        watch: Progress | None = None,
        warned: Callable[[Problem], object] = lambda problem: None,
    ) -> None:
        self._folder = folder
        self._key = key
        self._report_refusal = refused
        self._watch = watch
        self._warned = warned
        self._index = self._open_current()
        self._lock = threading.Lock()
        self._opening: threading.Thread | None = None
        self._refused: str | None = None
        self._again = 0.0

    def current(self) -> FrozenIndex:
        """Return the index that serves now, for one whole call; the check costs a stat of each file.

        Its files are open, so that it can answer after they are deleted. Raises ArtifactDamaged and related
        errors if files of the served artifact were changed and the folder holds no valid replacement.
        """
        for _ in range(_TRIES):
            index = self.latest()
            try:
                if not index.held:
                    index.warm()
                return index
            except WorkspaceError:
                if index.artifact.named.holds():
                    raise
        raise swap_timeout_error()

    def latest(self) -> FrozenIndex:
        """Return the index that serves now, to describe it; none of its files have to be open."""
        index = self._index
        if not index.artifact.is_untouched():
            return self._reopened(index)
        if not index.artifact.named.holds():
            begun = self._begin(index)
            if index.held:
                _wait(begun, _PATIENCE)
            else:  # its files may be swept away by now, and then there is nothing to answer from yet
                _wait(begun or self._opening, None)
        return self._index

    def close(self) -> None:
        """Close the files."""
        self._index.close()

    def _begin(self, index: FrozenIndex) -> threading.Thread | None:
        """Open the replacement of an index; return None if another thread does, or if it was just refused."""
        with self._lock:
            if self._opening is not None or index is not self._index or time.monotonic() < self._again:
                return None
            index.superseded = True
            # It must not keep the process: a reader that dies leaves nothing behind.
            self._opening = threading.Thread(target=self._open, name="docyard artifact", daemon=True)
            self._opening.start()
            return self._opening

    def _open(self) -> None:
        served = False
        try:
            self._index = self._next()
            self._refused = None
            served = True
        except WorkspaceError as error:
            self._refuse(error)
        finally:
            self._again = 0.0 if served else time.monotonic() + _AGAIN
            self._opening = None

    def _next(self) -> FrozenIndex:
        """Open the current artifact of the folder, and retry if a builder removes its files meanwhile."""
        for _ in range(_TRIES):
            index = self._open_current()
            try:
                index.warm()
                index.follow()
                return index
            except WorkspaceError:
                if index.artifact.named.holds():
                    raise
        raise swap_timeout_error()

    def _open_current(self) -> FrozenIndex:
        artifact = open_artifact(self._folder, self._key)
        if artifact.problem is not None:
            self._warned(artifact.problem)
        return FrozenIndex(artifact, self._watch)

    def _reopened(self, index: FrozenIndex) -> FrozenIndex:
        """Open a folder whose files have changed; nothing may be read from the old ones."""
        with self._lock:
            if self._index is index:
                self._index = self._open_current()
            return self._index

    def _refuse(self, error: WorkspaceError) -> None:
        if error.message != self._refused:
            self._refused = error.message
            self._report_refusal(error)


def _wait(opening: threading.Thread | None, seconds: float | None) -> None:
    if opening is not None:
        opening.join(seconds)
