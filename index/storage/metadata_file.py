"""What `metadata.json` tells of an index that follows its branch: written after it, from it, and read again.

Threads and processes that follow at the same time end with what the index holds then, whoever was slower.

Work that an answer does not wait for: done a moment later, once however often it was asked for.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from index.storage.files import IndexUnwritable
from index.storage.locking import IndexBusy, locked
from index.storage.manifest import Stamp
from index.storage.metadata import Metadata, corpus_description, describe, read_metadata, write_metadata
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.port import State
    from index.storage.location import Home
    from workspace.workspace import Workspace

DELAY = 0.5


"""Seconds from the first time that something is asked for until it is done."""


class Later:
    """One piece of work, done in a thread of its own; `flush` and the end of the process do it at once."""

    def __init__(self, work: Callable[[], None], delay: float = DELAY) -> None:
        """Nothing is done before `ask`. Nobody hears of what `work` raises, so it is to raise nothing."""
        self._work = work
        self._delay = delay
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._working = threading.Lock()

    def ask(self) -> None:
        """See to it that the work is done after this moment."""
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(self._delay, self.flush)
                self._timer.daemon = True
                self._timer.start()
                atexit.register(self.flush)

    def flush(self) -> None:
        """Do now what was asked for, if it is not done yet; when this returns, it is."""
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


class Telling:
    """The metadata of the index at a home. Safe to use from several threads.

    `state` reads what the index holds, `values` counts the values of the taxonomy of a state.
    """

    def __init__(
        self,
        workspace: Workspace,
        home: Home,
        state: Callable[[], State | None],
        values: Callable[[State], dict[str, Mapping[str, int]]],
    ) -> None:
        self._workspace = workspace
        self._home = home
        self._state = state
        self._values = values
        self._metadata: Metadata | None = None
        self._seen: Stamp | None = None
        self._turn = threading.Lock()
        self._is_checked = False
        self._figures = Later(self._write_figures)

    def last(self) -> Metadata | None:
        """Return the last metadata that was written, also by another process; never waits for the index.

        It is the same object as long as it says the same.
        """
        if self._seen is None or not self._seen.holds():
            self._read()
        return self._metadata

    def tell(self, state: State) -> None:
        """Tell of what the index holds by now, a state at least, if that is something else than was told.

        Another process may tell of it at the same time, so it is looked at again after it was written. Where
        only the figures changed, as most commits leave it, nobody waits for the disk.
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
                    self._figures.ask()
                    return
                if not self._write(told):
                    return

    def close(self) -> None:
        """Write what is to be written, and forget what was read."""
        self._figures.flush()
        self._metadata = self._seen = None

    def _now(self) -> State | None:
        with suppress(WorkspaceError):
            return self._state()
        return None

    def _describe(self, state: State) -> Metadata:
        config = self._workspace.snapshot(state.commit).config
        told = corpus_description(config.corpus.description, self._workspace.name)
        return describe(state, self._values(state), told, config.taxonomy_keys)

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
        location = self._home.look()
        if location is None:
            return False
        try:
            with locked(location.metadata_lock, METADATA_PATIENCE_S):
                write_metadata(location.metadata, told)
        except (OSError, IndexBusy, IndexUnwritable):
            return False
        finally:
            self._seen = None
        return True

    def _read(self) -> None:
        location = self._home.look()
        if location is None:
            return
        with suppress(OSError):
            stamp = Stamp.of(location.metadata)
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
