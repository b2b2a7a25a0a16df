"""Which place of the repository a person means, whose paths may count from the current folder.

The document or section that a person means, by an address of now or of then.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

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
        from workspace.texts.text_file import LazyFilePaths

        root = workspace.git.worktree
        self._root = None if root is None else root.resolve()
        self._folders = (folder, folder.resolve())
        self._files = LazyFilePaths(snapshot)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.find(path) is not None

    def find(self, path: str) -> str | None:
        """Return the path of a file as the repository has it; None if there is none."""
        if path in self._files:
            return path
        named = None if self._root is None else relative(self._root, self._folders, Path(path))
        return named if named is not None and named in self._files else None


def relative(root: Path, folders: Sequence[Path], name: Path) -> str | None:
    """Return a path as the repository has it; None if it is outside.

    Links above it are followed if need be.
    """
    for folder in folders:
        path = Path(os.path.normpath(folder / name))
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    path = path.parent.resolve() / path.name
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None


class Followed(NamedTuple):
    """A document's path, and a section's address in it (None: all of it); where it has moved to if it has."""

    path: str
    slug: str | None
    moved_to: dict[str, Any] | None = None

    @property
    def data(self) -> dict[str, Any]:
        """The fields of an answer."""
        moved = {} if self.moved_to is None else {"moved_to": self.moved_to}
        return {"file": self.path, "slug": self.slug, **moved}


def follow(workspace: Workspace, snapshot: Snapshot, address: str, folder: Path) -> Followed:
    """Return what stands at an address that may count from a folder, or where that has moved to.

    A section may be named by its number or heading, too; a task stands for its section. Raises what reading
    and finding raise: DocumentNotFound and SectionNotFound where nothing is there any more.
    """
    from tools.reading.texts import open_text

    path, slug = _parts(placed(workspace, snapshot, address, folder), snapshot)
    opened = open_text(workspace.moves, snapshot, path, slug)
    entry = opened.entry
    return Followed(opened.text.path, None if entry is None else entry.address, opened.moved_to)


def placed(workspace: Workspace, snapshot: Snapshot, address: str, folder: Path) -> str:
    """Return an address as the repository has it or had it, of one that may count from a folder.

    Where there never was anything by either, it counts from the folder, as it does for Git.
    """
    from tools.moved import find_moved
    from workspace.document.addresses import split_address
    from workspace.texts.text_file import LazyFilePaths

    files = LazyFilePaths(snapshot)
    path, fragment = split_address(from_root(address, workspace, snapshot, folder), files)
    if path not in files:
        paths = _paths(workspace, path, folder)
        path = next((then for then in paths if find_moved(workspace.moves, snapshot, then, None)), paths[-1])
    return path if fragment is None else f"{path}#{fragment}"


def followed_back(workspace: Workspace, snapshot: Snapshot, address: str, folder: Path) -> list[Followed]:
    """Return what an address may mean that names nothing now: counted from the root, and from a folder."""
    path, slug = _parts(address, snapshot)
    return [Followed(then, slug) for then in _paths(workspace, path, folder)]


def _paths(workspace: Workspace, path: str, folder: Path) -> list[str]:
    """Return a path as it is, and as the repository has it if it counts from a folder."""

    root = workspace.git.worktree
    near = None if root is None else relative(root.resolve(), (folder, folder.resolve()), Path(path))
    return list(dict.fromkeys([path, near] if near is not None else [path]))


def tell_moved(moved_to: Mapping[str, str | None] | None) -> None:
    """Say on standard error where something has moved to, if it has."""
    from tools.errors import escape_invisible

    if moved_to is not None:
        path, slug = moved_to["file"], moved_to["slug"]
        click.echo(
            f"This has moved to {escape_invisible(f'{path}#{slug}' if slug else str(path))}.", err=True
        )


def _parts(address: str, snapshot: Snapshot) -> tuple[str, str | None]:
    """Return the path and the section; a task's address gives the section in which it stands."""
    from workspace.document.addresses import read_fragment, split_address
    from workspace.texts.text_file import LazyFilePaths

    path, fragment = split_address(address, LazyFilePaths(snapshot))
    if not fragment:
        return path, None
    return path, read_fragment(fragment).section or fragment
