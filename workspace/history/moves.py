"""Resolution of an old address to its current location, by the first-parent history."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.diff.sections import Evidence, SectionMatch, find_moved_section
from workspace.document.addresses import find_sections_by_name, read_fragment
from workspace.document.section_text import read_comparable_text
from workspace.errors import LimitExceeded
from workspace.git.ancestry import Graph
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.snapshot.snapshot import NotADocument, check_pointer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.git.ancestry import Node
    from workspace.git.reader import GitReader
    from workspace.snapshot.snapshot import Snapshot

MAX_COMMITS = 1_000
"""The maximum number of first-parent commits that are searched."""

_MAX_OTHER_DOCUMENTS = 100  # changed documents between two trees


class SectionPosition(NamedTuple):
    """A position in a tree: a path, the version of the document there, and a section of it.

    The last two are None for the full document.
    """

    path: str
    document: Document | None = None
    section: Section | None = None

    @property
    def address(self) -> tuple[str, str | None]:
        """The path, and the section's key."""
        return self.path, self.section.key if self.section else None


class Tracker:
    """A tracker of positions from tree to tree.

    Each document version is read once. At most `budget` bytes are read in total.
    """

    def __init__(self, git: GitReader, is_document: Callable[[str], bool], budget: int) -> None:
        self._git, self._is_document = git, is_document
        self._remaining_bytes = budget
        self._documents: dict[tuple[str, str], Document | None] = {}
        self._entries: dict[tuple[str, str], str | None] = {}

    def step(self, position: SectionPosition, old: str, new: str) -> SectionPosition | None:
        """Map a position in the tree `old` to the tree `new`; return None if it is missing or ambiguous."""
        new_blob = self.blob(new, position.path)
        if new_blob is not None:
            if position.section is None or new_blob == self.blob(old, position.path):
                return position
            return self._find_in_version(position, position.path, new_blob) or self._find_in_other_documents(
                position, self._compare_trees(old, new)
            )
        renames = self._compare_trees(old, new)
        path = renames.find_new_path(position.path)
        if path is None:
            return self._find_in_other_documents(position, renames)
        if position.section is None:
            return SectionPosition(path)
        return self._find_in_version(
            position, path, renames.added_blobs[path]
        ) or self._find_in_other_documents(position, renames)

    def blob(self, tree: str, path: str) -> str | None:
        """Return the blob at a path; folders that several trees share are read once."""
        visited_keys: list[tuple[str, str]] = []
        folder: str | None = tree
        remaining_path = path
        while folder is not None and remaining_path:
            if (folder, remaining_path) in self._entries:
                folder = self._entries[folder, remaining_path]
                break
            visited_keys.append((folder, remaining_path))
            name, slash, remaining_path = remaining_path.partition("/")
            entry = self._git.entry(folder, name) if name else None
            folder = (
                entry.id if entry and (entry.is_tree if slash and remaining_path else entry.is_blob) else None
            )
        self._entries.update(dict.fromkeys(visited_keys, folder))
        return folder

    def document(self, path: str, blob: str) -> Document | None:
        """Return a version of a document; None if it cannot be parsed, or if the budget is used up."""
        key = (path, blob)
        if key not in self._documents:
            self._documents[key] = self._read_document(path, blob)
        return self._documents[key]

    def _read_document(self, path: str, blob: str) -> Document | None:
        from workspace.document.document import Document

        self._remaining_bytes -= self._git.blob_size(blob)
        if self._remaining_bytes < 0:
            return None
        data = self._git.blob(blob)
        try:
            check_pointer(path, data)
            return Document.parse(data, path)
        except (NotADocument, LimitExceeded):
            return None

    def _compare_trees(self, old: str, new: str) -> Renames:
        return Renames(self._git, old, new, self._is_document)

    def _find_in_version(self, position: SectionPosition, path: str, blob: str) -> SectionPosition | None:
        """Return the same section in another version of its document."""
        document = self.document(path, blob)
        if document is None or position.document is None or position.section is None:
            return None
        section = SectionMatch(position.document, document, Evidence.TEXT).find_successor(position.section)
        return SectionPosition(path, document, section) if section else None

    def _find_in_other_documents(self, position: SectionPosition, renames: Renames) -> SectionPosition | None:
        """Return the same section in another document that differs between the same two trees."""
        if position.document is None or position.section is None or position.section.is_preamble:
            return None
        text = read_comparable_text(position.document, position.section)
        if not text:
            return None
        other_documents = self._iterate_changed_documents(renames, text)
        match = find_moved_section(position.document, position.section, other_documents, Evidence.TEXT)
        return SectionPosition(match[0].path, *match) if match else None

    def _iterate_changed_documents(
        self, renames: Renames, text: bytes
    ) -> Iterator[tuple[Document | None, Document]]:
        """Yield the other changed documents that contain a text, before and after."""
        other_documents = {
            **{path: (None, blob) for path, blob in renames.added_blobs.items()},
            **renames.changed_blobs,
        }
        if len(other_documents) > _MAX_OTHER_DOCUMENTS:
            return
        for path, (before, after) in other_documents.items():
            if text in self._git.blob(after) and (document := self.document(path, after)) is not None:
                yield (self.document(path, before) if before else None), document


