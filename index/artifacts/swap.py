"""The artifact that stands in a folder now: when another takes its place, that is served between two calls.

The next one is opened beside the one that serves, which answers meanwhile and to the end of the calls that it
has begun. Where the next one is refused, the one that serves goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from index.artifacts.artifact import busy, open_artifact
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
        self._told = refused
        self._watch = watch
        self._warned = warned
        self._index = self._opened()
        self._lock = threading.Lock()
        self._opening: threading.Thread | None = None
        self._refused: str | None = None
        self._again = 0.0

    def current(self) -> FrozenIndex:
        """Return the index that serves now, for a call to keep to its end; costs a look at each file.

        Its files are open, so that it answers on when they are removed. Raises ArtifactDamaged and its like
        where the files of the artifact that serves were changed, and what is there now is none.
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
        raise busy()

    def latest(self) -> FrozenIndex:
        """Give the index that serves now, to list what it tells of itself: nothing of it may be open yet."""
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
        """Let go of the files."""
        self._index.close()

    def _begin(self, index: FrozenIndex) -> threading.Thread | None:
        """Open what has taken the place of an index; None if that is being done, or was just refused."""
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
        """Open what stands in the folder, begun anew if builders sweep it away meanwhile."""
        for _ in range(_TRIES):
            index = self._opened()
            try:
                index.warm()
                index.follow()
                return index
            except WorkspaceError:
                if index.artifact.named.holds():
                    raise
        raise busy()

    def _opened(self) -> FrozenIndex:
        artifact = open_artifact(self._folder, self._key)
        if artifact.problem is not None:
            self._warned(artifact.problem)
        return FrozenIndex(artifact, self._watch)

    def _reopened(self, index: FrozenIndex) -> FrozenIndex:
        """Open the folder again, whose files are not what they were: nothing may be read from them."""
        with self._lock:
            if self._index is index:
                self._index = self._opened()
            return self._index

    def _refuse(self, error: WorkspaceError) -> None:
        if error.message != self._refused:
            self._refused = error.message
            self._told(error)


def _wait(opening: threading.Thread | None, seconds: float | None) -> None:
    if opening is not None:
        opening.join(seconds)
