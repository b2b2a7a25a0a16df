"""Options that several commands share, and functions that read them or open the index that they select."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from docyard import environment
from docyard.cli import completion
from docyard.open_workspace import add_path_to_errors, find_folder, open_workspace, select_repository

if TYPE_CHECKING:
    from index.service import SearchIndex
    from index.vectors.options import EmbeddingOptions

F = TypeVar("F", bound=Callable[..., Any])


class _SinglePath(click.Path):
    """A path from an option or a variable; a colon does not separate several paths in the variable."""

    def split_envvar_value(self, rv: str) -> Sequence[str]:
        """Return the variable's value as the only path."""
        return (rv,)


def repository(command: F) -> F:
    """Add `-C PATH`, also `--repo PATH`: the parameter `repo`, None for the current folder.

    The same option before the name of the command applies too.
    """
    return click.option(
        "-C",
        "--repo",
        "repo",
        metavar="PATH",
        type=_SinglePath(path_type=Path),
        multiple=True,
        callback=select_repository,
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


def limit(items: str, default: int) -> Callable[[F], F]:
    """Return a decorator that adds `--limit N`: the parameter `limit`, 0 for all.

    `items` is the plural of what is limited.
    """
    return click.option(
        "--limit",
        type=click.IntRange(0),
        default=default,
        show_default=True,
        help=f"The maximum number of {items}; 0 for all.",
    )


def as_json(command: F) -> F:
    """Add `--json`: the parameter `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print data as JSON.")(command)


def pager(command: F) -> F:
    """Add `--pager/--no-pager`, without a parameter: long output on a terminal is printed in a pager.

    The same option before the name of the command applies if the command has none.
    """

    def start(context: click.Context, parameter: click.Parameter, uses_pager: bool | None) -> None:
        if not context.resilient_parsing:
            from docyard.terminal.pager import page_output

            choice = context.find_root().params.get("pager") if uses_pager is None else uses_pager
            context.with_resource(page_output(choice))

    return click.option(
        "--pager/--no-pager",
        default=None,
        expose_value=False,
        callback=start,
        help="Use a pager on a terminal: $DOCYARD_PAGER, $GIT_PAGER, $PAGER or less. [default: if the output "
        "is longer than the terminal]",
    )(command)


def config(command: F) -> F:
    """Add `--config FILE`: the parameter `config`; None reads only variables."""
    return click.option(
        "--config",
        metavar="FILE",
        type=_SinglePath(path_type=Path),
        envvar=environment.CONFIG,
        show_envvar=True,
        callback=lambda context, parameter, path: None if path is None else find_folder(path),
        help="The configuration file of a server. [default: only variables that begin with DOCYARD_SERVER__]",
    )(command)


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


def embedding(command: F) -> F:
    """Add the options of the provider of vectors, which `read_embedding_options` reads."""
    for option in reversed(_EMBEDDING_OPTIONS):
        command = option(command)
    return command


def _store_embedding_option(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Store the value for `read_embedding_options`, so that commands need no parameter for it."""
    context.meta[f"{__name__}.{parameter.name}"] = value


def _make_embedding_option(name: str, variable: str, **attributes: Any) -> Callable[[F], F]:
    """Return a decorator that adds `--embedding-NAME`, whose value is stored in the context."""
    return click.option(
        f"--embedding-{name}",
        envvar=variable,
        show_envvar=True,
        expose_value=False,
        callback=_store_embedding_option,
        **attributes,
    )


_EMBEDDING_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    _make_embedding_option(
        "provider",
        environment.EMBEDDING_PROVIDER,
        metavar="NAME",
        type=click.Choice(("none", "hash", "local", "http")),
        help="Search by meaning, too: local (a model on this machine), http (a server with the interface of "
        "OpenAI), hash (for tests). [default: none]",
    ),
    _make_embedding_option(
        "model",
        environment.EMBEDDING_MODEL,
        metavar="MODEL",
        help="The model: for http its name, for local a folder with model.onnx and tokenizer.json. "
        "[default for local: the model of docyard[local]]",
    ),
    _make_embedding_option(
        "url",
        environment.EMBEDDING_URL,
        metavar="URL",
        help="The server for http, such as https://api.example.com/v1. Its key is read from "
        f"{environment.EMBEDDING_KEY}.",
    ),
    _make_embedding_option(
        "dimensions",
        environment.EMBEDDING_DIMENSIONS,
        metavar="N",
        type=click.IntRange(1, 16_384),
        help="The number of dimensions to ask the server for. [default: the model's own]",
    ),
    _make_embedding_option(
        "timeout",
        environment.EMBEDDING_TIMEOUT,
        metavar="SECONDS",
        type=click.FloatRange(0.01, 60),
        help="The longest time that a question waits for its vector; then words alone decide. [default: 0.25 "
        "for serve, 10 for other commands]",
    ),
)

