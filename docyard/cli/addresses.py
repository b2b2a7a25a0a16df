"""Addresses at the command line, which may be relative to the current folder or name a moved section."""

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


def resolve_relative_address(address: str, workspace: Workspace, snapshot: Snapshot, folder: Path) -> str:
    """Return the repository address of an address that may be relative to a folder.

    The address is unchanged if no file exists at either path.
    """
    from workspace.document.addresses import split_address

    lookup = _PathLookup(workspace, snapshot, folder)
    path, slug = split_address(address, lookup)
    path = lookup.find(path) or path
    return path if slug is None else f"{path}#{slug}"


class _PathLookup:
    """The file paths of a snapshot; a lookup accepts a path from the root or relative to a folder."""

    def __init__(self, workspace: Workspace, snapshot: Snapshot, folder: Path) -> None:
        from workspace.texts.text_file import LazyFilePaths

        root = workspace.git.worktree
        self._root = None if root is None else root.resolve()
        self._folders = (folder, folder.resolve())
        self._files = LazyFilePaths(snapshot)

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.find(path) is not None

    def find(self, path: str) -> str | None:
        """Return the repository path of a file; None if it does not exist."""
        if path in self._files:
            return path
        repository_path = (
            None if self._root is None else to_repository_path(self._root, self._folders, Path(path))
        )
        return repository_path if repository_path is not None and repository_path in self._files else None


def to_repository_path(root: Path, folders: Sequence[Path], name: Path) -> str | None:
    """Return the path of `name` relative to the root of the repository; None if it is outside.

    `name` may be relative to a folder; `folders` are the paths of that one folder, with and without symbolic
    links. Symbolic links in the parent folders of `name` are resolved if needed.
    """
    for folder in folders:
        path = Path(os.path.normpath(folder / name))
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    path = path.parent.resolve() / path.name
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None


class ResolvedAddress(NamedTuple):
    """The path of a document, the address of a section, and the new location of a moved target.

    `slug` is None for the whole document.
    """

    path: str
    slug: str | None
    moved_to: dict[str, Any] | None = None

    @property
    def data(self) -> dict[str, Any]:
        """Return the fields of the JSON output: `file`, `slug`, and `moved_to` for a moved target."""
        moved_fields = {} if self.moved_to is None else {"moved_to": self.moved_to}
        return {"file": self.path, "slug": self.slug, **moved_fields}


def resolve_address(workspace: Workspace, snapshot: Snapshot, address: str, folder: Path) -> ResolvedAddress:
    """Resolve an address, from the root or relative to a folder, to its current location.

    A section may also be named by its number or heading; a task resolves to its section. Raises
    DocumentNotFound and SectionNotFound if the target no longer exists.
    """
    from tools.reading.texts import open_text

    path, slug = _split_address(locate_address(workspace, snapshot, address, folder), snapshot)
    target = open_text(workspace.moves, snapshot, path, slug)
    entry = target.entry
    return ResolvedAddress(target.text.path, None if entry is None else entry.address, target.moved_to)


def locate_address(workspace: Workspace, snapshot: Snapshot, address: str, folder: Path) -> str:
    """Return the repository address of a current or former address.

    An address that never existed is treated as relative to the folder, as Git does.
    """
    from workspace.document.addresses import split_address
    from workspace.history.moved_addresses import find_moved_location
    from workspace.texts.text_file import LazyFilePaths

    files = LazyFilePaths(snapshot)
    path, fragment = split_address(resolve_relative_address(address, workspace, snapshot, folder), files)
    if path not in files:
        paths = _list_candidate_paths(workspace, path, folder)
        path = next(
            (
                candidate
                for candidate in paths
                if find_moved_location(workspace.moves, snapshot, candidate, None)
            ),
            paths[-1],
        )
    return path if fragment is None else f"{path}#{fragment}"


def list_possible_addresses(
    workspace: Workspace, snapshot: Snapshot, address: str, folder: Path
) -> list[ResolvedAddress]:
    """Return the addresses that an unknown address may denote, from the root and relative to a folder."""
    path, slug = _split_address(address, snapshot)
    return [ResolvedAddress(candidate, slug) for candidate in _list_candidate_paths(workspace, path, folder)]


def _list_candidate_paths(workspace: Workspace, path: str, folder: Path) -> list[str]:
    """Return a path, and also its repository path if the path is relative to the folder."""
    root = workspace.git.worktree
    relative_path = (
        None if root is None else to_repository_path(root.resolve(), (folder, folder.resolve()), Path(path))
    )
    return list(dict.fromkeys([path, relative_path] if relative_path is not None else [path]))


def print_moved_notice(moved_to: Mapping[str, str | None] | None) -> None:
    """Print the new location of a moved target on standard error."""
    from workspace.escapes import escape_invisible

    if moved_to is not None:
        path, slug = moved_to["file"], moved_to["slug"]
        click.echo(
            f"The address has moved to {escape_invisible(f'{path}#{slug}' if slug else str(path))}.", err=True
        )


def _split_address(address: str, snapshot: Snapshot) -> tuple[str, str | None]:
    """Return the path and the section; for a task, the section that contains the task."""
    from workspace.document.addresses import read_fragment, split_address
    from workspace.texts.text_file import LazyFilePaths

    path, fragment = split_address(address, LazyFilePaths(snapshot))
    if not fragment:
        return path, None
    return path, read_fragment(fragment).section or fragment
