"""An archive: the documents of one tree, read as a workspace is, with no repository behind them."""

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
    """The documents of a tree in a folder of packs. It never changes, and nothing can be written to it.

    `commit` is the one that the documents came from, which answers name; None if they came from a folder.
    `moved` tells where documents are that stood elsewhere before: there is no history to ask.
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
        """Return the tree, whatever commit is named: there is no other."""
        return self._snapshot

    def at(self, ref: str | None) -> Snapshot:
        """Return the tree; a ref may only name the commit that it came from. Raises RefNotFound."""
        from workspace.revisions import RefNotFound

        wanted = (ref or "").strip()
        came_from = self.commit or ""
        if not wanted or wanted == "HEAD" or (len(wanted) >= _SHORT and came_from.startswith(wanted.lower())):
            return self._snapshot
        begun = f", of commit {came_from}" if came_from else ""
        raise RefNotFound(
            f"an artifact holds the documents of one moment{begun}, and no history",
            fix="Leave out the ref, or ask a server of the repository itself.",
        )

    def moves(self) -> Moves:
        """Return where old addresses lead, by the list that came with the documents."""
        from workspace.history.moves import Moves

        return Moves.of(self._moved)

    def history(self) -> History:
        """Raise NoHistory: an archive holds one tree, and nothing of what was before."""
        from workspace.history.log import NoHistory

        raise NoHistory()

    def hold(self) -> None:
        """Keep the documents readable to the end, also once their files are removed."""
        self._packs.hold()

    def content(self) -> Workspace:
        """Return the same documents, whose tip is the id of their tree: what an index of them stands for."""
        return Workspace(self.git, durable=False)
