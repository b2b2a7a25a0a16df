"""The history of documents and sections: the commits that changed one, and the author of each line."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.document.addresses import SectionNotFound, read_fragment, resolve_section, section_not_found
from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph
from workspace.history.blame import Blame, BlamedLine
from workspace.history.commits import CommitInfo, attribute_to_proposals, describe_commit
from workspace.history.places import TextRange, Versions, make_absent_range
from workspace.history.walk import HistoryPoint, HistoryStepper, Trail
from workspace.lru_cache import LRUCache
from workspace.snapshot.snapshot import DocumentCache

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workspace.git.reader import GitReader
    from workspace.history.commits import CommitChange
    from workspace.snapshot.snapshot import Snapshot

MAX_CHANGES = 100
"""Changes of one page."""

MAX_SCANNED_COMMITS = 12_000
"""Commits that one page looks at: the measure of its work, in which reading a version counts for several."""

MAX_BLAMED_COMMITS = 120_000
"""Commits that a blame looks at; lines that are older are told of as far as it came."""

_KEPT = 64  # addresses
_KEPT_STARTS = 8  # commits of each that its history was asked for at
_KEPT_VERSIONS = 4
_KEPT_LINES = 200_000
_CACHED_BYTES = 16_000_000
_SHOWN = 5


class NoHistory(WorkspaceError):
    """The served documents are one state without a history."""

    code: ClassVar[str] = "NO_HISTORY"

    def __init__(self) -> None:
        super().__init__(
            "an artifact holds one state of the documents, and no history",
            fix="Ask a server of the repository itself; the artifact's source_commit is where it was made.",
        )


class ChangePage(NamedTuple):
    """A page of changes, newest first.

    `next` is what to give as `after` for the page that follows, None at the end. `complete` is False where
    the page ended early because it had looked at many commits. `notes` say what of the history could not be
    read.
    """

    entries: tuple[CommitChange, ...]
    next: str | None
    complete: bool
    notes: tuple[str, ...]


class History:
    """The history of documents in a repository's commits. Safe in several threads.

    What was found is kept by commit, path and section, and a page goes on where the one before it ended.
    """

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._graph = Graph(git)
        # A step asks for the same two versions several times.
        self._read = lru_cache(maxsize=_KEPT_VERSIONS)(git.blob_within)
        # Not the cache of the workspace: old versions would drive those out that are read now.
        self._cache = DocumentCache(_CACHED_BYTES)
        self._trails: LRUCache[tuple[object, ...], dict[str, Trail]] = LRUCache(_KEPT)
        self._blames: LRUCache[tuple[str, str, str | None], tuple[BlamedLine, ...]] = LRUCache(
            _KEPT_LINES, len
        )
        self._lock = threading.Lock()

    def changes(
        self,
        snapshot: Snapshot,
        path: str,
        fragment: str | None = None,
        *,
        after: str | None = None,
        limit: int = 20,
        looked_at: int | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> ChangePage:
        """Return the changes of a document, or a section with its subsections, before a snapshot's commit.

        It ends when so many commits were looked at; the same call again goes on from there.
        What is not there any more begins with its removal. A task's address stands for its section.
        Raises DocumentNotFound, SectionNotFound where nothing ever stood at the address, AmbiguousAddress,
        LimitExceeded, NotADocument.
        """
        limit, looked_at = max(1, min(limit, MAX_CHANGES)), looked_at or MAX_SCANNED_COMMITS
        if snapshot.commit is None:
            raise snapshot.not_found(path)
        self._graph.look()
        place = self._place(snapshot, path, fragment)
        trail, known = self._trail(snapshot, place)
        passed = int(after) if after and after.isdecimal() else 0
        with trail.lock:
            while trail.seen < passed and not trail.is_done:
                trail.walk(len(trail.found) + limit, looked_at, known, progress)
            first = sum(found.seen <= passed for found in trail.found)
            trail.walk(first + limit, looked_at, known, progress)
            page = trail.found[first : first + limit]
            more = len(trail.found) > first + limit or not trail.is_done
            is_early = more and len(page) < limit
            seen = page[-1].seen if len(page) == limit else trail.seen
        if not page and not more and not first and not place.is_there and not trail.unread:
            raise self._unknown(snapshot, path, fragment)
        entries = attribute_to_proposals(
            [found.change for found in page], self._git, self._graph, snapshot.commit
        )
        return ChangePage(
            entries,
            str(seen) if more else None,
            not is_early,
            () if more else self._notes(trail),
        )

    def blame(
        self,
        snapshot: Snapshot,
        path: str,
        fragment: str | None = None,
        *,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> tuple[BlamedLine, ...]:
        """Return which commit wrote each line of a document, or of a section with its subsections.

        Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, LimitExceeded, NotADocument.
        """
        self._graph.look()
        place = self._place(snapshot, path, fragment)
        if snapshot.commit is None or not place.is_there:
            raise self._unknown(snapshot, path, fragment)
        versions = self._versions(snapshot)
        blame = Blame(
            self._graph, versions, HistoryStepper(self._graph, versions, snapshot.config.is_document)
        )
        start = HistoryPoint(snapshot.commit, place)
        return self._blames.get(
            (snapshot.commit, *place.address), blame.annotate, start, MAX_BLAMED_COMMITS, progress
        )

    def commit(self, id: str) -> CommitInfo:
        """Return a commit's author, time and client. Raises DamagedRepository."""
        return describe_commit(self._git.commit(id))

    def _place(self, snapshot: Snapshot, path: str, fragment: str | None) -> TextRange:
        """Return the range of an address in the snapshot; an absent range if it names nothing."""
        name = read_fragment(fragment).section if fragment else None
        entry = snapshot.entry(path)
        if entry is None or not snapshot.config.is_document(path):
            if not snapshot.config.is_document(path):
                raise snapshot.not_found(path)
            return make_absent_range(path, name)
        blob = snapshot.check_text(path)
        if name is None:
            snapshot.config.limits.check_document(path, self._git.blob_size(blob))
            return TextRange(path, None, blob)
        document = snapshot.document(path)
        try:
            section = document.section_by_key(name) or resolve_section(document, name)
        except SectionNotFound:
            return make_absent_range(path, name, blob)
        return self._versions(snapshot).place(path, blob, section)

    def _unknown(self, snapshot: Snapshot, path: str, fragment: str | None) -> WorkspaceError:
        """Return the error for an address that names nothing and never did."""
        entry = snapshot.entry(path)
        if fragment and entry is not None and entry.is_blob:
            return section_not_found(snapshot.document(path), read_fragment(fragment).section)
        return snapshot.not_found(path)

    def _versions(self, snapshot: Snapshot) -> Versions:
        return Versions(self._git, self._read, self._cache, snapshot.config.limits.document_bytes)

    def _trail(self, snapshot: Snapshot, place: TextRange) -> tuple[Trail, Mapping[str, Trail]]:
        """Return the trail of a range, and those of its address that began at other commits."""
        assert snapshot.commit is not None
        # Which paths count as documents, and how much of one is read, is a part of what was found.
        config = snapshot.config
        kin = (*place.address, config.root, config.exclude, config.limits.document_bytes)
        with self._lock:
            trails = self._trails.get(kin, dict)
            known = dict(trails)
            trail = known.pop(snapshot.commit, None)
            if trail is None:
                versions = self._versions(snapshot)
                steps = HistoryStepper(self._graph, versions, snapshot.config.is_document)
                start = HistoryPoint(snapshot.commit, place)
                trail = trails[snapshot.commit] = Trail(self._git, self._graph, versions, steps, start)
                while len(trails) > _KEPT_STARTS:
                    trails.pop(next(iter(trails)))
        return trail, known

    def _notes(self, trail: Trail) -> tuple[str, ...]:
        """Return notes on unreadable parts of a history that was followed to its end."""
        notes: list[str] = []
        if trail.unread and self._graph.is_shallow:
            notes.append(
                "the clone is shallow, and what is older was not fetched; git fetch --unshallow brings it"
            )
        elif trail.unread:
            shown = ", ".join(id[:12] for id in trail.unread[:_SHOWN])
            notes.append(f"commits that cannot be read end the history: {shown}")
        if trail.versions.is_cut:
            size = f"{trail.versions.most:,}"
            notes.append(f"versions of over {size} bytes were not read; what came from them seems created")
        return tuple(notes)
