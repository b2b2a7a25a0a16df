"""Keep `metadata.json` in sync with the index, with debounced writes.

Concurrent threads and processes converge on the newest index state.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from index.storage.files import IndexUnwritable
from index.storage.locking import IndexBusy, hold_lock
from index.storage.manifest import FileStamp
from index.storage.metadata import Metadata, corpus_description, describe_index, read_metadata, write_metadata
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.port import State
    from index.storage.location import IndexLocation
    from workspace.workspace import Workspace

DELAY = 0.5
"""Seconds from the first time that something is asked for until it is done."""


class Debouncer:
    """Debounced work in a background thread; `flush` and the end of the process run it at once."""

    def __init__(self, work: Callable[[], None], delay: float = DELAY) -> None:
        """Run nothing before `schedule`. Errors of `work` are lost, so it must not raise any."""
        self._work = work
        self._delay = delay
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._working = threading.Lock()

    def schedule(self) -> None:
        """Ensure that the work runs after this moment."""
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(self._delay, self.flush)
                self._timer.daemon = True
                self._timer.start()
                atexit.register(self.flush)

    def flush(self) -> None:
        """Run the scheduled work now, unless it has run; when this returns, it is done."""
        with self._working:
            with self._lock:
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
                atexit.unregister(self.flush)
                self._work()


_TRIES = 5
"""How often it is told anew what an index holds that others change meanwhile."""

METADATA_PATIENCE_S = 1.0
"""Seconds to wait for another writer of `metadata.json`, which holds its lock for two small files only."""


class MetadataPublisher:
    """The metadata of the index at a home. Safe to use from several threads.

    `state` reads what the index holds, `values` counts the values of the taxonomy of a state.
    """

    def __init__(
        self,
        workspace: Workspace,
        home: IndexLocation,
        state: Callable[[], State | None],
        values: Callable[[State], dict[str, Mapping[str, int]]],
    ) -> None:
        self._workspace = workspace
        self._home = home
        self._state = state
        self._values = values
        self._metadata: Metadata | None = None
        self._seen: FileStamp | None = None
        self._turn = threading.Lock()
        self._is_checked = False
        self._debouncer = Debouncer(self._write_figures)

    def last(self) -> Metadata | None:
        """Return the last metadata that was written, also by another process; never waits for the index.

        It is the same object as long as it says the same.
        """
        if self._seen is None or not self._seen.holds():
            self._read()
        return self._metadata

    def publish(self, state: State) -> None:
        """Publish the metadata of the index's current state, at least of `state`, if it has changed.

        Another process may publish at the same time, so the state is read again after the write. If only the
        figures changed, as after most commits, the write is debounced.
        """
        with self._turn:
            for _ in range(_TRIES):
                now = self._now() or state
                known = self.last()
                if known is not None and known.is_of(now) and self._is_described(known, now):
                    self._metadata = known
                    return
                self._metadata = told = self._describe(now)
                if known is not None and known.is_alike(told):
                    self._debouncer.schedule()
                    return
                if not self._write(told):
                    return

    def close(self) -> None:
        """Write what is to be written, and forget what was read."""
        self._debouncer.flush()
        self._metadata = self._seen = None

    def _now(self) -> State | None:
        with suppress(WorkspaceError):
            return self._state()
        return None

    def _describe(self, state: State) -> Metadata:
        config = self._workspace.snapshot(state.commit).config
        told = corpus_description(config.corpus.description, self._workspace.name)
        return describe_index(state, self._values(state), told, config.taxonomy_keys)

    def _is_described(self, known: Metadata, state: State) -> bool:
        """Return True if the corpus is described as this version does it; looked up once in a process.

        Another version may have written the file, and described a corpus of the same settings otherwise.
        """
        if not self._is_checked:
            config = self._workspace.snapshot(state.commit).config
            current = corpus_description(config.corpus.description, self._workspace.name)
            self._is_checked = known.corpus_description == current
        return self._is_checked

    def _write(self, told: Metadata) -> bool:
        """Write the file and its checksum under their lock, and return True; False if that is impossible now.

        A search needs no metadata, and the next commit writes it again.
        """
        location = self._home.peek()
        if location is None:
            return False
        try:
            with hold_lock(location.metadata_lock, METADATA_PATIENCE_S):
                write_metadata(location.metadata, told)
        except (OSError, IndexBusy, IndexUnwritable):
            return False
        finally:
            self._seen = None
        return True

    def _read(self) -> None:
        location = self._home.peek()
        if location is None:
            return
        with suppress(OSError):
            stamp = FileStamp.of(location.metadata)
            if (told := read_metadata(location.metadata)) is not None:
                self._seen = stamp
                self._metadata = self._metadata if told == self._metadata else told

    def _write_figures(self) -> None:
        """Write `metadata.json` from the index as it is now, to which another process may have added."""
        # Where there is no index to tell of any more, whoever makes the next one writes it.
        with suppress(WorkspaceError, OSError), self._turn:
            told: State | None = None
            for _ in range(_TRIES):
                state = self._state()
                if state is None or state == told:
                    return
                if not self._write(self._describe(state)):
                    return
                told = state