_MAX_BYTES_READ = 1_500_000  # of old documents, for one call
_MAX_CACHED_MOVES = 1_000


class Move(NamedTuple):
    """The current location of a moved document or section.

    `fragment` is a section's key, None for a document. `commit` is the commit that moved it last, None if
    there is no history.
    """

    path: str
    fragment: str | None
    commit: str | None


class Moves:
    """The moves of documents and sections, found in the history of a branch. Safe in several threads."""

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._graph = Graph(git)
        self._cache: LRUCache[tuple[str, str, str | None], Move | None] = LRUCache(_MAX_CACHED_MOVES)

    @classmethod
    def of(cls, current_paths: Mapping[str, str]) -> Moves:
        """Return the moves of documents that a mapping of old paths to current paths describes."""
        return _MappedMoves(current_paths)

    def find(self, tip: Snapshot, path: str, fragment: str | None = None) -> Move | None:
        """Return the current location of an address that does not exist at a tip; None if it was not moved.

        At most the last 1,000 commits are searched. Unreadable commits end the search.
        """
        if tip.commit is None:
            return None
        return self._cache.get((tip.commit, path, fragment), self._search, tip, tip.commit, path, fragment)

    def _search(self, tip: Snapshot, commit: str, path: str, fragment: str | None) -> Move | None:
        self._graph.refresh()
        try:
            commits = self._graph.first_parents(commit, max_commits=MAX_COMMITS)
            return _MoveSearch(self._git, tip, commits).find(path, fragment)
        except DamagedRepository:
            return None


class _MappedMoves(Moves):
    """The moves that a mapping of paths describes; the sections in these documents keep their addresses."""

    def __init__(self, current_paths: Mapping[str, str]) -> None:
        self._current_paths = current_paths

    def find(self, tip: Snapshot, path: str, fragment: str | None = None) -> Move | None:
        current_path = self._current_paths.get(path)
        if current_path is None or path in tip.documents or current_path not in tip.documents:
            return None
        if fragment is None:
            return Move(current_path, None, None)
        section = _find_section(tip.document(current_path), fragment)
        return Move(current_path, section.key, None) if section else None


def map_renamed_documents(tip: Snapshot, max_commits: int = MAX_COMMITS) -> Mapping[str, str]:
    """Return the old paths of documents that the last commits renamed, with their paths at the tip.

    `max_commits` is the number of commits to search.
    """
    if tip.commit is None:
        return {}
    commits = Graph(tip.git).first_parents(tip.commit, max_commits=max_commits)
    current_paths: dict[str, str] = {}  # paths at the tip, by paths before the scanned commit
    renamed_paths: dict[str, str] = {}
    for new, old in pairwise(commits):
        try:
            renames = Renames(tip.git, old.tree, new.tree, tip.config.is_document)
            new_paths = {path: renames.find_new_path(path) for path in renames.removed_blobs}
        except DamagedRepository:
            break
        current_paths |= {
            path: current_paths.get(new_path, new_path) if new_path else ""
            for path, new_path in new_paths.items()
        }
        for path in new_paths:
            renamed_paths.setdefault(path, current_paths[path])
    current_documents = tip.documents
    return {
        path: current_path
        for path, current_path in sorted(renamed_paths.items())
        if current_path in current_documents and path not in current_documents
    }


class _MoveSearch:
    """A search in the first-parent commits of a branch, newest first."""

    def __init__(self, git: GitReader, tip: Snapshot, commits: Sequence[Node]) -> None:
        self._tip, self._commits = tip, commits
        self._tracker = Tracker(git, tip.config.is_document, _MAX_BYTES_READ)

    def find(self, path: str, fragment: str | None) -> Move | None:
        origin = self._find_origin(path, fragment)
        if origin is None:
            return None
        origin_index, position = origin
        # If the address was an alias or a slug, the section may have lost that name without a move.
        has_lost_name = origin_index > 0 and fragment is not None and position.address != (path, fragment)
        moving_commit = self._commits[origin_index - 1].id if has_lost_name else None
        for index in range(origin_index - 1, -1, -1):
            new_position = self._tracker.step(
                position, self._commits[index + 1].tree, self._commits[index].tree
            )
            if new_position is None:
                return None
            if new_position.address != position.address:
                moving_commit = self._commits[index].id
            position = new_position
        if moving_commit is None or position.path not in self._tip.documents:
            return None
        return Move(*position.address, moving_commit)

    def _find_origin(self, path: str, fragment: str | None) -> tuple[int, SectionPosition] | None:
        """Return the index of the newest commit in which an address existed, and the position there."""
        newer_blob: str | None = None
        for index, commit in enumerate(self._commits):
            try:
                blob = self._tracker.blob(commit.tree, path)
            except DamagedRepository:
                return None
            if blob is None or blob == newer_blob:
                continue
            newer_blob = blob
            if fragment is None:
                return index, SectionPosition(path)
            document = self._tracker.document(path, blob)
            section = _find_section(document, fragment) if document else None
            if section is not None:
                return index, SectionPosition(path, document, section)
        return None


def _find_section(document: Document, fragment: str) -> Section | None:
    query = read_fragment(fragment)
    matches = find_sections_by_name(document, query.section) if query.task is None else ()
    return document.section_by_key(fragment) or (matches[0] if len(matches) == 1 else None)
