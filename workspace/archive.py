"""An archive: a read-only workspace of the documents of one tree, without a repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.git.pack_reader import PackedReader
from workspace.snapshot.snapshot import Snapshot
from workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from workspace.history.log import History
    from workspace.history.moves import Moves

_SHORT = 4  # characters of a commit's id that are enough to name it


class Archive(Workspace):
    """The documents of a tree in a folder of packs. It never changes, and is read-only.

    `commit` is the source commit of the documents, which responses contain; None if they came from a folder.
    `moved` maps earlier paths of documents to current ones, because an archive has no history.
    Raises DamagedRepository for a folder that has no packs.
    """

    def __init__(
        self, folder: Path, tree: str, commit: str | None = None, moved: Mapping[str, str] | None = None
    ) -> None:
        self._packs = PackedReader(folder, tree)
        super().__init__(self._packs, durable=False)
        self.commit = commit
        self._moved = moved or {}
        self._snapshot = Snapshot(self.git, tree, self._cache)
        self._snapshot.commit = commit

    def snapshot(self, commit: str | None = None) -> Snapshot:
        """Return the tree for any commit: it is the only one."""
        return self._snapshot

    def at(self, ref: str | None) -> Snapshot:
        """Return the tree; a ref may only name its original commit. Raises RefNotFound."""
        from workspace.revisions import RefNotFound

        wanted = (ref or "").strip()
        came_from = self.commit or ""
        if not wanted or wanted == "HEAD" or (len(wanted) >= _SHORT and came_from.startswith(wanted.lower())):
            return self._snapshot
        begun = f", of commit {came_from}" if came_from else ""
        raise RefNotFound(
            f"an artifact holds the documents of one moment{begun}, and no history",
            fix="Leave out the ref, or use a server of the repository itself.",
        )

    def moves(self) -> Moves:
        """Return the moves by the list that came with the documents."""
        from workspace.history.moves import Moves

        return Moves.of(self._moved)

    def history(self) -> History:
        """Raise NoHistory: an archive holds one tree without a history."""
        from workspace.history.log import NoHistory

        raise NoHistory()

    def hold(self) -> None:
        """Keep the documents readable, also after their files are removed."""
        self._packs.hold()

    def content(self) -> Workspace:
        """Return the same documents with the id of their tree as the tip, for an index."""
        return Workspace(self.git, durable=False)
