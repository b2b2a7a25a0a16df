"""`docyard demo`: an agent's whole path through a real server, in a repository made for it."""

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

# A signature needs a person; the demonstration has none.
_SETTINGS = 'signing = "off"\n\n[corpus]\ndescription = "specifications of a search service"\n'


@click.command(name="demo", short_help="See an agent at work in a repository made for it.")
@click.option(
    "--keep",
    metavar="PATH",
    type=click.Path(path_type=Path, file_okay=False),
    help="Make the repository in this folder, new or empty. [default: a temporary folder]",
)
def command(keep: Path | None) -> int:
    """See an agent write, search and read a specification in a repository made for it.

    The real server runs as a child process and is driven by the client of the MCP SDK, as any host would
    do it. In between a person makes a commit. The folder is left for you to look at.

    Exits with 1 if an answer was not as expected.

    \b
    Example:
        docyard demo --keep ~/docyard-demo
    """
    import anyio

    from docyard.demo.story import Screen

    folder = _empty_folder(keep)
    init.create_repository(folder, "main")
    init.commit_settings(folder, None, _SETTINGS)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        good = anyio.run(_play, folder, Screen(), log)
        if not good:
            log.seek(0)
            click.echo(log.read(), err=True, nl=False)
            print_error("an answer was not as expected", f"Look at it above, and at what is in {folder}.")
    return Exit.DONE if good else Exit.PROBLEMS


def _empty_folder(keep: Path | None) -> Path:
    if keep is None:
        return Path(tempfile.mkdtemp(prefix="docyard-demo-"))
    folder = find_folder(keep)
    if folder.exists() and any(folder.iterdir()):
        raise CannotError("the folder for the demonstration is not empty", fix="Name a new folder.")
    return folder


async def _play(folder: Path, screen: Screen, log: TextIO) -> bool:
    """Run the story up to the first unexpected answer; return True if there was none."""
    from docyard.demo import story
    from docyard.demo.story import DOCUMENT, PERSONS_SECTION, STORY, PersonCommits
    from docyard.mcp_server.client import connect

    # Settings that were meant for another repository, or another run, stay out of this one.
    variables = {
        name: value
        for name, value in environment.copy_variables().items()
        if not name.startswith(("DOCYARD_", "GIT_"))
    }
    server = environment.build_own_command("serve", "-C", str(folder), "--toolsets", _TOOLSETS)
    name = "docyard-demo"
    async with connect(server, name=name, version=__version__, variables=variables, log=log) as connection:
        screen.title(f"{connection.server} over stdio, protocol {connection.protocol}")
        screen.note("Tools: " + ", ".join(await connection.tools()))
        for step in STORY:
            screen.purpose(step.purpose)
            if isinstance(step, PersonCommits):
                screen.note(story.commit_as_person(folder, DOCUMENT, PERSONS_SECTION, variables))
            elif not await _take(step, connection, screen):
                return False
    screen.title("git log --stat")
    screen.plain(story.read_history(folder, variables))
    screen.title("All as expected")
    page = shlex.join(environment.build_own_command("serve", "--http", "127.0.0.1:0"))
    screen.plain(
        f"The repository is left for you. Look around:\n    cd {shlex.quote(str(folder))}\n    git log -p\n"
        f"On a page, whose address is printed:\n    {page}"
    )
    return True


async def _take(step: Step, connection: ServerConnection, screen: Screen) -> bool:
    screen.call(step.tool, step.arguments)
    reply = await connection.call(step.tool, step.arguments)
    screen.answer(reply.data, reply.text)
    try:
        good = reply.is_error == step.fails and step.expected(reply.data, reply.text)
    except (LookupError, TypeError):
        good = False
    screen.verdict(good)
    return good
