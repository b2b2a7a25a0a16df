"""Options that several commands share, and the function that opens the index that they select."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from docyard import environment
from docyard.cli import completion
from docyard.open_workspace import find_folder, open_workspace

if TYPE_CHECKING:
    from index.service import SearchIndex

F = TypeVar("F", bound=Callable[..., Any])


class _SinglePath(click.Path):
    """A path from an option or a variable; a colon does not separate several paths in the variable."""

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        """Return the variable's value as the only path."""
        return (rv,)


def _reject_repeated(
    context: click.Context, parameter: click.Parameter, values: Sequence[Path]
) -> Path | None:
    """Return the value of an option. Raises UsageError if the option is repeated, which is ambiguous."""
    if len(values) > 1:
        raise click.UsageError(
            f"{' / '.join(parameter.opts)} is given {len(values)} times, but a command reads one repository"
        )
    return values[0] if values else None


def repository(command: F) -> F:
    """Add `-C PATH`, also `--repo PATH`: the parameter `repo`, None for the current folder."""
    return click.option(
        "-C",
        "--repo",
        "repo",
        metavar="PATH",
        type=_SinglePath(path_type=Path),
        multiple=True,
        callback=_reject_repeated,
        envvar=environment.REPOSITORY,
        show_envvar=True,
        help="The repository, or a folder in it. [default: the current folder]",
    )(command)


def branch(command: F) -> F:
    """Add `--branch NAME`: the parameter `branch`, None for the branch that is checked out."""
    return click.option(
        "--branch",
        metavar="NAME",
        shell_complete=completion.complete_branches,
        envvar=environment.BRANCH,
        show_envvar=True,
        help="The branch to read and write. [default: the branch that is checked out]",
    )(command)


def ref(purpose: str) -> Callable[[F], F]:
    """Return a decorator that adds `--ref REF`: the parameter `ref`, None for the branch's tip.

    `purpose` is the help text.
    """
    return click.option("--ref", metavar="REF", shell_complete=completion.complete_refs, help=purpose)


def as_json(command: F) -> F:
    """Add `--json`: the parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print data as JSON.")(command)


def artifact(command: F) -> F:
    """Add `--index OUT` and `--key FILE`: the parameters `artifact` and `key`, None for a repository."""
    command = click.option(
        "--key", metavar="FILE", type=click.Path(path_type=Path), help="The key that OUT was built with."
    )(command)
    return click.option(
        "--index",
        "artifact",
        metavar="OUT",
        type=click.Path(path_type=Path),
        help="Search an artifact that `docyard build --out OUT` built, without a repository.",
    )(command)


def open_index(repo: Path | None, branch: str | None, artifact: Path | None, key: Path | None) -> SearchIndex:
    """Open the index of the artifact; if `artifact` is None, the index of the repository.

    Raises UsageError if the options exclude each other, and WorkspaceError if opening fails.
    """
    from index.service import SearchIndex

    if artifact is None:
        if key is not None:
            raise click.UsageError("--key belongs to --index: a repository's own index needs no key")
        return SearchIndex(open_workspace(repo, branch))
    context = click.get_current_context()
    for name, flag in (("repo", "-C"), ("branch", "--branch")):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--index and {flag} exclude each other: an artifact has no repository")
    from index.artifacts.artifact import open_artifact
    from index.artifacts.search_index import ArtifactSearchIndex
    from index.storage.keys import read_key_file

    loaded_artifact = open_artifact(find_folder(artifact), read_key_file(find_folder(key)) if key else None)
    problem = loaded_artifact.problem
    if problem is not None:
        click.echo(f"warning: metadata.json is invalid at {problem.field}: {problem.reason}", err=True)
    return ArtifactSearchIndex(loaded_artifact)
