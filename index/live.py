"""An index that keeps up with its branch: found, opened, brought to the tip, or built anew.

    missing, damaged, of another schema, at a lost commit   ->  rebuild beside the old one, then swap
    behind the tip                                          ->  index what differs
    at the tip                                              ->  nothing, at the cost of one ref lookup
    its folder cannot be written                            ->  the next place: the user's cache, then memory

One process writes at a time. Another waits for it, or goes on with what it has and says that this is stale.
The engine is imported only when an index is opened: a server that lists its tools asks for metadata alone.
"""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from index.files import IndexUnwritable, remove
from index.generation import SCHEMA, Generation
from index.integrity import IndexDamaged
from index.location import Location, candidates, find_location, index_name
from index.locking import IndexBusy, locked
from index.metadata import Metadata, describe, read_metadata, write_metadata
from index.view import Status, View, glimpse, leftovers, status_of
from workspace.git import DamagedRepository

if TYPE_CHECKING:
    from index.engine import Index
    from index.follow import Progress
    from workspace.workspace import Workspace

_PATIENCE = 5.0
_FIRST_PATIENCE = 300.0
_REFUSED_FOR = 300.0
"""Seconds for which a folder that could not be written is left alone."""

_TRIED_AGAIN = 16
"""Unreadable documents that each search looks at, to see whether they can be read by now."""


