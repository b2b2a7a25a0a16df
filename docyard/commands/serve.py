"""`docyard serve`: a server of a repository or an artifact, over stdio, or over HTTP with web pages."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from docyard import __version__, environment
from docyard.cli import completion
from docyard.commands import options
from docyard.environment import is_terminal
from docyard.open_workspace import add_path_to_errors, find_folder, open_workspace
from docyard.terminal.exits import Exit, print_error, suggest_fix
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.http.configured_repository import ConfiguredRepository
    from docyard.http.settings import HttpSettings
    from docyard.service import Service
    from docyard.settings.file import ServerSettings
    from index.postgres.options import EngineOptions
    from index.vectors.options import EmbeddingOptions
    from workspace.workspace import Workspace


_HTTP_OPTIONS = {
    "allow_hosts": "--allow-host",
    "workers": "--workers",
    "token_file": "--token-file",
    "no_token": "--no-token",
    "mermaid": "--mermaid",
    "math": "--math",
}

_REPOSITORY_OPTIONS = {
    "repo": "-C",
    "branch": "--branch",
    "no_fsync": "--no-fsync",
    "no_sync": "--no-sync",
    "page_url": "--page-url",
}


@click.command(name="serve")
@options.repository
@options.branch
@click.option(
    "--read-only",
    is_flag=True,
    envvar=environment.READ_ONLY,
    show_envvar=True,
    help="Offer only tools that never write, regardless of other options.",
)
@click.option(
    "--toolsets",
    metavar="A,B",
    shell_complete=completion.complete_toolsets,
    envvar=environment.TOOLSETS,
    show_envvar=True,
    help="The tools to offer. [default: documents,tasks,search, and proposals if docyard.toml protects "
    "documents; with --read-only: the tools that search and view]",
)
@click.option(
    "--text-tokens",
    metavar="N",
    type=click.IntRange(200, 1_000_000),
    envvar=environment.TEXT_TOKENS,
    show_envvar=True,
    help="Truncate the texts in an answer to N tokens. [default: limits.text_tokens of docyard.toml, 25000]",
)
@click.option(
    "--no-fsync",
    is_flag=True,
    help="Do not flush commits to the disk: faster, but a power loss may undo the last commits.",
)
@click.option(
    "--no-sync",
    is_flag=True,
    help="Do not synchronise with the remote, even if docyard.toml enables it.",
)
@click.option(
    "--index",
    "artifact",
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="Serve an artifact that `docyard build --out OUT` built, without a repository. Needs --read-only.",
)
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The key that OUT was built with. Without it, the first start builds an index of its documents.",
)
@click.option(
    "--sources",
    "sources_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Serve the documentation sources that a TOML file names, read-only, with the tools for retrieval.",
)
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    envvar=environment.CONFIG,
    show_envvar=True,
    help="The configuration of a server. Without -C, --index and --sources, serve the organizations of its "
    "database over HTTP, read-only. With -C and --http, use the identity provider of the file.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Check the file of --sources, fetch and open each source, then exit: 0 if all can be served.",
)
@options.embedding
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Serve web pages, and MCP at /mcp, over HTTP. Port 0 selects a free port. [default: MCP over "
    "standard input and output]",
)
@click.option(
    "--page-url",
    metavar="URL",
    envvar=environment.PAGE_URL,
    show_envvar=True,
    help="The URL of the web pages for people, such as https://docs.example.org. If a merge lacks an "
    "approval, hosts that can open URLs ask the user to open the page of the proposal. [default: with "
    "--http, the printed address, unless --allow-host is given]",
)
@click.option(
    "--allow-host",
    "allow_hosts",
    metavar="NAME[:PORT]",
    multiple=True,
    help="Another host name of the server, such as a proxy's. Can be repeated.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A file of mode 600 with the token that clients must send. [default: a new token for each start]",
)
@click.option(
    "--no-token",
    is_flag=True,
    help="Accept requests without a token. Needs a loopback address, or --read-only.",
)
@click.option(
    "--workers",
    metavar="N",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    envvar=environment.WORKERS,
    show_envvar=True,
    help="Serve with N processes. Needs --sources, or --index with --no-token.",
)
@click.option(
    "--mermaid",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Draw diagrams on web pages with this copy of mermaid.min.js. [default: diagrams are text]",
)
@click.option("--math", is_flag=True, help="Render formulas on web pages. [default: formulas are text]")
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
    sources_file: Path | None,
    config_file: Path | None,
    check: bool,
    http: str | None,
    page_url: str | None,
    allow_hosts: tuple[str, ...],
    token_file: Path | None,
    no_token: bool,
    workers: int,
    mermaid: Path | None,
    math: bool,
) -> int:
    """Serve a repository to an MCP host over standard input and output, or over HTTP.

    An MCP host starts this command; `docyard init --hosts` prints the configuration of hosts. Standard output
    contains only the protocol; the log is written to standard error.

    With --http the server offers web pages for reading, review and merging, and MCP at /mcp. It then prints
    the URL to open, which contains the token of this start.

    \b
    Example:
        docyard serve -C ~/specs --branch main --toolsets documents,search
        docyard serve --index site-index --read-only --key ~/site.key
        docyard serve -C ~/specs --http 127.0.0.1:8000
        docyard serve --sources sources.toml
        docyard serve --config server.toml
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="docyard %(levelname)s %(name)s: %(message)s"
    )
    logging.getLogger("docyard.progress").setLevel(logging.INFO)
    _check_usage(context)
    from tools.toolsets import UnknownToolset, parse_toolsets

    try:
        selected_toolsets = parse_toolsets(toolsets, serves_sources=sources_file is not None)
    except UnknownToolset as error:
        raise click.BadParameter(f"{error.message}. {error.fix}", param_hint="--toolsets") from error
    if check and sources_file is not None:
        return _check_sources(find_folder(sources_file))
    if config_file is not None and repo is None and artifact is None and sources_file is None:
        return _serve_organizations(find_folder(config_file), selected_toolsets)
    page_url = _read_page_url(page_url)
    settings = _read_http_settings(context, page_url)
    server_settings = None
    if config_file is not None and settings is not None:
        settings, server_settings = _read_server_settings(find_folder(config_file), settings)
        if no_sync and not read_only and server_settings.engine.node_url is not None:
            raise click.UsageError(
                "--no-sync and engine.node_url exclude each other: a node pushes each write, and fetches "
                "those of others. Omit --no-sync, or add --read-only."
            )
    if settings is not None and workers > 1 and not _is_worker():
        from docyard.http.server import start_workers

        return start_workers(settings, workers, sys.argv[1:])
    build = partial(
        _build_service,
        context.params,
        selected_toolsets,
        options.read_embedding_options(in_background=True),
        server_settings,
    )
    try:
        service, folder = build()
    except WorkspaceError as error:
        if settings is not None or is_terminal(sys.stdin):
            raise
        return _serve_start_error(error, build)
    try:
        if settings is None:
            _serve_stdio(service, page_url if service.may_write else None)
        elif config_file is None or server_settings is None:
            _serve_http(service, settings, mermaid, math=math)
        else:
            from docyard.http.configured_repository import ConfiguredRepository

            configured = ConfiguredRepository(
                server_settings,
                find_folder(config_file).parent,
                folder,
                server_settings.engine.create_options(),
            )
            try:
                _serve_http(service, settings, mermaid, configured, math=math)
            finally:
                configured.close()
    finally:
        service.close()
    return Exit.DONE


