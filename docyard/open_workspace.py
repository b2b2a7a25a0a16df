"""The workspace of a command: the folder that its options name, opened."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

from docyard import environment
from docyard.terminal.exits import CannotError

if TYPE_CHECKING:
    from workspace.workspace import Workspace


def find_folder(repo: Path | None) -> Path:
    """Return the folder that `-C` names, as an absolute path. Raises CannotError for one that cannot be."""
    here = environment.get_current_directory()
    if repo is None:
        return here
    try:
        named = here / repo.expanduser()
        named.lstat()
    except RuntimeError as error:  # the home of a user who is not there
        raise CannotError("a path begins with ~ and the name of no user", fix="Write it in full.") from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise CannotError("a path is longer than any can be", fix="Name one that is there.") from error
    return named


def open_workspace(
    repo: Path | None, branch: str | None = None, *, read_only: bool = True, durable: bool | None = None
) -> Workspace:
    """Open the workspace that the options name. Raises WorkspaceError with the reason if it cannot be opened.

    `durable` None leaves it to the workspace's own settings.
    """
    from workspace.workspace import Workspace

    if durable is None:
        return Workspace.open(find_folder(repo), branch=branch, read_only=read_only)
    return Workspace.open(find_folder(repo), branch=branch, read_only=read_only, durable=durable)
