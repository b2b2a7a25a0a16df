"""An archive: the documents of one tree, read as a workspace is, with no repository behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.git.packed import PackedReader
from workspace.snapshot import Snapshot
from workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from workspace.moves import Moves


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
        """The tree, whatever commit is named: there is no other."""
        return self._snapshot

    def moves(self) -> Moves:
        """Where old addresses lead, by the list that came with the documents."""
        from workspace.moves import Moves

        return Moves.of(self._moved)

    def hold(self) -> None:
        """Keep the documents readable to the end, also once their files are removed."""
        self._packs.hold()

    def content(self) -> Workspace:
        """The same documents, whose tip is the id of their tree: what an index of them stands for."""
        return Workspace(self.git, durable=False)
