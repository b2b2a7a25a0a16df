"""`docyard demo`: an agent's work on a real server, in a repository created for it."""

from __future__ import annotations

import shlex
import shutil
import sys
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


@click.command(name="demo")
@click.option(
    "--keep",
    metavar="PATH",
    type=click.Path(path_type=Path, file_okay=False),
    help="Create the repository in this folder, new or empty. [default: a temporary folder]",
)
@click.option("--calls", "shows_calls", is_flag=True, help="Show each call with its response.")
def command(keep: Path | None, shows_calls: bool) -> int:
    """Watch an agent write, search and read a specification in a repository created for it.

    The real server runs as a child process, and the client of the MCP SDK calls its tools as any host does. A
    person makes a commit between the calls. The steps are followed by the document and the last commit. The
    folder is not deleted afterwards.

    Exits with 1 if a response was not as expected.

    \b
    Example:
        docyard demo
        docyard demo --calls --keep ~/docyard-demo
    """
    import anyio

    from docyard.demo.steps import Screen

    folder = _prepare_folder(keep)
    init.ensure_repository(folder, "main")
    init.commit_settings(folder, None, _SETTINGS)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        has_passed = anyio.run(_run_steps, folder, Screen(shows_calls), log)
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
    from docyard.demo.steps import COMMIT_COMMAND, DOCUMENT, STEPS, PersonCommit
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
        screen.print_note(
            "Tools: " + ", ".join(await connection.list_tools())
            if screen.shows_calls
            else f"The repository is {folder}."
        )
        for step in STEPS:
            screen.print_purpose(step.purpose)
            if isinstance(step, PersonCommit):
                screen.print_person(step.purpose, steps.commit_as_person(folder, variables))
            elif not await _run_step(step, connection, screen):
                return False
    if screen.shows_calls:
        screen.print_title("git log --stat")
        screen.print_text(steps.read_history(folder, variables))
    screen.print_title(DOCUMENT)
    screen.print_document((folder / DOCUMENT).read_text(encoding="utf-8"))
    screen.print_title(COMMIT_COMMAND)
    screen.print_diff(steps.read_last_commit(folder, variables))
    screen.print_title("All responses were as expected. What to do next")
    docyard = _find_own_command()
    screen.print_text(
        f"Read each commit:             cd {shlex.quote(str(folder))} && git log -p\n"
        f"Read and edit in a browser:   {docyard} serve --http 127.0.0.1:0 -C {shlex.quote(str(folder))}\n"
        f"See each call and response:   {docyard} demo --calls\n"
        f"Use your own documents:       {docyard} init FOLDER\n"
        f"Connect the hosts of a team:  {docyard} init --host claude -C FOLDER"
    )
    return True


def _find_own_command() -> str:
    """Return `docyard` if a shell finds this installation under that name, else its full command."""
    program = shutil.which("docyard")
    if program is not None and Path(program).resolve().parent == Path(sys.executable).parent:
        return "docyard"
    return shlex.join(environment.build_own_command())


async def _run_step(step: Step, connection: ServerConnection, screen: Screen) -> bool:
    if screen.shows_calls:
        screen.print_call(step.tool, step.arguments)
    response = await connection.call(step.tool, step.arguments)
    try:
        is_expected = response.is_error == step.fails and step.is_expected(response.data, response.text)
    except (LookupError, TypeError):
        is_expected = False
    if not screen.shows_calls:
        screen.print_step(step.tool, step.purpose, is_expected)
        if is_expected:
            return True
        screen.print_call(step.tool, step.arguments)
    screen.print_response(response.data, response.text)
    screen.print_verdict(is_expected)
    return is_expected