def _check_usage(context: click.Context) -> None:
    """Raise click.UsageError if options exclude each other, or one needs another that is not given.

    Environment variables that set these options are not checked.
    """
    given_options = {
        name
        for name in context.params
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    if context.params["http"] is None:
        for name, flag in _HTTP_OPTIONS.items():
            if name in given_options:
                raise click.UsageError(f"{flag} needs --http HOST:PORT")
    is_many = context.params["http"] is not None and context.params["workers"] > 1
    if is_many and context.params["sources_file"] is None:
        if context.params["artifact"] is None:
            raise click.UsageError("--workers needs --sources or --index: one process serves a repository")
        if not context.params["no_token"]:
            raise click.UsageError(
                "--workers with --index needs --no-token: each process has sessions of its own"
            )
    if "config_file" in given_options and (context.params["sources_file"] or context.params["artifact"]):
        raise click.UsageError(
            "--config serves organizations, or a repository (-C): omit --sources and --index"
        )
    if (
        "config_file" in given_options
        and context.params["repo"] is not None
        and context.params["http"] is None
    ):
        raise click.UsageError("--config needs --http HOST:PORT with -C: its settings are those of HTTP")
    if context.params["read_only"] and "page_url" in given_options:
        raise click.UsageError("--read-only and --page-url exclude each other: nothing can be merged")
    if context.params["sources_file"] is not None:
        for name, flag in (*_REPOSITORY_OPTIONS.items(), ("artifact", "--index"), ("key", "--key")):
            if name in given_options:
                raise click.UsageError(f"--sources and {flag} exclude each other: the file names the sources")
        for name in ("mermaid", "math"):
            if name in given_options:
                raise click.UsageError(f"--sources and --{name} exclude each other: there are no pages")
        return
    if "check" in given_options:
        raise click.UsageError("--check needs --sources FILE")
    if context.params["artifact"] is None:
        if "key" in given_options:
            raise click.UsageError("--key belongs to --index: a repository's own index needs no key")
        return
    if not context.params["read_only"]:
        raise click.UsageError("--index needs --read-only: an artifact cannot be written")
    for name, flag in _REPOSITORY_OPTIONS.items():
        if name in given_options:
            raise click.UsageError(f"--index and {flag} exclude each other: an artifact has no repository")


def _is_worker() -> bool:
    """Return True if this process is one of several workers."""
    from docyard.http.supervisor import find_current_worker

    return find_current_worker() is not None


def _is_first_worker() -> bool:
    """Return True if this process serves alone, or is the worker that fetches and builds for all."""
    from docyard.http.supervisor import find_current_worker

    worker = find_current_worker()
    return worker is None or worker.is_first


def _check_sources(file: Path) -> int:
    """Print the mistakes of a file, or fetch its sources and print their states; return the exit code."""
    from docyard.sources.report import describe_sources, format_sources
    from docyard.sources.service import create_sources
    from index.sources.settings import InvalidSourcesFile, format_position

    try:
        sources = create_sources(file, engine=environment.read_engine_options())
    except InvalidSourcesFile as error:
        for mistake in error.mistakes:
            click.echo(f"{format_position(file, mistake)}: {mistake.message}", err=True)
            click.echo(f"  fix: {mistake.fix}", err=True)
        return Exit.PROBLEMS
    try:
        for source in sources:
            if source.settings.url is not None:
                click.echo(f"fetching {source.name}", err=True)
                with suppress(WorkspaceError):  # the state of the source has the reason
                    source.fetch(environment.read_remote_access())
        entries = describe_sources(sources, include_stats=True)
    finally:
        sources.close()
    for line in format_sources(entries):
        click.echo(line)
    can_serve_all = all(entry["available"] and "fetch_error" not in entry for entry in entries)
    return Exit.DONE if can_serve_all else Exit.PROBLEMS


def _serve_organizations(file: Path, toolsets: tuple[str, ...] | None) -> int:
    """Serve the organizations of a server over HTTP until a signal stops the server."""
    from docyard.hosting.service import OrganizationsService
    from docyard.http.configuration import build_log_options
    from docyard.http.organizations_server import (
        build_organizations_http_settings,
        start_organizations_server,
    )
    from docyard.http.server import start_workers
    from docyard.settings.file import read_server_file
    from docyard.telemetry.logs import configure_logs

    settings = read_server_file(file)
    configure_logs(build_log_options(settings.telemetry))
    if settings.http.workers > 1 and not _is_worker():
        http_settings = build_organizations_http_settings(settings)
        with TemporaryDirectory(prefix="docyard-metrics-") as folder:
            environment.set_metrics_folder(Path(folder))
            return start_workers(http_settings, settings.http.workers, sys.argv[1:])
    service = OrganizationsService(settings, file.parent, options.read_embedding_options(in_background=True))
    try:
        start_organizations_server(service, toolsets)
    finally:
        service.close()
    return Exit.DONE


def _build_service(
    parameters: Mapping[str, Any],
    toolsets: tuple[str, ...] | None,
    embedding: EmbeddingOptions,
    settings: ServerSettings | None,
) -> tuple[Service, Path]:
    """Return the service that the options name, and its file or folder. Raises WorkspaceError."""
    from docyard.service import build_artifact_service, build_repository_service

    text_tokens, read_only = parameters["text_tokens"], parameters["read_only"]
    engine = _read_engine_options(settings)
    if parameters["sources_file"] is not None:
        from docyard.sources.service import build_sources_service

        file = find_folder(parameters["sources_file"])
        leads = parameters["http"] is None or _is_first_worker()
        service = build_sources_service(
            file, toolsets, max_text_tokens=text_tokens, embedding=embedding, engine=engine, leads=leads
        )
        return service, file
    if parameters["artifact"] is not None:
        folder, key = find_folder(parameters["artifact"]), parameters["key"]
        key = find_folder(key) if key else None
        with add_path_to_errors(folder):
            service = build_artifact_service(
                folder, key, toolsets, max_text_tokens=text_tokens, embedding=embedding
            )
        return service, folder
    workspace = open_workspace(
        parameters["repo"],
        parameters["branch"],
        read_only=read_only,
        durable=False if parameters["no_fsync"] else None,
        warns=False,
    )
    service = build_repository_service(
        workspace,
        toolsets,
        read_only=read_only,
        syncs=not (read_only or parameters["no_sync"]),
        max_text_tokens=text_tokens,
        embedding=embedding,
        engine=engine,
        node_url=None if read_only or settings is None else settings.engine.node_url,
    )
    return service, _find_repository(workspace)


def _read_engine_options(settings: ServerSettings | None) -> EngineOptions:
    """Return the storage of indexes of a configuration; without one, that of the variables."""
    return environment.read_engine_options() if settings is None else settings.engine.create_options()


def _find_repository(workspace: Workspace) -> Path:
    """Return the folder of the checkout, or the Git folder of a bare repository."""
    git = workspace.git
    return git.common_dir if git.worktree is None else git.worktree


def _read_page_url(text: str | None, name: str = "--page-url") -> str | None:
    """Return the URL of the pages for people, without a slash at the end. Raises click.UsageError."""
    if not text:
        return None
    from docyard.http.settings import parse_page_url

    try:
        return parse_page_url(text)
    except ValueError as error:
        raise click.UsageError(f"{name}: {error}") from None


def _read_http_settings(context: click.Context, page_url: str | None) -> HttpSettings | None:
    """Return the HTTP settings; None if the server uses stdio. Raises click.UsageError, CommandError."""
    parameters = context.params
    if parameters["http"] is None:
        return None
    from docyard.http.settings import InvalidOptions, build_http_settings

    file = parameters["token_file"]
    try:
        return build_http_settings(
            parameters["http"],
            parameters["allow_hosts"],
            None if file is None else find_folder(file),
            no_token=parameters["no_token"],
            read_only=parameters["read_only"],
            page_url=page_url,
        )
    except InvalidOptions as error:
        raise click.UsageError(str(error)) from None


def _read_server_settings(file: Path, settings: HttpSettings) -> tuple[HttpSettings, ServerSettings]:
    """Return the settings in a file, and the HTTP settings with the URL in it, if no other is given.

    Raises InvalidServerFile, click.UsageError, IncompleteIdentity, InvalidHttpSection.
    """
    from docyard.http.configuration import build_log_options, check_notify_section
    from docyard.identity.identity import check_identity
    from docyard.settings.file import read_server_file
    from docyard.telemetry.logs import configure_logs

    server_settings = read_server_file(file)
    section, http = server_settings.identity, server_settings.http
    if section.issuer is not None and settings.token is None:
        raise click.UsageError(
            "--no-token and identity.issuer exclude each other: everyone would be accepted"
        )
    settings = settings._replace(page_url=settings.page_url or _read_page_url(http.page_url, "http.page_url"))
    # Only the presence of a URL is checked here, so its port may still be 0.
    check_identity(section, settings.build_page_url(settings.address.port))
    check_notify_section(server_settings.notify, settings.build_page_url(settings.address.port))
    configure_logs(build_log_options(server_settings.telemetry))
    return settings, server_settings


def _serve_http(
    service: Service,
    settings: HttpSettings,
    mermaid: Path | None,
    configured: ConfiguredRepository | None = None,
    *,
    math: bool,
) -> None:
    from docyard.http.server import start_server

    start_server(
        service,
        settings,
        mermaid=None if mermaid is None else find_folder(mermaid),
        math=math,
        configured=configured,
    )


def _serve_start_error(error: WorkspaceError, build: Callable[[], tuple[Service, Path]]) -> int:
    """Report an error on standard error, and to an MCP host in each answer until the host closes its end."""
    from docyard.mcp_server.start_error import run_start_error

    def find_error() -> WorkspaceError | None:
        try:
            service, _ = build()
        except WorkspaceError as present_error:
            return present_error
        service.close()
        return None

    print_error(error.message, suggest_fix(error))
    run_start_error(error, find_error, version=__version__)
    return Exit.CANNOT_RUN


def _serve_stdio(service: Service, page_url: str | None) -> None:
    from docyard.mcp_server.server import run_stdio
    from docyard.web.urls import make_review_url_builder

    if is_terminal(sys.stdin):
        click.echo(
            "docyard: waiting for an MCP host on standard input (Ctrl-D stops the server; "
            "`docyard init --hosts` prints how to connect a host)",
            err=True,
        )
    run_stdio(
        service.dispatcher,
        version=__version__,
        warm=service.warm,
        build_review_url=make_review_url_builder(page_url),
        observer=service.observer,
    )
