"""The publisher of `metadata.json`, which follows the state of the index with debounced writes.

Concurrent threads and processes converge on the newest state.
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
from index.storage.metadata import (
    Metadata,
    describe_index,
    format_corpus_description,
    read_metadata,
    write_metadata,
)
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.port import State
    from index.storage.location import IndexLocation
    from workspace.workspace import Workspace

DEBOUNCE_DELAY_S = 0.5
"""Seconds from the first call of `schedule` until the work runs."""


class Debouncer:
    """Work that is requested often and run once for several requests, in a background thread.

    `flush` and the end of the process run the work at once.
    """

    def __init__(self, work: Callable[[], None], delay: float = DEBOUNCE_DELAY_S) -> None:
        """Run nothing before `schedule`. `work` must not raise, because its errors are lost."""
        self._work = work
        self._delay = delay
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._work_lock = threading.Lock()

    def schedule(self) -> None:
        """Ensure that the work runs at least once after this call."""
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(self._delay, self.flush)
                self._timer.daemon = True
                self._timer.start()
                atexit.register(self.flush)

    def flush(self) -> None:
        """Run the scheduled work now, unless it has run; return when it is finished."""
        with self._work_lock:
            with self._lock:
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
                atexit.unregister(self.flush)
                self._work()


_MAX_ATTEMPTS = 5
"""Attempts to publish the metadata of an index that other writers change at the same time."""

METADATA_TIMEOUT_S = 1.0
"""Seconds to wait for another writer of `metadata.json`, which writes only two small files."""


class MetadataPublisher:
    """The publisher of an index's `metadata.json`. Safe to use from several threads.

    `read_state` returns the current state of the index, `count_values` counts the taxonomy values of a state.
    """

    def __init__(
        self,
        workspace: Workspace,
        index_location: IndexLocation,
        read_state: Callable[[], State | None],
        count_values: Callable[[State], dict[str, Mapping[str, int]]],
    ) -> None:
        self._workspace = workspace
        self._index_location = index_location
        self._read_state = read_state
        self._count_values = count_values
        self._metadata: Metadata | None = None
        self._stamp: FileStamp | None = None
        self._publish_lock = threading.Lock()
        self._has_current_description = False
        self._debouncer = Debouncer(self._write_current_state)

    def last_metadata(self) -> Metadata | None:
        """Return the last metadata that any process has written. Never waits for the index.

        Returns the same object while the content is unchanged.
        """
        if self._stamp is None or not self._stamp.is_unchanged():
            self._read()
        return self._metadata

    def publish(self, state: State) -> None:
        """Publish changed metadata of the index's current state, or of `state` if that cannot be read.

        Another process may publish at the same time, so the state is read again after the write. If only the
        figures changed, as after most commits, the write is debounced. Nothing is published for a commit that
        this clone lacks.
        """
        with self._publish_lock:
            for _ in range(_MAX_ATTEMPTS):
                current_state = self._current_state() or state
                if not self._has_commit(current_state):
                    return
                last = self.last_metadata()
                if (
                    last is not None
                    and last.describes(current_state)
                    and self._is_description_current(last, current_state)
                ):
                    self._metadata = last
                    return
                self._metadata = metadata = self._describe(current_state)
                if last is not None and last.equals_except_figures(metadata):
                    self._debouncer.schedule()
                    return
                if not self._write(metadata):
                    return

    def close(self) -> None:
        """Run a scheduled write, and drop the cached metadata."""
        self._debouncer.flush()
        self._metadata = self._stamp = None

    def _current_state(self) -> State | None:
        """Return the current state of the index; None if it, or its commit, cannot be read here."""
        with suppress(WorkspaceError):
            state = self._read_state()
            if state is not None and self._has_commit(state):
                return state
        return None

    def _has_commit(self, state: State) -> bool:
        """Return False if another node has indexed a commit that this clone has not fetched yet."""
        return state.commit is None or self._workspace.has_commit(state.commit)

    def _describe(self, state: State) -> Metadata:
        config = self._workspace.snapshot(state.commit).config
        description = format_corpus_description(config.corpus.description, self._workspace.repository_name)
        return describe_index(state, self._count_values(state), description, config.taxonomy_keys)

    def _is_description_current(self, last: Metadata, state: State) -> bool:
        """Return True if the corpus description is current. Once it is, it is not compared again.

        Another version of Docyard may have written a different description for the same settings.
        """
        if not self._has_current_description:
            config = self._workspace.snapshot(state.commit).config
            current_description = format_corpus_description(
                config.corpus.description, self._workspace.repository_name
            )
            self._has_current_description = last.corpus_description == current_description
        return self._has_current_description

    def _write(self, metadata: Metadata) -> bool:
        """Write the file and its checksum under their lock; return False if they cannot be written now.

        A search needs no metadata, and the next commit writes the file again.
        """
        location = self._index_location.peek()
        if location is None:
            return False
        try:
            with hold_lock(location.metadata_lock, METADATA_TIMEOUT_S):
                write_metadata(location.metadata, metadata)
        except (OSError, IndexBusy, IndexUnwritable):
            return False
        finally:
            self._stamp = None
        return True

    def _read(self) -> None:
        location = self._index_location.peek()
        if location is None:
            return
        with suppress(OSError):
            stamp = FileStamp.of(location.metadata)
            if (metadata := read_metadata(location.metadata)) is not None:
                self._stamp = stamp
                self._metadata = self._metadata if metadata == self._metadata else metadata

    def _write_current_state(self) -> None:
        """Write `metadata.json` from the current index, which another process may have changed."""
        # If the index is missing now, the process that builds the next one writes the file.
        with suppress(WorkspaceError, OSError), self._publish_lock:
            written_state: State | None = None
            for _ in range(_MAX_ATTEMPTS):
                state = self._current_state()
                if state is None or state == written_state:
                    return
                if not self._write(self._describe(state)):
                    return
                written_state = state
