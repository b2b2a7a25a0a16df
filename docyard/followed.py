"""The document or section whose past a person asks for, by an address of now or of then."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from workspace.snapshot import Snapshot
    from workspace.workspace import Workspace


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
    """What stands at an address that may count from a folder, or where that has moved to.

    A section may be named by its number or heading, too; a task stands for its section. Raises what reading
    and finding raise: DocumentNotFound and SectionNotFound where nothing is there any more.
    """
    from docyard.located import from_root
    from index.service import SearchIndex
    from tools.context import Context
    from tools.reading.opening import open_text

    path, slug = _parts(from_root(address, workspace, snapshot, folder), snapshot)
    context = Context(workspace, SearchIndex(workspace), "docyard")
    opened = open_text(context, snapshot, path, slug)
    entry = opened.entry
    return Followed(opened.text.path, None if entry is None else entry.address, opened.moved_to)


def followed_back(workspace: Workspace, snapshot: Snapshot, address: str, folder: Path) -> list[Followed]:
    """What an address may mean that names nothing now: counted from the root, and from a folder."""
    from docyard.located import relative

    path, slug = _parts(address, snapshot)
    root = workspace.git.worktree
    near = None if root is None else relative(root.resolve(), (folder, folder.resolve()), Path(path))
    paths = dict.fromkeys([path, near] if near is not None else [path])
    return [Followed(path, slug) for path in paths]


def tell_moved(followed: Followed) -> None:
    """Say on standard error where something has moved to, if it has."""
    from tools.answers import visible

    if followed.moved_to is not None:
        now = followed.path if followed.slug is None else f"{followed.path}#{followed.slug}"
        click.echo(f"This has moved to {visible(now)}.", err=True)


def _parts(address: str, snapshot: Snapshot) -> tuple[str, str | None]:
    """The path and the section; a task's address gives the section in which it stands."""
    from workspace.addresses import read_fragment, split_address
    from workspace.texts.files import Files

    path, fragment = split_address(address, Files(snapshot))
    if not fragment:
        return path, None
    return path, read_fragment(fragment).section or fragment
