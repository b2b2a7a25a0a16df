"""`docyard serve`: a repository or an artifact, over standard input and output, or over HTTP with pages."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard import __version__, environment
from docyard.cli import completion
from docyard.commands import options
from docyard.environment import is_terminal
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal.exits import Exit

if TYPE_CHECKING:
    from docyard.http.settings import HttpSettings
    from docyard.service import Service


_OF_HTTP = {
    "allow_hosts": "--allow-host",
    "token_file": "--token-file",
    "no_token": "--no-token",
    "mermaid": "--mermaid",
    "math": "--math",
}


@click.command(name="serve", short_help="Serve a repository to an MCP host, or to people as pages.")
@options.repository
@options.branch
@click.option(
    "--read-only",
    is_flag=True,
    envvar=environment.READ_ONLY,
    show_envvar=True,
    help="Offer only tools that never write, whatever else is said.",
)
@click.option(
    "--toolsets",
    metavar="A,B",
    shell_complete=completion.complete_toolsets,
    envvar=environment.TOOLSETS,
    show_envvar=True,
    help="Which tools to offer. [default: documents,tasks,search, and proposals where docyard.toml protects "
    "documents; with --read-only: to search and view]",
)
@click.option(
    "--text-tokens",
    metavar="N",
    type=click.IntRange(200, 1_000_000),
    envvar=environment.TEXT_TOKENS,
    show_envvar=True,
    help="Cut texts of more tokens in an answer. [default: limits.text_tokens of docyard.toml, 25000]",
)
@click.option(
    "--no-fsync",
    is_flag=True,
    help="Do not wait for the disk after a commit: faster, and a power loss may undo the last ones.",
)
@click.option(
    "--no-sync",
    is_flag=True,
    help="Do not speak with the remote, whatever docyard.toml says; `docyard sync` still does.",
)
@click.option(
    "--index",
    "artifact",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="Serve what `docyard build --out OUT` made, without a repository; with --read-only.",
)
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The key that OUT was built with. Without it, its index is built from its documents at the first "
    "start.",
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Serve pages for people, and MCP at /mcp, over HTTP. Port 0 is any that is free. [default: MCP over "
    "standard input and output]",
)
@click.option(
    "--allow-host",
    "allow_hosts",
    metavar="NAME[:PORT]",
    multiple=True,
    help="Another name by which the server is reached, such as a proxy's. Can be repeated.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A file of mode 600 with the token that lets somebody in. [default: another token for each start]",
)
@click.option(
    "--no-token",
    is_flag=True,
    help="Let everybody in: on this machine alone, or with --read-only.",
)
@click.option(
    "--mermaid",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Draw diagrams on pages with this script, a mermaid.min.js of your own. [default: shown as text]",
)
@click.option("--math", is_flag=True, help="Set formulas on pages. [default: shown as text]")
@click.pass_context
def command(
    context: click.Context,
    repo: Path | None,
    branch: str | None,
    read_only: bool,
    toolsets: str | None,
    text_tokens: int | None,
    no_fsync: bool,
    no_sync: bool,
    artifact: Path | None,
    key: Path | None,
    http: str | None,
    allow_hosts: tuple[str, ...],
    token_file: Path | None,
    no_token: bool,
    mermaid: Path | None,
    math: bool,
) -> int:
    """Serve a repository to an MCP host over standard input and output, or over HTTP.

    A host starts this command; `docyard init --hosts` prints what to put into its configuration. Only the
    protocol goes to standard output; what happens is logged to standard error.

    With --http it serves pages on which people read, review and merge, and MCP at /mcp. The address to open
    is printed as soon as it listens; it carries the token of this start.

    \b
    Example:
        docyard serve -C ~/specs --branch main --toolsets documents,search
        docyard serve --index site-index --read-only --key ~/site.key
        docyard serve -C ~/specs --http 127.0.0.1:8000
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="docyard %(levelname)s %(name)s: %(message)s"
    )
    _check_usage(context)
    from tools.toolsets import ToolsetUnknown, choose_toolsets

    try:
        chosen = choose_toolsets(toolsets, read_only=read_only)
    except ToolsetUnknown as error:
        raise click.BadParameter(f"{error.message}. {error.fix}", param_hint="--toolsets") from error
    settings = _http_settings(context)
    from docyard.service import build_artifact_service, build_repository_service

    if artifact is not None:
        key = find_folder(key) if key else None
        served = build_artifact_service(find_folder(artifact), key, chosen, text_tokens=text_tokens)
    else:
        durable = False if no_fsync else None
        workspace = open_workspace(repo, branch, read_only=read_only, durable=durable)
        syncs = not (read_only or no_sync)
        served = build_repository_service(
            workspace, chosen, read_only=read_only, syncs=syncs, text_tokens=text_tokens
        )
    try:
        if settings is None:
            _over_stdio(served)
        else:
            _over_http(served, settings, mermaid, math=math)
    finally:
        served.close()
    return Exit.DONE


def _check_usage(context: click.Context) -> None:
    """Raise click.UsageError for options that exclude each other. Unused variables are allowed."""
    given = {
        name
        for name in context.params
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    if context.params["http"] is None:
        for name, flag in _OF_HTTP.items():
            if name in given:
                raise click.UsageError(f"{flag} belongs to --http HOST:PORT: a host over stdio needs none")
    if context.params["artifact"] is None:
        if "key" in given:
            raise click.UsageError("--key belongs to --index: a repository's own index needs no key")
        return
    if not context.params["read_only"]:
        raise click.UsageError("--index needs --read-only: nothing can be written to an artifact")
    for name, flag in (
        ("repo", "-C"),
        ("branch", "--branch"),
        ("no_fsync", "--no-fsync"),
        ("no_sync", "--no-sync"),
    ):
        if name in given:
            raise click.UsageError(f"--index and {flag} exclude each other: an artifact has no repository")


def _http_settings(context: click.Context) -> HttpSettings | None:
    """Return the HTTP settings; None over stdio. Raises click.UsageError, CannotError."""
    given = context.params
    if given["http"] is None:
        return None
    from docyard.http.settings import InvalidOptions, build_http_settings

    file = given["token_file"]
    try:
        return build_http_settings(
            given["http"],
            given["allow_hosts"],
            None if file is None else find_folder(file),
            no_token=given["no_token"],
            read_only=given["read_only"],
        )
    except InvalidOptions as error:
        raise click.UsageError(str(error)) from None


def _over_http(served: Service, settings: HttpSettings, mermaid: Path | None, *, math: bool) -> None:
    from docyard.http.server import start_server

    start_server(served, settings, mermaid=None if mermaid is None else find_folder(mermaid), math=math)


def _over_stdio(served: Service) -> None:
    from docyard.mcp_server.server import run_stdio

    if is_terminal(sys.stdin):
        click.echo(
            "docyard: waiting for an MCP host on standard input (Ctrl-D ends it; `docyard init --hosts` "
            "prints how to connect one)",
            err=True,
        )
    run_stdio(served.toolbox, version=__version__, warm=served.warm)
