"""An index that keeps up with its branch: found, opened, brought to the tip, or built anew.

    missing, damaged, of another schema, at a lost commit   ->  rebuild beside the old one, then swap
    behind the tip                                          ->  index what differs
    at the tip                                              ->  nothing, at the cost of one ref lookup

One process writes at a time. Another waits for it, or goes on with what it has and says that this is stale.
The engine is imported only when an index is opened: a server that lists its tools asks for metadata alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from index.generation import SCHEMA, TAGS, TYPE, Generation, IndexDamaged, State
from index.location import Location, find_location, index_name, make_private
from index.locking import IndexBusy, locked
from index.metadata import VERSION, InvalidMetadata, Metadata, Stats, facet, parse_metadata, write_metadata
from workspace.git import DamagedRepository

if TYPE_CHECKING:
    from index.engine import Index
    from index.follow import Progress
    from workspace.workspace import Workspace

FILTERS = (TYPE, TAGS)
"""The taxonomy keys of every workspace, in the order in which they are shown."""

_PATIENCE = 5.0
_FIRST_PATIENCE = 300.0


class View:
    """The index at one moment. `stale` means that another process is still following the branch."""

    def __init__(self, generation: Generation, *, stale: bool = False) -> None:
        self.generation = generation
        self.stale = stale

    @property
    def commit(self) -> str | None:
        return self.generation.state.commit

    @cached_property
    def values(self) -> Mapping[str, Mapping[str, int]]:
        """The live values of each taxonomy key, with the number of chunks that have them."""
        return {key: self.generation.values(key) for key in FILTERS}


@dataclass(frozen=True, slots=True)
class Status:
    """What there is of an index, found without changing it. `folder` is None for an index in memory.

    `blocked` names the index's own files that cannot be used, such as a folder in a file's place.
    """

    folder: Path | None
    schema: int
    tip: str | None
    state: State | None
    segments: int
    size: int
    damaged: bool
    blocked: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        return self.state is not None and self.state.commit == self.tip


class LiveIndex:
    """The index of a workspace's served branch. Safe to use from several threads."""

    def __init__(self, workspace: Workspace, folder: Path | None = None) -> None:
        self._workspace = workspace
        self._folder = folder
        self._lock = threading.RLock()
        self._name: str | None = None
        self._location: Location | None = None
        self._opened: Path | None = None
        self._index: Index | None = None
        self._view: View | None = None
        self._metadata: Metadata | None = None

    def follow(self, progress: Progress | None = None) -> View:
        """Give a view of the index at the tip of the branch, made so if it is behind."""
        view = self._view
        if view is not None and view.commit == self._workspace.tip():
            return view
        with self._lock:
            self._settle()
            if self._view is not None and self._view.commit == self._workspace.tip():
                return self._view
            try:
                with self._writing(progress):
                    return self._advance(progress)
            except IndexBusy:
                if self._view is None:
                    raise
                return View(self._view.generation, stale=True)

    def rebuild(self, progress: Progress | None = None, *, damaged: View | None = None) -> View:
        """Build the index anew; with `damaged`, only if nobody has done so since that view was given."""
        with self._lock:
            self._settle()
            if (
                damaged is not None
                and self._view is not None
                and self._view.generation is not damaged.generation
            ):
                return self._view
            with self._writing(progress):
                return self._build(progress)

    def metadata(self) -> Metadata | None:
        """Give the last metadata written for this branch; never waits for the index."""
        if self._metadata is None:
            with suppress(OSError, InvalidMetadata):
                location = self._location or self._find()
                if location:
                    return parse_metadata(location.metadata.read_bytes())
        return self._metadata

    def status(self) -> Status:
        """Say what there is, without building, mending or following."""
        with self._lock:
            location = self._location or self._find()
            folder = location.current() if location else None
            generation = self._view.generation if self._view else None
            damaged = False
            if folder is not None:
                generation = _read(folder)
                damaged = generation is None
            files = folder.iterdir() if folder else ()
            return Status(
                folder=location.folder if location else None,
                schema=SCHEMA,
                tip=self._workspace.tip(),
                state=generation.state if generation else None,
                segments=len(generation.parts) if generation else 0,
                size=sum(file.stat().st_size for file in files if file.is_file()),
                damaged=damaged,
                blocked=location.blocked() if location else (),
            )

    def close(self) -> None:
        """Let go of the index's files; using it again opens them again."""
        with self._lock:
            self._name = self._location = self._opened = self._index = self._view = self._metadata = None

    def _settle(self) -> None:
        """Choose where the index lives, again if the served branch is another one or the folder is gone."""
        name = self._branch()
        if name != self._name or (self._location and not self._location.folder.is_dir()):
            self.close()
            self._name = name
            self._location = self._find()

    def _branch(self) -> str:
        return self._workspace.branch or f"detached {self._workspace.git.git_dir}"

    def _find(self) -> Location | None:
        if self._folder is not None:
            return Location(self._folder) if make_private(self._folder) else None
        return find_location(self._workspace.git.common_dir, index_name(SCHEMA, self._branch()))

    @contextmanager
    def _writing(self, progress: Progress | None) -> Iterator[None]:
        if self._location is None:
            yield
            return

        def waiting() -> None:
            if progress:
                progress(0, 0, "Waiting for another process to index")

        with locked(self._location.lock, _PATIENCE if self._view else _FIRST_PATIENCE, waiting):
            yield

    def _advance(self, progress: Progress | None) -> View:
        from index.follow import advance

        target = self._workspace.snapshot()
        try:
            generation = self._load()
            if generation is not None and generation.state.commit == target.commit:
                return self._show(generation)
            known = generation.state.commit if generation else None
            if generation is not None and self._index is not None and known and self._workspace.exists(known):
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
            if folder is None:
                self._location.sweep(keep=None)
                self._index = None
                return None
            if folder != self._opened or self._index is None:
                from index.engine import Index

                # We hold the lock, so what else stands there was left by a process that died.
                with suppress(OSError):
                    self._location.sweep(keep=folder)
                self._index, self._opened = Index.open(folder), folder
        if self._index is None:
            return None
        return self._index.read(self._view.generation if self._view else None)

    def _build(self, progress: Progress | None) -> View:
        from index.engine import Index
        from index.follow import build

        folder = self._location.prepare() if self._location else None
        index = Index.create(folder)
        try:
            generation = build(index, self._workspace.snapshot(), progress)
            if self._location and folder:
                self._location.swap(folder)
        except BaseException:
            if self._location and folder:
                self._location.discard(folder)
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
            known = self._describe(view)
            if self._location:
                # A search needs no metadata, and the next commit writes it again.
                with suppress(OSError):
                    write_metadata(self._location.metadata, known)
        self._view, self._metadata = view, known
        return view

    def _describe(self, view: View) -> Metadata:
        state = view.generation.state
        config = self._workspace.snapshot(state.commit).config
        facets = {key: facet(view.values[key]) for key in FILTERS}
        return Metadata(
            metadata_version=VERSION,
            corpus_description=config.corpus.description or self._workspace.name,
            taxonomy={key: found for key, found in facets.items() if found},
            stats=Stats(
                total_chunks=state.chunks,
                total_files=state.files,
                indexed_at=state.indexed_at,
                source_commit=state.commit,
            ),
        )


def _read(folder: Path) -> Generation | None:
    """Read an index without holding its lock; None if it is damaged."""
    from index.engine import Index

    for _ in range(3):
        # A writer may sweep a segment away between our reading of its name and of its file.
        with suppress(IndexDamaged):
            return Index.open(folder).read()
    return None
