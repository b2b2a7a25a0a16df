"""`docyard serve`: the MCP server over standard input and output, of a repository or of an artifact."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docyard import __version__, completing, environment
from docyard.commands import options
from docyard.environment import is_terminal
from docyard.exits import Exit
from docyard.startup import ImportsKept
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.artifacts.frozen import FrozenIndex
    from tools.registry import Toolbox
    from workspace.workspace import Workspace

    Progress = Callable[[int, int, str], None]

log = logging.getLogger("docyard")

_INTERVAL = 1.0  # seconds between two lines of progress


@click.command(name="serve", short_help="Serve a repository to an MCP host over stdio.")
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
    shell_complete=completing.toolsets,
    envvar=environment.TOOLSETS,
    show_envvar=True,
    help="Which tools to offer. [default: documents,tasks,search; with --read-only: to search and view]",
)
@click.option(
    "--no-fsync",
    is_flag=True,
    help="Do not wait for the disk after a commit: faster, and a power loss may undo the last ones.",
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
@click.pass_context
def command(
    context: click.Context,
    repo: Path | None,
    branch: str | None,
    read_only: bool,
    toolsets: str | None,
    no_fsync: bool,
    artifact: Path | None,
    key: Path | None,
) -> int:
    """Serve a repository to an MCP host over standard input and output.

    A host starts this command; `docyard init --hosts` prints what to put into its configuration. Only the
    protocol goes to standard output; what happens is logged to standard error.

    \b
    Example:
        docyard serve -C ~/specs --branch main --toolsets documents,search
        docyard serve --index site-index --read-only --key ~/site.key
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="docyard %(levelname)s %(name)s: %(message)s"
    )
    _check_usage(context)
    with ImportsKept():
        from tools.registry import ToolsetUnknown, choose_toolsets

        try:
            chosen = choose_toolsets(toolsets, read_only=read_only)
        except ToolsetUnknown as error:
            raise click.BadParameter(f"{error.message}. {error.fix}", param_hint="--toolsets") from error
    if artifact is not None:
        return _serve_artifact(options.folder(artifact), options.folder(key) if key else None, chosen)
    with ImportsKept():
        durable = False if no_fsync else None
        workspace = options.open_workspace(repo, branch, read_only=read_only, durable=durable)
    return _serve_repository(workspace, chosen, read_only)


def _check_usage(context: click.Context) -> None:
    """Raises click.UsageError for options that exclude each other. The environment's may stay unused."""
    given = {
        name
        for name in context.params
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }
    if context.params["artifact"] is None:
        if "key" in given:
            raise click.UsageError("--key belongs to --index: a repository's own index needs no key")
        return
    if not context.params["read_only"]:
        raise click.UsageError("--index needs --read-only: nothing can be written to an artifact")
    for name, flag in (("repo", "-C"), ("branch", "--branch"), ("no_fsync", "--no-fsync")):
        if name in given:
            raise click.UsageError(f"--index and {flag} exclude each other: an artifact has no repository")


def _serve_repository(workspace: Workspace, toolsets: tuple[str, ...] | None, read_only: bool) -> int:
    with ImportsKept():
        from index.service import SearchIndex
        from tools.registry import Toolbox

        _check_settings(workspace)
        index = SearchIndex(workspace)
        workspace.inbound = index
        toolbox = Toolbox(workspace, index, toolsets, read_only)

    def load() -> None:
        # What cannot be opened is mended as the branch is followed, or the reason is given there.
        with suppress(WorkspaceError), ImportsKept():
            index.warm()

    def warm(progress: Progress) -> None:
        load()
        try:
            workspace.recover()
        except WorkspaceError as error:  # each write recovers first, and is told
            log.warning("what a crash left is not mended yet: %s", error.message)
        index.follow(progress)
        index.links.begin(workspace.snapshot())

    return _run(toolbox, not read_only, load, warm, index.close)


def _serve_artifact(folder: Path, key: Path | None, toolsets: tuple[str, ...] | None) -> int:
    """Serve an artifact, and whatever takes its place. Raises WorkspaceError if it is refused."""
    with ImportsKept():
        from index.artifacts.key_file import read_key
        from index.artifacts.swapping import Artifacts
        from tools.registry import Toolbox

        artifacts = Artifacts(folder, read_key(key) if key else None, _refused, _logged())
        toolbox = Toolbox.following(artifacts.current, artifacts.latest, toolsets)
    index = artifacts.latest()
    _check_settings(index.workspace)
    if index.metadata().embedding is not None:
        log.warning("the artifact names an embedding; docyard searches it by its words")
    if not index.artifact.trusted:
        reason = _distrust(index, key)
        log.warning("the artifact's own index is not used (%s); one is built from its documents", reason)

    def load() -> None:
        with suppress(WorkspaceError), ImportsKept():  # whoever asks will be told
            artifacts.current()

    def warm(progress: Progress) -> None:
        load()
        artifacts.current().follow(progress)

    return _run(toolbox, False, load, warm, artifacts.close)


def _distrust(index: FrozenIndex, key: Path | None) -> str:
    from index.location import SCHEMA

    if key is None:
        return "no --key was given"
    if index.artifact.manifest.schema != SCHEMA:
        return "another version of docyard made it"
    return "it does not carry the seal of this key"


def _check_settings(workspace: Workspace) -> None:
    """Raises InvalidConfig for settings that no call could be answered with."""
    from workspace.config import InvalidConfig

    try:
        workspace.snapshot().config  # noqa: B018
    except InvalidConfig:
        raise
    except WorkspaceError:  # what is damaged is told to who reads it
        return


def _logged() -> Progress:
    """What tells the log how far work is that takes its time."""
    last = time.monotonic()

    def report(done: int, total: int, message: str) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= _INTERVAL:
            last = now
            log.warning("%s: %s of %s", message, f"{done:,}", f"{total:,}")

    return report


def _refused(error: WorkspaceError) -> None:
    log.warning("the artifact that took its place is not served: %s. %s", error.message, error.fix)


def _run(
    toolbox: Toolbox,
    writes: bool,
    load: Callable[[], object],
    warm: Callable[[Any], object],
    close: Callable[[], object],
) -> int:
    with ImportsKept():
        from docyard.protocol.server import run_stdio
    if is_terminal(sys.stdin):
        click.echo(
            "docyard: waiting for an MCP host on standard input (Ctrl-D ends it; `docyard init --hosts` "
            "prints how to connect one)",
            err=True,
        )
    try:
        run_stdio(toolbox, version=__version__, writes=writes, load=load, warm=warm)
    finally:
        close()
    return Exit.DONE
