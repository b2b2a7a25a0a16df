"""The interface of the storage of an index: the place of its generations, which the engine reads and writes.

`FileStorage` keeps an index in files, and `index.postgres.storage` in a database. The engine knows neither.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from index.port import Progress, State
    from index.segments.generation import IndexSnapshot, SegmentsAndState
    from index.storage.status import IndexStatus

BuildSegments = Callable[["Path | None", bool], "SegmentsAndState"]
"""Builds a full index in a folder, or in memory without one. True forces the files to the disk."""

T = TypeVar("T")


class IndexWriter(Protocol):
    """The only writer of an index on this machine. It is valid until `IndexStorage.write` returns."""

    def read(self, previous: IndexSnapshot | None) -> IndexSnapshot | None:
        """Read the current generation, as `IndexStorage.read` defines, at the place that is written."""

    def commit(self, base: IndexSnapshot | None, change: SegmentsAndState) -> IndexSnapshot:
        """Commit a change of the current generation, which is None if there is no index yet.

        Raises BaseMoved if `base` is not the current generation any more.
        """

    def replace(
        self, build: BuildSegments, base: IndexSnapshot | None, unless: Callable[[State], bool] | None
    ) -> IndexSnapshot:
        """Build an index next to the current one, and make it the current one.

        `unless` is called with the state of the current index. If it returns True, that index is returned,
        and nothing is built. Segments that `base` also has are not opened or verified again.
        """


class IndexStorage(Protocol):
    """The storage of an index. Safe to use from threads."""

    def read(self, previous: IndexSnapshot | None) -> IndexSnapshot | None:
        """Return the current generation; None if there is no index. Raises IndexDamaged.

        Returns `previous` itself if it is the current generation and its files are unchanged. Segments that
        `previous` also has are not opened or verified again.
        """

    def peek(self, previous: IndexSnapshot | None) -> IndexSnapshot | None:
        """Read like `read`, but choose no other location."""

    def write(
        self,
        work: Callable[[IndexWriter], T],
        has_index: Callable[[], bool],
        progress: Progress | None = None,
        *,
        can_move: bool = True,
    ) -> T:
        """Call `work` with the writer of the index. Raises IndexBusy, IndexUnwritable.

        The wait for another writer is short if `has_index` returns True. If the location cannot be written,
        the work is repeated at the next one; if `can_move` is False, BaseMoved is raised instead.
        """

    def sweep(self, has_index: Callable[[], bool]) -> int:
        """Remove the files of dead writers; return the number of files and folders. Raises IndexBusy."""

    def status(self, tip: str | None, opened: IndexSnapshot | None) -> IndexStatus:
        """Return the status of the index, without changing it. `opened` is the generation that is open."""

    def close(self) -> None:
        """Wait for writers of this process, and forget the location."""
