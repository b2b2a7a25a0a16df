"""An index that keeps up with its branch: found, opened, brought to the tip, or built anew.

    missing, damaged, of another schema, at a lost commit   ->  rebuild beside the old one, then swap
    behind the tip                                          ->  take in what differs
    at the tip                                              ->  nothing, at the cost of one ref lookup
    its folder cannot be written                            ->  the next place: the user's cache, then memory

The engine decides who writes (`index.port`); a process that may not write goes on with what there is and says
that this is stale. The engine is imported only when a question is asked: a server that lists its tools asks
for metadata alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from index.storage.location import SCHEMA, Home, candidates, index_name
from index.storage.locking import IndexBusy
from index.storage.manifest import IndexDamaged
from index.storage.metadata_file import Telling
from workspace.git.repository import DamagedRepository

if TYPE_CHECKING:
    from index.page import Record
    from index.port import Progress, Query, Results, State
    from index.segments.generation import Generation
    from index.snippets import Texts
    from index.source import GitSource
    from index.status import Status
    from index.storage.metadata import Metadata
    from index.whoosh_engine.engine import WhooshEngine
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_TRIES = 20
"""How often we look again at a branch or an index that others move all the time."""

_TRIED_AGAIN = 16
"""Unreadable documents that each search looks at, to see whether they can be read by now."""


class Followed(NamedTuple):
    """What an index stands for; stale if the branch has moved on, and another writer takes that in."""

    state: State
    is_stale: bool = False


class LiveIndex:
    """The index of a workspace's served branch. Safe to use from several threads."""

    def __init__(self, workspace: Workspace, folder: Path | None = None) -> None:
        """Open nothing yet. `folder` is a private folder to use instead of the repository's own."""
        self._workspace = workspace
        self._places = lambda name: [folder] if folder else self._folders(name)
        self._home = self.home()
        self._engine: WhooshEngine | None = None
        self._opening = threading.Lock()
        self._telling = Telling(workspace, self._home, lambda: self.engine.latest(), self.values)

    @cached_property
    def texts(self) -> Texts:
        """The texts of sections, made ready for searching; imported when first used."""
        from index.snippets import Texts

        return Texts(self._workspace.git.blob)

    @property
    def engine(self) -> WhooshEngine:
        """The engine, imported and made when it is first asked for."""
        with self._opening:
            if self._engine is None:
                from index.whoosh_engine.engine import WhooshEngine

                self._engine = WhooshEngine(self._home, self.texts.read, durable=self._workspace.durable)
        return self._engine

    def follow(self, progress: Progress | None = None) -> Followed:
        """Bring the index to the tip of the branch, and say what it stands for.

        If another writer is at work, that is the last commit that was taken in. Raises IndexBusy if there
        is none, IndexUnwritable.
        """
        state = self._engine.serving() if self._engine else None
        if state is not None and self._is_fresh(state):
            return Followed(state)
        try:
            return Followed(self._bring(progress))
        except IndexBusy:
            state = self.engine.serving()
            if state is None:
                raise
            return Followed(state, is_stale=self.is_behind(state))

    def is_behind(self, state: State) -> bool:
        """Return True if a state is that of another commit than the tip."""
        return state.commit != self._workspace.tip()

    def search(self, query: Query, offset: int, limit: int, generation: str | None = None) -> Results:
        """Ask the index as it is. Raises GenerationGone; IndexDamaged, after which `replace` helps."""
        return self.engine.search(query, offset=offset, limit=limit, generation=generation)

    def generation(self, progress: Progress | None = None) -> Generation | None:
        """Return the index as it is, whatever commit it stands for; where there is none, it is built."""
        if self.engine.generation() is None:
            self.follow(progress)
        return self.engine.generation()

    def similar(self, word: str, most: int) -> tuple[str, ...]:
        """Return at most so many terms that a folded word may have meant, of the index as it is."""
        return self.engine.similar(word, most)

    def rebuild(self, progress: Progress | None = None) -> State:
        """Build the index anew beside the old one, and swap them. Raises IndexBusy, IndexUnwritable."""
        return self._show(self.engine.rebuild(self._source(self._workspace.snapshot()), progress))

    def replace(self, damaged: State, progress: Progress | None = None) -> State:
        """Build the index anew, unless that was done since its state was the one that proved damaged."""
        source = self._source(self._workspace.snapshot())
        return self._show(self.engine.rebuild(source, progress, unless=lambda state: state != damaged))

    def sweep(self) -> int:
        """Remove what writers that died left behind; return how many files and folders. Raises IndexBusy."""
        self._workspace.tip()  # raises where the repository or the branch is gone, which get no folder
        return self.engine.sweep()

    def metadata(self) -> Metadata | None:
        """Give the last metadata written for this branch, also by another process; never waits for the index.

        It is the same object as long as it says the same.
        """
        return self._telling.last()

    def values(self, state: State) -> dict[str, Mapping[str, int]]:
        """Count the sections that have each value of each taxonomy key of a state's commit."""
        keys = self._workspace.snapshot(state.commit).config.taxonomy_keys
        return {key: self.engine.values(key) for key in keys}

    def status(self) -> Status:
        """Say what there is, without building, mending or following."""
        return self.engine.status(self._workspace.tip())

    def home(self) -> Home:
        """Return another object for the same places, for what is kept beside the index."""
        return Home(self._name, self._places)

    def close(self) -> None:
        """Let go of the index's files; using it again opens them again."""
        self._telling.close()
        if self._engine is not None:
            self._engine.close()
        self._home.leave()

    def text(self, record: Record) -> str:
        """Return what a section says beside its heading; what is not UTF-8 becomes U+FFFD."""
        return str(self.texts.read(record), "utf-8", "replace")

    def warm(self) -> None:
        """Open what is there, without building or following it, and ask it something."""
        import index.snippets  # noqa: F401
        from index.query import parse
        from index.storage.keys import user_key

        user_key()
        if self.engine.serving() is not None:
            self.engine.search(parse("anything"))

    def _is_fresh(self, state: State) -> bool:
        """Return True if a state answers for the tip, without a document that it could have."""
        return not self.is_behind(state) and not self.is_readable_again(state)

    def is_readable_again(self, state: State) -> bool:
        """Return True if a document that was left out, because Git could not read it, can be read by now."""
        for blob in islice(state.unreadable.values(), _TRIED_AGAIN):
            with suppress(DamagedRepository):
                self._workspace.git.blob(blob)
                return True
        return False

    def _bring(self, progress: Progress | None) -> State:
        from index.port import BaseMoved

        for _ in range(_TRIES):
            target = self._workspace.snapshot()
            state: State | None = None
            try:
                state = self.engine.state()
                if state is not None and state.commit == target.commit and self._is_fresh(state):
                    return self._show(state)
                if self._workspace.tip() != target.commit:
                    continue  # another thread may have followed it already, and the index never goes back
                if state is not None and (state.commit is None or self._workspace.exists(state.commit)):
                    state = self._advance(state, target, progress)
                else:
                    state = self._build(state, target, progress)
            except BaseMoved:
                continue
            except (IndexDamaged, DamagedRepository):
                # From a commit whose objects are pruned, perhaps by halves, no way leads on either. If it is
                # the target that is damaged, building finds that again.
                state = self._build(state, target, progress)
            self._show(state)
            if state.commit == target.commit:
                return state
        raise IndexBusy("the branch moves faster than its index can follow", fix="Try again in a moment.")

    def _advance(self, state: State, target: Snapshot, progress: Progress | None) -> State:
        from index.source import difference, pages
        from workspace.snapshot.snapshot import Snapshot

        old = self._workspace.snapshot(state.commit) if state.commit else Snapshot(self._workspace.git, None)
        found = difference(old, target, state.files)
        if found is None:
            return self._build(state, target, progress)
        wanted = {**state.unreadable, **found.upserts}
        for path in found.deletes:
            wanted.pop(path, None)
        changed = pages(target, wanted, progress, "Indexing changed documents")
        return self.engine.apply(state.commit, target.commit, changed, found.deletes)

    def _build(self, seen: State | None, target: Snapshot, progress: Progress | None) -> State:
        return self.engine.rebuild(self._source(target), progress, unless=lambda state: state != seen)

    def _source(self, target: Snapshot) -> GitSource:
        from index.source import GitSource

        return GitSource(target)

    def _show(self, state: State) -> State:
        """Tell of a state that the index was brought to."""
        self._telling.tell(state)
        return state

    def _name(self) -> str:
        branch = self._workspace.branch or f"detached {self._workspace.git.git_dir}"
        return index_name(SCHEMA, branch)

    def _folders(self, name: str) -> Iterator[Path]:
        return candidates(self._workspace.git.common_dir, name)