_COMMAND_QUESTION_TIMEOUT_S = 10.0


def read_embedding_options(*, in_background: bool = False, provider: str | None = None) -> EmbeddingOptions:
    """Return the provider of vectors that the options name. Raises UsageError if they are invalid.

    `provider` replaces the name of the provider. The options for the model, the URL and the dimensions apply
    only to the provider that the options name. A command waits longer for a vector than a server, which
    embeds sections `in_background`.
    """
    from docyard.embedding.errors import InvalidProvider
    from docyard.embedding.provider import ProviderOptions, create_embedder
    from index.vectors.options import EmbeddingOptions

    meta = click.get_current_context().meta
    values = {
        name: meta.get(f"{__name__}.embedding_{name}")
        for name in ("provider", "model", "url", "dimensions", "timeout")
    }
    if provider is not None:
        configured = values["provider"] or ("http" if values["url"] else "local")
        if provider != configured:
            values |= {"url": None, "dimensions": None, "model": None}
        values |= {"provider": provider}
    provider_options = ProviderOptions(
        name=values["provider"] or "none",
        model=values["model"] or None,
        url=values["url"] or None,
        key=environment.read_embedding_key(),
        dimensions=values["dimensions"],
    )
    try:
        embedder = create_embedder(provider_options, environment.get_current_directory())
    except InvalidProvider as error:
        raise click.UsageError(f"{error.message}. {error.fix}") from error
    if embedder is None:
        return EmbeddingOptions()
    from index.vectors.provider import QUESTION_TIMEOUT_S, Provider

    timeout_s = values["timeout"] or (QUESTION_TIMEOUT_S if in_background else _COMMAND_QUESTION_TIMEOUT_S)
    return EmbeddingOptions(Provider(embedder, timeout_s), in_background)


def open_index(
    repo: Path | None,
    branch: str | None,
    artifact: Path | None,
    key: Path | None,
    *,
    provider: str | None = None,
) -> SearchIndex:
    """Open the index of the artifact; if `artifact` is None, the index of the repository.

    `provider` replaces the provider of vectors that the options name.

    Raises UsageError if the options exclude each other, and WorkspaceError if opening fails.
    """
    from index.service import SearchIndex

    if artifact is None:
        if key is not None:
            raise click.UsageError("--key belongs to --index: a repository's own index needs no key")
        return SearchIndex(
            open_workspace(repo, branch),
            embedding=read_embedding_options(provider=provider),
            engine=environment.read_engine_options(),
        )
    context = click.get_current_context()
    for name, flag in (("repo", "-C"), ("branch", "--branch")):
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--index and {flag} exclude each other: an artifact has no repository")
    from index.artifacts.artifact import open_artifact
    from index.artifacts.search_index import ArtifactSearchIndex
    from index.storage.keys import read_key_file

    folder = find_folder(artifact)
    with add_path_to_errors(folder):
        loaded_artifact = open_artifact(folder, read_key_file(find_folder(key)) if key else None)
    problem = loaded_artifact.problem
    if problem is not None:
        click.echo(f"warning: metadata.json is invalid at {problem.field}: {problem.reason}", err=True)
    return ArtifactSearchIndex(loaded_artifact, embedding=read_embedding_options(provider=provider))
