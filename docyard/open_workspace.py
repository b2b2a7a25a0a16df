"""Functions that open the workspace that the options of a command name."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard import environment
from docyard.terminal.exits import CommandError
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.workspace import Workspace


def find_folder(repo: Path | None) -> Path:
    """Return the folder that `-C` names, as an absolute path; without `-C`, the current directory.

    Raises CommandError if the path names an unknown user or is too long, and CurrentDirectoryMissing.
    """
    if repo is None:
        return environment.get_current_directory()
    try:
        folder = repo.expanduser()
        if not folder.is_absolute():
            folder = environment.get_current_directory() / folder
        folder.lstat()
    except RuntimeError as error:  # `~name` names an unknown user
        raise CommandError(
            f"the path {repo} names the home folder of an unknown user", fix="Write the full path."
        ) from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise CommandError(
                f"the path is too long for this system ({len(str(folder)):,} characters)",
                fix="Name an existing folder.",
            ) from error
    return folder


def select_repository(
    context: click.Context, parameter: click.Parameter, values: Sequence[Path]
) -> Path | None:
    """Return the path of `-C`, before or after the name of the command; None without one.

    A path before the name replaces that of the variable. Raises UsageError if the option is repeated.
    """
    from click.core import ParameterSource

    assert parameter.name is not None
    path_before_name = context.find_root().params.get(parameter.name)
    if path_before_name is not None:
        if context.get_parameter_source(parameter.name) is not ParameterSource.COMMANDLINE:
            values = ()
        values = (path_before_name, *values)
        context.set_parameter_source(parameter.name, ParameterSource.COMMANDLINE)
    if len(values) > 1:
        raise click.UsageError(
            f"{' / '.join(parameter.opts)} is given {len(values)} times, but a command reads one repository"
        )
    return values[0] if values else None


_FOLDER_ERRORS = (
    "NOT_A_REPOSITORY",
    "UNSUPPORTED_REPO",
    "NOT_AN_ARTIFACT",
    "OUT_OCCUPIED",
    "EXPORT_OCCUPIED",
)
"""The codes of errors about a folder whose messages name no path, because clients of servers read them."""


@contextmanager
def add_path_to_errors(path: Path) -> Iterator[None]:
    """Add the path of a folder to the error if it cannot be opened, or must not be written to."""
    try:
        yield
    except WorkspaceError as error:
        if error.code in _FOLDER_ERRORS:
            error.message = f"{error.message} ({path})"
        raise


def open_workspace(
    repo: Path | None,
    branch: str | None = None,
    *,
    read_only: bool = True,
    durable: bool | None = None,
    checks_settings: bool = True,
    warns: bool = True,
) -> Workspace:
    """Open the workspace that the options name. Raises WorkspaceError with the reason if it cannot be opened.

    If `durable` is False, commits are not synced to disk; else the setting `fsync` applies. If
    `checks_settings`, invalid settings of the branch raise InvalidConfig: some commands would otherwise act
    as if there were no rules. If `warns`, a warning on standard error reports settings in the work tree that
    are not committed, once for a command.
    """
    from workspace.workspace import Workspace

    options = {} if durable is None else {"durable": durable}
    folder = find_folder(repo)
    with add_path_to_errors(folder):
        workspace = Workspace.open(folder, branch=branch, read_only=read_only, **options)
    if environment.read_engine_urls()[0] is not None:
        from index.postgres.shared_tokens import share_tokens

        share_tokens(workspace, environment.read_engine_options())
    if warns:
        _warn_of_uncommitted_settings(workspace)
    if checks_settings:
        workspace.check_settings()
    return workspace


def _warn_of_uncommitted_settings(workspace: Workspace) -> None:
    context = click.get_current_context(silent=True)
    meta = {} if context is None else context.meta
    if __name__ not in meta and (warning := workspace.describe_uncommitted_settings()) is not None:
        meta[__name__] = True
        click.echo(f"warning: {warning}", err=True)