class LiveIndex:
    """The index of a workspace's served branch. Safe to use from several threads."""

    def __init__(self, workspace: Workspace, folder: Path | None = None) -> None:
        self._workspace = workspace
        self._folder = folder
        self._lock = threading.RLock()
        self._refused: dict[Path, float] = {}
        self._name: str | None = None
        self._location: Location | None = None
        self._opened: Path | None = None
        self._index: Index | None = None
        self._view: View | None = None
        self._metadata: Metadata | None = None

    def follow(self, progress: Progress | None = None) -> View:
        """Give a view of the index at the tip of the branch, made so if it is behind.

        If another writer is at work, the view is of the last commit that was indexed, and is stale.
        """
        view = self._view
        if view is not None and self._is_fresh(view):
            return view
        try:
            return self._exclusively(self._follow, progress)
        except IndexBusy:
            old = self._view or self._glimpse()
            if old is None or not old.generation.is_untouched():
                return self._exclusively(self._follow, progress, _FIRST_PATIENCE)
            return View(old.generation, stale=old.commit != self._workspace.tip())

    def rebuild(self, progress: Progress | None = None) -> View:
        """Build the index anew beside the old one, and swap them. Raises IndexBusy, IndexUnwritable."""
        with self._lock:
            self._settle()
            with self._writing(progress, _PATIENCE if self._view else _FIRST_PATIENCE):
                return self._build(progress)

    def replace(self, damaged: View, progress: Progress | None = None) -> View:
        """Give a view of a sound index: built anew, unless that was done since the damaged one was given."""

        def follow_or_build(progress: Progress | None) -> View:
            if self._view is None or self._view.generation is damaged.generation:
                return self._build(progress)
            return self._follow(progress)

        return self._exclusively(follow_or_build, progress, _FIRST_PATIENCE)

    def sweep(self) -> int:
        """Remove what writers that died left behind; return how many files and folders. Raises IndexBusy."""
        with self._lock:
            self._settle()
            if self._location is None:
                return 0
            with self._writing(None, _PATIENCE):
                return remove(leftovers(self._location, self._location.current()))

    def metadata(self) -> Metadata | None:
        """Give the last metadata written for this branch; never waits for the index."""
        if self._metadata is None:
            location = self._location or self._find()
            return read_metadata(location.metadata) if location else None
        return self._metadata

    def status(self) -> Status:
        """Say what there is, without building, mending or following."""
        with self._lock:
            view = self._view
            return status_of(
                self._location or self._find(), self._workspace.tip(), view.generation if view else None
            )

    def close(self) -> None:
        """Let go of the index's files; using it again opens them again."""
        with self._lock:
            self._name = self._location = self._opened = self._index = self._view = self._metadata = None

    def _is_fresh(self, view: View) -> bool:
        """Whether a view answers for the tip, its files untouched, without a document that it could have."""
        if view.commit != self._workspace.tip() or not view.generation.is_untouched():
            return False
        return not self._is_readable_again(view.generation)

    def _is_readable_again(self, generation: Generation) -> bool:
        for blob in islice(generation.state.unreadable.values(), _TRIED_AGAIN):
            with suppress(DamagedRepository):
                self._workspace.git.blob(blob)
                return True
        return False

    def _exclusively(
        self,
        work: Callable[[Progress | None], View],
        progress: Progress | None,
        patience: float | None = None,
    ) -> View:
        """Do work as the only writer, in the first place that can be written. Raises IndexBusy."""
        with self._turn(progress, patience):
            self._forgive()
            while True:
                self._settle()
                try:
                    with self._writing(progress, self._patience(patience)):
                        return work(progress)
                except IndexUnwritable:
                    if self._location is None:
                        raise
                    if self._location.folder.is_dir():
                        self._refused[self._location.folder] = time.monotonic() + _REFUSED_FOR
                    self.close()

    def _patience(self, wanted: float | None) -> float:
        if wanted is not None:
            return wanted
        is_there = self._view or (self._location and self._location.current())
        return _PATIENCE if is_there else _FIRST_PATIENCE

    @contextmanager
    def _turn(self, progress: Progress | None, patience: float | None) -> Iterator[None]:
        """Keep this process's other threads out."""
        if not self._lock.acquire(blocking=False):
            _waiting(progress)
            if not self._lock.acquire(timeout=self._patience(patience)):
                raise IndexBusy(
                    "the search index is still being brought up to date", fix="Try again in a moment."
                )
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _writing(self, progress: Progress | None, patience: float) -> Iterator[None]:
        """Keep other processes out."""
        if self._location is None:
            yield
            return
        with locked(self._location.lock, patience, lambda: _waiting(progress)):
            yield

    def _settle(self) -> None:
        """Choose where the index lives, again if the served branch is another one or the folder is gone."""
        self._workspace.tip()  # raises where the repository or the branch is gone, which get no folder
        name = self._branch()
        if name != self._name or (self._location and not self._location.folder.is_dir()):
            self.close()
            self._name = name
            self._location = self._find()

    def _forgive(self) -> None:
        """Let a folder that could not be written be tried again after a while."""
        now = time.monotonic()
        lapsed = [folder for folder, until in self._refused.items() if until <= now]
        for folder in lapsed:
            del self._refused[folder]
        if lapsed:
            self.close()

    def _branch(self) -> str:
        return self._workspace.branch or f"detached {self._workspace.git.git_dir}"

    def _find(self) -> Location | None:
        if self._folder is not None:
            return find_location([self._folder], self._refused)
        name = index_name(SCHEMA, self._branch())
        return find_location(candidates(self._workspace.git.common_dir, name), self._refused)

    def _glimpse(self) -> View | None:
        """Read, without the lock, what the writer that holds it has left to be read until it is done."""
        location = self._location or self._find()
        folder = location.current() if location else None
        generation = glimpse(folder) if folder else None
        return View(generation) if generation else None

    def _follow(self, progress: Progress | None) -> View:
        from index.follow import advance

        if self._view is not None and self._is_fresh(self._view):
            return self._view
        target = self._workspace.snapshot()
        try:
            generation = self._load()
            if generation is not None and self._index is not None:
                known = generation.state.commit
                if known == target.commit and not self._is_readable_again(generation):
                    return self._show(generation)
                if known and self._workspace.exists(known):
                    old = self._workspace.snapshot(known)
                    return self._show(advance(self._index, generation, old, target, progress))
        except (IndexDamaged, DamagedRepository):
            # From a commit whose objects are pruned, perhaps by halves, no way leads on either. If it is the
            # target that is damaged, building finds that again.
            self._index = None
        return self._build(progress)

    def _load(self) -> Generation | None:
        """Read the index as the last writer left it, be it this process or another."""
        if self._location is not None:
            folder = self._location.current()
            if folder != self._opened or self._index is None:
                # We hold the lock, so what else stands there was left by a process that died.
                with suppress(OSError):
                    self._location.sweep(keep=folder)
                self._index, self._opened = None, folder
            if folder is not None and self._index is None:
                from index.engine import Index

                self._index = Index.open(folder)
        if self._index is None:
            return None
        return self._index.read(self._view.generation if self._view else None)

    def _build(self, progress: Progress | None) -> View:
        from index.engine import Index
        from index.follow import build

        folder = self._location.prepare() if self._location else None
        try:
            index = Index.create(folder)
            generation = build(index, self._workspace.snapshot(), progress)
            if self._location and folder:
                self._location.swap(folder)
        except BaseException as error:
            if self._location and folder:
                is_gone = not folder.is_dir()
                self._location.discard(folder)
                if is_gone and isinstance(error, IndexDamaged):
                    raise IndexUnwritable.because(
                        FileNotFoundError(errno.ENOENT, "its folder was removed")
                    ) from error
            raise
        self._index, self._opened = index, folder
        return self._show(generation)

    def _show(self, generation: Generation) -> View:
        view = View(generation)
        state, known = generation.state, self.metadata()
        if known is None or (known.stats.source_commit, known.stats.total_chunks) != (
            state.commit,
            state.chunks,
        ):
            config = self._workspace.snapshot(state.commit).config
            known = describe(state, view.values, config.corpus.description or self._workspace.name)
            if self._location:
                # A search needs no metadata, and the next commit writes it again.
                with suppress(OSError):
                    write_metadata(self._location.metadata, known)
        self._view, self._metadata = view, known
        return view


def _waiting(progress: Progress | None) -> None:
    if progress:
        progress(0, 0, "Waiting for another call or process to index")
