"""`docyard serve`: the MCP server over standard input and output."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import click

from docyard import __version__, environment
from docyard.commands import options
from docyard.environment import is_terminal
from docyard.exits import Exit
from docyard.startup import ImportsKept
from workspace.errors import WorkspaceError

log = logging.getLogger("docyard")


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
    envvar=environment.TOOLSETS,
    show_envvar=True,
    help="Which tools to offer. [default: documents,tasks,search; with --read-only: to search and view]",
)
@click.option(
    "--no-fsync",
    is_flag=True,
    help="Do not wait for the disk after a commit: faster, and a power loss may undo the last ones.",
)
def command(
    repo: Path | None, branch: str | None, read_only: bool, toolsets: str | None, no_fsync: bool
) -> int:
    """Serve a repository to an MCP host over standard input and output.

    A host starts this command; `docyard init --hosts` prints what to put into its configuration. Only the
    protocol goes to standard output; what happens is logged to standard error.

    \b
    Example:
        docyard serve -C ~/specs --branch main --toolsets documents,search
    """
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="docyard %(levelname)s %(name)s: %(message)s"
    )
    with ImportsKept():
        from docyard.protocol.server import run_stdio
        from index.service import SearchIndex
        from tools.registry import Toolbox, ToolsetUnknown, choose_toolsets

        try:
            chosen = choose_toolsets(toolsets, read_only=read_only)
        except ToolsetUnknown as error:
            raise click.BadParameter(f"{error.message}. {error.fix}", param_hint="--toolsets") from error
        workspace = options.open_workspace(
            repo, branch, read_only=read_only, durable=False if no_fsync else None
        )
        index = SearchIndex(workspace)
        toolbox = Toolbox(workspace, index, chosen, read_only)
    if is_terminal(sys.stdin):
        click.echo(
            "docyard: waiting for an MCP host on standard input (Ctrl-D ends it; `docyard init --hosts` "
            "prints how to connect one)",
            err=True,
        )

    def load() -> None:
        # What cannot be opened is mended as the branch is followed, or the reason is given there.
        with suppress(WorkspaceError), ImportsKept():
            index.warm()

    def warm(progress: Callable[[int, int, str], None]) -> None:
        load()
        try:
            workspace.recover()
        except WorkspaceError as error:  # each write recovers first, and is told
            log.warning("what a crash left is not mended yet: %s", error.message)
        index.follow(progress)

    try:
        run_stdio(toolbox, version=__version__, writes=not read_only, load=load, warm=warm)
    finally:
        index.close()
    return Exit.DONE
