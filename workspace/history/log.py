"""The history of documents and sections: the commits that changed them, and the author of each line."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.document.addresses import (
    SectionNotFound,
    make_section_not_found_error,
    read_fragment,
    resolve_section,
)
from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph
from workspace.history.blame import BlamedLine, BlameSearch
from workspace.history.commits import CommitInfo, attribute_to_proposals, describe_commit
from workspace.history.text_ranges import TextRange, Versions, make_absent_range
from workspace.history.walk import HistoryPoint, HistoryStepper, RangeHistory
from workspace.lru_cache import LRUCache
from workspace.snapshot.snapshot import DocumentCache

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workspace.git.reader import GitReader
    from workspace.history.commits import CommitChange
    from workspace.snapshot.snapshot import Snapshot

MAX_CHANGES = 100
"""The maximum number of changes on a page."""

MAX_SCANNED_COMMITS = 12_000
"""The maximum number of commits scanned for a page; reading a version counts as several commits."""

MAX_BLAMED_COMMITS = 120_000
"""The maximum number of commits scanned by a blame; older lines are attributed to the last scanned commit."""

_MAX_CACHED_ADDRESSES = 64
_MAX_CACHED_STARTS = 8  # start commits for each address
_MAX_CACHED_VERSIONS = 4
_MAX_CACHED_LINES = 200_000
_MAX_CACHED_BYTES = 16_000_000
_MAX_LISTED_COMMITS = 5


class NoHistory(WorkspaceError):
    """An error: the documents have no history, such as those of an artifact."""

    code: ClassVar[str] = "NO_HISTORY"

    def __init__(self) -> None:
        super().__init__(
            "an artifact contains one version of the documents and no history",
            fix="Call a server of the repository itself; the artifact was built from its source_commit.",
        )


class ChangePage(NamedTuple):
    """A page of changes, newest first.

    `next` is the `after` of the next page, None at the end. `is_complete` is False if the page ended early
    because of the number of scanned commits. On the last page, `notes` name the commits and versions that
    could not be read.
    """

    entries: tuple[CommitChange, ...]
    next: str | None
    is_complete: bool
    notes: tuple[str, ...]


class History:
    """The history of documents in a repository's commits. Thread-safe.

    Results are cached by commit, path and section, and a page continues where the previous one ended.
    """

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._graph = Graph(git)
        # A step back reads the same two versions several times.
        self._read_blob = lru_cache(maxsize=_MAX_CACHED_VERSIONS)(git.blob_within)
        # Separate from the cache of the workspace, from which old versions would evict current ones.
        self._cache = DocumentCache(_MAX_CACHED_BYTES)
        self._range_histories: LRUCache[tuple[object, ...], dict[str, RangeHistory]] = LRUCache(
            _MAX_CACHED_ADDRESSES
        )
        self._blames: LRUCache[tuple[str, str, str | None], tuple[BlamedLine, ...]] = LRUCache(
            _MAX_CACHED_LINES, len
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
        max_scanned: int | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> ChangePage:
        """Return the changes of a document, or of a section with its subsections, up to a snapshot's commit.

        The search ends after `max_scanned` scanned commits; a repeated call continues from there. The
        history of a removed document or section begins with its removal. A task's address means its section.

        Raises DocumentNotFound, SectionNotFound if the address never existed, AmbiguousAddress,
        LimitExceeded, LfsTextMissing.
        """
        limit, max_scanned = max(1, min(limit, MAX_CHANGES)), max_scanned or MAX_SCANNED_COMMITS
        if snapshot.commit is None:
            raise snapshot.make_not_found_error(path)
        self._graph.refresh()
        text_range = self._find_range(snapshot, path, fragment)
        range_history, known_histories = self._find_range_history(snapshot, text_range)
        start_position = int(after) if after and after.isdecimal() else 0
        with range_history.lock:
            while range_history.scanned_count < start_position and not range_history.is_done:
                range_history.walk(len(range_history.changes) + limit, max_scanned, known_histories, progress)
            first_index = sum(
                found_change.scanned_count <= start_position for found_change in range_history.changes
            )
            range_history.walk(first_index + limit, max_scanned, known_histories, progress)
            page_changes = range_history.changes[first_index : first_index + limit]
            has_more = len(range_history.changes) > first_index + limit or not range_history.is_done
            has_ended_early = has_more and len(page_changes) < limit
            scanned_count = (
                page_changes[-1].scanned_count if len(page_changes) == limit else range_history.scanned_count
            )
        if (
            not page_changes
            and not has_more
            and not first_index
            and not text_range.exists
            and not range_history.unreadable_commits
        ):
            raise self._make_not_found_error(snapshot, path, fragment)
        entries = attribute_to_proposals(
            [found_change.change for found_change in page_changes], self._git, self._graph, snapshot.commit
        )
        return ChangePage(
            entries,
            str(scanned_count) if has_more else None,
            not has_ended_early,
            () if has_more else self._make_notes(range_history),
        )

    def blame(
        self,
        snapshot: Snapshot,
        path: str,
        fragment: str | None = None,
        *,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> tuple[BlamedLine, ...]:
        """Return the commit that wrote each line of a document, or of a section with its subsections.

        Raises DocumentNotFound, SectionNotFound, AmbiguousAddress, LimitExceeded, LfsTextMissing.
        """
        self._graph.refresh()
        text_range = self._find_range(snapshot, path, fragment)
        if snapshot.commit is None or not text_range.exists:
            raise self._make_not_found_error(snapshot, path, fragment)
        versions = self._make_versions(snapshot)
        search = BlameSearch(
            self._graph, versions, HistoryStepper(self._graph, versions, snapshot.config.is_document)
        )
        start = HistoryPoint(snapshot.commit, text_range)
        return self._blames.get(
            (snapshot.commit, *text_range.address), search.annotate, start, MAX_BLAMED_COMMITS, progress
        )

    def commit(self, id: str) -> CommitInfo:
        """Return a commit's author, time and client. Raises DamagedRepository."""
        return describe_commit(self._git.commit(id))

    def _find_range(self, snapshot: Snapshot, path: str, fragment: str | None) -> TextRange:
        """Return the range of an address in the snapshot; an absent range if the address does not exist."""
        name = read_fragment(fragment).section if fragment else None
        entry = snapshot.entry(path)
        if entry is None or not snapshot.config.is_document(path):
            if not snapshot.config.is_document(path):
                raise snapshot.make_not_found_error(path)
            return make_absent_range(path, name)
        blob = snapshot.find_text_blob(path)
        if name is None:
            snapshot.config.limits.check_document(path, self._git.blob_size(blob))
            return TextRange(path, None, blob)
        document = snapshot.document(path)
        try:
            section = document.section_by_key(name) or resolve_section(document, name)
        except SectionNotFound:
            return make_absent_range(path, name, blob)
        return self._make_versions(snapshot).make_range(path, blob, section)

    def _make_not_found_error(self, snapshot: Snapshot, path: str, fragment: str | None) -> WorkspaceError:
        """Return the error for an address that never existed."""
        entry = snapshot.entry(path)
        if fragment and entry is not None and entry.is_blob:
            return make_section_not_found_error(snapshot.document(path), read_fragment(fragment).section)
        return snapshot.make_not_found_error(path)

    def _make_versions(self, snapshot: Snapshot) -> Versions:
        return Versions(self._git, self._read_blob, self._cache, snapshot.config.limits.document_bytes)

    def _find_range_history(
        self, snapshot: Snapshot, text_range: TextRange
    ) -> tuple[RangeHistory, Mapping[str, RangeHistory]]:
        """Return the history of a range, and the histories of its address that began at other commits."""
        assert snapshot.commit is not None
        # The results depend on which paths are documents, and on the size limit of a document.
        config = snapshot.config
        histories_key = (*text_range.address, config.root, config.exclude, config.limits.document_bytes)
        with self._lock:
            range_histories = self._range_histories.get(histories_key, dict)
            known_histories = dict(range_histories)
            range_history = known_histories.pop(snapshot.commit, None)
            if range_history is None:
                versions = self._make_versions(snapshot)
                stepper = HistoryStepper(self._graph, versions, snapshot.config.is_document)
                start = HistoryPoint(snapshot.commit, text_range)
                range_history = range_histories[snapshot.commit] = RangeHistory(
                    self._git, self._graph, versions, stepper, start
                )
                while len(range_histories) > _MAX_CACHED_STARTS:
                    range_histories.pop(next(iter(range_histories)))
        return range_history, known_histories

    def _make_notes(self, range_history: RangeHistory) -> tuple[str, ...]:
        """Return notes on unreadable parts of a history that was read to its end."""
        notes: list[str] = []
        if range_history.unreadable_commits and self._graph.is_shallow:
            notes.append(
                "the clone is shallow, and older commits were not fetched; run: git fetch --unshallow"
            )
        elif range_history.unreadable_commits:
            ids = ", ".join(id[:12] for id in range_history.unreadable_commits[:_MAX_LISTED_COMMITS])
            notes.append(f"commits that cannot be read end the history: {ids}")
        if range_history.versions.has_unread_version:
            limit = f"{range_history.versions.max_bytes:,}"
            notes.append(
                f"versions of over {limit} bytes were not read, so their text appears to be added later"
            )
        return tuple(notes)
