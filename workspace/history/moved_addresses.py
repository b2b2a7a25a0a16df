"""The search for the current location of an old address in the first-parent history."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.document.addresses import find_sections_by_name, read_fragment
from workspace.git.ancestry import Graph
from workspace.git.repository import DamagedRepository
from workspace.history.section_tracker import SectionPosition, SectionTracker
from workspace.lru_cache import LRUCache
from workspace.paths import MAX_PATH_BYTES, UNPRINTABLE_CHARACTER
from workspace.snapshot.snapshot import NotCommitted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.git.ancestry import Node
    from workspace.git.reader import GitReader
    from workspace.snapshot.snapshot import Snapshot

MAX_COMMITS = 1_000
"""The maximum number of first-parent commits that are searched."""

_MAX_ADDRESS_CHARACTERS = 2_000  # longer addresses are not searched for in the history


_MAX_BYTES_READ = 1_500_000  # of old documents, for one call
_MAX_CACHED_MOVES = 1_000


class Location(NamedTuple):
    """A location: a document's path, and the address of a section or task in it (None: the document).

    `moved_to` is None if the requested address is current. Else it is a field of the response, with `file`,
    `slug` (None for a document) and `commit`. This commit moved the address last; None if only a list of
    moves contains the address.
    """

    file: str
    slug: str | None
    moved_to: dict[str, str | None] | None

    @property
    def address(self) -> str:
        """Return the full address: a path, or a path, `#` and a slug."""
        return f"{self.file}#{self.slug}" if self.slug else self.file


class Move(NamedTuple):
    """The current location of a moved document or section.

    `fragment` is a section's key, None for a document. `commit` is the commit that moved it last, None if
    there is no history.
    """

    path: str
    fragment: str | None
    commit: str | None


class Moves:
    """The moves of documents and sections, found in the history of a branch. Thread-safe."""

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


def find_moved_location(
    moves: Callable[[], Moves], snapshot: Snapshot, file: str, slug: str | None
) -> Location | None:
    """Return the current location of an old address; None if the address exists or never moved."""
    if (
        not 0 < len(file) <= MAX_PATH_BYTES
        or len(slug or "") > _MAX_ADDRESS_CHARACTERS
        or UNPRINTABLE_CHARACTER.search(f"{file}{slug}")
    ):
        return None
    fragment = None if slug is None else read_fragment(slug)
    section = fragment.section if fragment else None
    entry = snapshot.entry(file)
    if section == "" or (entry is not None and _has_section(snapshot, file, section)):
        return None
    move = moves().find(snapshot, file, section)
    if move is None and section is not None and entry is None:
        move = _find_section_of_moved_document(moves(), snapshot, file, section)
    if move is None or (entry is None and isinstance(snapshot.make_not_found_error(file), NotCommitted)):
        return None
    new_slug = (
        f"{move.fragment}[{fragment.task}]" if fragment and fragment.task is not None else move.fragment
    )
    return Location(move.path, new_slug, {"file": move.path, "slug": new_slug, "commit": move.commit})


def _has_section(snapshot: Snapshot, file: str, section: str | None) -> bool:
    """Return True if a file has a section. Files that are not documents count as having every section."""
    if section is None or not snapshot.config.is_document(file):
        return True
    return bool(find_sections_by_name(snapshot.document(file), section))


def _find_section_of_moved_document(moves: Moves, snapshot: Snapshot, file: str, section: str) -> Move | None:
    """Return the move of a section that was added to a document after the document was moved from `file`."""
    move = moves.find(snapshot, file)
    if move is None:
        return None
    sections = find_sections_by_name(snapshot.document(move.path), section)
    return move._replace(fragment=sections[0].key) if len(sections) == 1 else None


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
        self._tracker = SectionTracker(git, tip.config.is_document, _MAX_BYTES_READ)

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
