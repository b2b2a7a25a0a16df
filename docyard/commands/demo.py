"""`docyard demo`: an agent's work on a real server, in a repository created for it."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from docyard import __version__, environment
from docyard.commands import init
from docyard.open_workspace import find_folder
from docyard.terminal.exits import CommandError, Exit, print_error

if TYPE_CHECKING:
    from docyard.demo.steps import Screen, Step
    from docyard.mcp_server.client import ServerConnection

_TOOLSETS = "documents,tasks,search,history,proposals"

# A signature could need a passphrase, which the demonstration cannot enter.
_SETTINGS = 'signing = "off"\n\n[corpus]\ndescription = "specifications of a search service"\n'


@click.command(name="demo", short_help="Watch an agent work in a repository created for it.")
@click.option(
    "--keep",
    metavar="PATH",
    type=click.Path(path_type=Path, file_okay=False),
    help="Create the repository in this folder, new or empty. [default: a temporary folder]",
)
def command(keep: Path | None) -> int:
    """Watch an agent write, search and read a specification in a repository created for it.

    The real server runs as a child process, and the client of the MCP SDK calls its tools as any host does. A
    person makes a commit between the calls. The folder is not deleted afterwards.

    Exits with 1 if a response was not as expected.

    \b
    Example:
        docyard demo --keep ~/docyard-demo
    """
    import anyio

    from docyard.demo.steps import Screen

    folder = _prepare_folder(keep)
    init.ensure_repository(folder, "main")
    init.commit_settings(folder, None, _SETTINGS)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        has_passed = anyio.run(_run_steps, folder, Screen(), log)
        if not has_passed:
            log.seek(0)
            click.echo(log.read(), err=True, nl=False)
            print_error(
                "a response was not as expected", f"Read the response above, and the repository {folder}."
            )
    return Exit.DONE if has_passed else Exit.PROBLEMS


def _prepare_folder(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="docyard-demo-"))
    folder = find_folder(keep)
    if folder.exists() and any(folder.iterdir()):
        raise CommandError(f"the folder {folder} is not empty", fix="Name a new folder.")
    return folder


async def _run_steps(folder: Path, screen: Screen, log: TextIO) -> bool:
    """Run the steps up to the first unexpected response; return True if all responses were as expected."""
    from docyard.demo import steps
    from docyard.demo.steps import DOCUMENT, PERSONS_SECTION, STEPS, PersonCommit
    from docyard.mcp_server.client import connect

    # Git's and Docyard's variables must not affect the demonstration.
    variables = {
        name: value
        for name, value in environment.copy_variables().items()
        if not name.startswith(("DOCYARD_", "GIT_"))
    }
    server = environment.build_own_command("serve", "-C", str(folder), "--toolsets", _TOOLSETS)
    name = "docyard-demo"
    async with connect(server, name=name, version=__version__, variables=variables, log=log) as connection:
        screen.print_title(f"{connection.server} over stdio, protocol {connection.protocol}")
        screen.print_note("Tools: " + ", ".join(await connection.list_tools()))
        for step in STEPS:
            screen.print_purpose(step.purpose)
            if isinstance(step, PersonCommit):
                screen.print_note(steps.commit_as_person(folder, DOCUMENT, PERSONS_SECTION, variables))
            elif not await _run_step(step, connection, screen):
                return False
    screen.print_title("git log --stat")
    screen.print_text(steps.read_history(folder, variables))
    screen.print_title("All responses were as expected")
    serve_command = shlex.join(environment.build_own_command("serve", "--http", "127.0.0.1:0"))
    screen.print_text(
        f"To view the repository:\n    cd {shlex.quote(str(folder))}\n    git log -p\n"
        f"To view it in a browser, at the printed address:\n    {serve_command}"
    )
    return True


async def _run_step(step: Step, connection: ServerConnection, screen: Screen) -> bool:
    screen.print_call(step.tool, step.arguments)
    response = await connection.call(step.tool, step.arguments)
    screen.print_response(response.data, response.text)
    try:
        is_expected = response.is_error == step.fails and step.is_expected(response.data, response.text)
    except (LookupError, TypeError):
        is_expected = False
    screen.print_verdict(is_expected)
    return is_expected
