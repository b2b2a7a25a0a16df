"""Which place of the repository a person means, whose paths may count from the current folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace


def from_root(address: str, workspace: Workspace, snapshot: Snapshot, folder: Path) -> str:
    """An address as the repository has it, of one that may count from a folder; as it is where neither is."""
    from workspace.document.addresses import split_address

    nearby = _Nearby(workspace, snapshot, folder)
    path, slug = split_address(address, nearby)
    path = nearby.find(path) or path
    return path if slug is None else f"{path}#{slug}"


class _Nearby:
    """The paths of files, as the repository has them or counted from a folder."""

    def __init__(self, workspace: Workspace, snapshot: Snapshot, folder: Path) -> None:
        from workspace.texts.files import Files

        root = workspace.git.worktree
        self._root = None if root is None else root.resolve()
        self._folders = (folder, folder.resolve())
        self._files = Files(snapshot)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.find(path) is not None

    def find(self, path: str) -> str | None:
        """The path of a file as the repository has it; None if there is none."""
        if path in self._files:
            return path
        named = None if self._root is None else relative(self._root, self._folders, Path(path))
        return named if named is not None and named in self._files else None


def relative(root: Path, folders: Sequence[Path], name: Path) -> str | None:
    """A path as the repository has it; None if it is outside. Links above it are followed if need be."""
    for folder in folders:
        path = Path(os.path.normpath(folder / name))
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    path = path.parent.resolve() / path.name
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None
