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
from docyard.terminal.exits import CannotError, Exit, print_error

if TYPE_CHECKING:
    from docyard.demo.story import Screen, Step
    from docyard.mcp_server.client import ServerConnection

_TOOLSETS = "documents,tasks,search,history,proposals"

# The demonstration has no person who could sign commits.
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

    The real server runs as a child process, and the client of the MCP SDK calls it as any host does. In
    between a person makes a commit. The folder is not deleted afterwards.

    Exits with 1 if an answer was not as expected.

    \b
    Example:
        docyard demo --keep ~/docyard-demo
    """
    import anyio

    from docyard.demo.story import Screen

    folder = _prepare_folder(keep)
    init.create_repository(folder, "main")
    init.commit_settings(folder, None, _SETTINGS)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        passed = anyio.run(_run_story, folder, Screen(), log)
        if not passed:
            log.seek(0)
            click.echo(log.read(), err=True, nl=False)
            print_error(
                "an answer was not as expected", f"Read the answer above, and the repository {folder}."
            )
    return Exit.DONE if passed else Exit.PROBLEMS


def _prepare_folder(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="docyard-demo-"))
    folder = find_folder(keep)
    if folder.exists() and any(folder.iterdir()):
        raise CannotError(f"the folder {folder} is not empty", fix="Name a new folder.")
    return folder


async def _run_story(folder: Path, screen: Screen, log: TextIO) -> bool:
    """Run the story up to the first unexpected answer; return True if there was none."""
    from docyard.demo import story
    from docyard.demo.story import DOCUMENT, PERSONS_SECTION, STORY, PersonCommits
    from docyard.mcp_server.client import connect

    # Variables for another repository or another run must not affect this one.
    variables = {
        name: value
        for name, value in environment.copy_variables().items()
        if not name.startswith(("DOCYARD_", "GIT_"))
    }
    server = environment.build_own_command("serve", "-C", str(folder), "--toolsets", _TOOLSETS)
    name = "docyard-demo"
    async with connect(server, name=name, version=__version__, variables=variables, log=log) as connection:
        screen.title(f"{connection.server} over stdio, protocol {connection.protocol}")
        screen.note("Tools: " + ", ".join(await connection.list_tools()))
        for step in STORY:
            screen.purpose(step.purpose)
            if isinstance(step, PersonCommits):
                screen.note(story.commit_as_person(folder, DOCUMENT, PERSONS_SECTION, variables))
            elif not await _run_step(step, connection, screen):
                return False
    screen.title("git log --stat")
    screen.plain(story.read_history(folder, variables))
    screen.title("All answers were as expected")
    page = shlex.join(environment.build_own_command("serve", "--http", "127.0.0.1:0"))
    screen.plain(
        f"The repository is still there. To look at it:\n    cd {shlex.quote(str(folder))}\n    git log -p\n"
        f"To see it in a browser, at the printed address:\n    {page}"
    )
    return True


async def _run_step(step: Step, connection: ServerConnection, screen: Screen) -> bool:
    screen.call(step.tool, step.arguments)
    reply = await connection.call(step.tool, step.arguments)
    screen.answer(reply.data, reply.text)
    try:
        passed = reply.is_error == step.fails and step.expected(reply.data, reply.text)
    except (LookupError, TypeError):
        passed = False
    screen.verdict(passed)
    return passed
