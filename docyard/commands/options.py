"""Options that several commands share, and what they open."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from docyard import completing, environment
from docyard.exits import CannotError

if TYPE_CHECKING:
    from workspace.workspace import Workspace

F = TypeVar("F", bound=Callable[..., Any])


def repository(command: F) -> F:
    """`-C PATH`, also `--repo PATH`: the parameter `repo`, None for the current folder."""
    return click.option(
        "-C",
        "--repo",
        "repo",
        metavar="PATH",
        type=click.Path(path_type=Path),
        envvar=environment.REPOSITORY,
        show_envvar=True,
        help="The repository, or a folder in it. [default: the current folder]",
    )(command)


def branch(command: F) -> F:
    """`--branch NAME`: the parameter `branch`, None for the branch that is checked out."""
    return click.option(
        "--branch",
        metavar="NAME",
        shell_complete=completing.branches,
        envvar=environment.BRANCH,
        show_envvar=True,
        help="The branch to read and write. [default: the one checked out]",
    )(command)


def ref(purpose: str) -> Callable[[F], F]:
    """`--ref REF`: the parameter `ref`, None for the branch's tip; `purpose` is what its help says."""
    return click.option("--ref", metavar="REF", shell_complete=completing.refs, help=purpose)


def as_json(command: F) -> F:
    """`--json`: the parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print data as JSON.")(command)


def folder(repo: Path | None) -> Path:
    """The folder that `-C` names, as an absolute path. Raises CannotError for one that cannot be."""
    here = environment.current_directory()
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
    """The workspace that the options name. Raises WorkspaceError with the reason if it cannot be opened.

    `durable` None leaves it to the workspace's own settings.
    """
    from workspace.workspace import Workspace

    if durable is None:
        return Workspace.open(folder(repo), branch=branch, read_only=read_only)
    return Workspace.open(folder(repo), branch=branch, read_only=read_only, durable=durable)
