"""An archive: a read-only workspace of the documents of one tree, without a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from workspace.git.pack_reader import PackedReader
from workspace.snapshot.snapshot import Snapshot
from workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from workspace.history.drift import DriftFinder
    from workspace.history.growth import GrowthCounter
    from workspace.history.log import History
    from workspace.history.moved_addresses import Moves
    from workspace.trace import TraceFinder

_MIN_COMMIT_ID_LENGTH = 4


class Archive(Workspace):
    """The documents of a tree in a folder of packs. It never changes, and is read-only.

    `commit` is the source commit of the documents, or None; responses contain this commit.
    `current_paths` maps earlier paths of documents to current ones, because an archive has no history.
    Raises DamagedRepository for a folder that has no packs.
    """

    has_history: ClassVar[bool] = False

    def __init__(
        self,
        folder: Path,
        tree: str,
        commit: str | None = None,
        current_paths: Mapping[str, str] | None = None,
    ) -> None:
        self._packs = PackedReader(folder, tree)
        super().__init__(self._packs, durable=False)
        self.commit = commit
        self._current_paths = current_paths or {}
        self._snapshot = Snapshot(self.git, tree, self._cache)
        self._snapshot.commit = commit

    def snapshot(self, commit: str | None = None) -> Snapshot:
        """Return the snapshot of the tree for any commit, because an archive has only one tree."""
        return self._snapshot

    def at(self, ref: str | None) -> Snapshot:
        """Return the snapshot of the tree. Raises RefNotFound unless the ref names the source commit."""
        from workspace.revisions import RefNotFound

        requested_ref = (ref or "").strip()
        source_commit = self.commit or ""
        if (
            not requested_ref
            or requested_ref == "HEAD"
            or (
                len(requested_ref) >= _MIN_COMMIT_ID_LENGTH
                and source_commit.startswith(requested_ref.lower())
            )
        ):
            return self._snapshot
        commit_text = f" (of commit {source_commit})" if source_commit else ""
        raise RefNotFound(
            f"an artifact contains one version of the documents{commit_text} and no history",
            fix="Leave out the ref, or use a server of the repository itself.",
        )

    def moves(self) -> Moves:
        """Return the moves that the list of earlier paths describes."""
        from workspace.history.moved_addresses import Moves

        return Moves.of(self._current_paths)

    def history(self) -> History:
        """Raise NoHistory: an archive contains one tree without a history."""
        from workspace.history.log import NoHistory

        raise NoHistory()

    def drift_finder(self) -> DriftFinder:
        """Raise NoHistory: an archive contains one tree without a history."""
        from workspace.history.log import NoHistory

        raise NoHistory()

    def growth_counter(self) -> GrowthCounter:
        """Raise NoHistory: an archive contains one tree without a history."""
        from workspace.history.log import NoHistory

        raise NoHistory()

    def trace_finder(self) -> TraceFinder:
        """Return the traces of identifiers. An archive contains documents only, so tests are unknown."""
        from workspace.trace import TraceFinder

        return self.shared(TraceFinder, lambda: TraceFinder(self.git, has_test_files=False))

    def open_packs(self) -> None:
        """Open every pack, so that the documents stay readable after their files are removed."""
        self._packs.open_packs()

    def without_source_commit(self) -> Workspace:
        """Return a workspace of the same documents, whose tip is their tree's id, not the source commit."""
        return Workspace(self.git, durable=False)
