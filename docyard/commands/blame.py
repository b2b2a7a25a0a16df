"""`docyard blame`: who last changed each line of a document or section."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docyard.cli import completion
from docyard.cli.addresses import print_moved_notice, resolve_address
from docyard.cli.commits import print_hanging
from docyard.commands import options
from docyard.environment import is_terminal
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit
from docyard.wording import shorten_id

if TYPE_CHECKING:
    from workspace.history.blame import BlamedLine
    from workspace.history.log import History

_COLOURS = ("yellow", "cyan", "magenta", "green", "blue", "red")
_AUTHOR = 6  # an author's name takes no more than one column in so many
_LEAST_AUTHOR = 8
_PAGE = 50_000  # characters of lines that are read at once


@click.command(name="blame", short_help="Show who last changed each line of a document or section.")
@click.argument("address", metavar="FILE[#SECTION]", shell_complete=completion.complete_addresses)
@options.ref("The branch, tag, commit or @{date} to read. [default: the branch's tip]")
@options.repository
@options.branch
@options.as_json
def command(address: str, ref: str | None, repo: Path | None, branch: str | None, as_json: bool) -> int:
    """Show who last changed each line of a document or section, and when.

    Lines are followed across renames and moves. A ^ marks lines that may be older than could be looked at.
    Dates are in UTC, and paths may count from the current folder.

    \b
    Example:
        docyard blame guides/setup.md#install
        docyard blame guides/setup.md --ref v1.0 --json
    """
    workspace = open_workspace(repo, branch)
    snapshot = workspace.at(ref)
    history = workspace.history()
    with console.show_progress("Reading the history") as progress:
        followed = resolve_address(workspace, snapshot, address, find_folder(repo))
        lines = history.blame(snapshot, followed.path, followed.slug, progress=progress)
    print_moved_notice(followed.moved_to)
    if as_json:
        console.print_json({**followed.data, **_data(history, lines), "commit": snapshot.commit})
    elif is_terminal(sys.stdout):
        _print_runs(history, lines)
    else:
        _print(history, lines)
    return Exit.DONE


def _data(history: History, lines: Sequence[BlamedLine]) -> dict[str, Any]:
    """Return what the pages of view_history say, in one."""
    from tools.history.descriptions import blame_data

    shown: list[Any] = []
    commits: dict[str, Any] = {}
    rest: str | None = "0"
    while rest is not None:
        page, rest = blame_data(history, lines, int(rest), _PAGE)
        shown += page["lines"]
        commits |= page["commits"]
    return {"lines": shown, "commits": commits}


def _print(history: History, lines: Sequence[BlamedLine]) -> None:
    """Print a line of tab-separated cells for each line."""
    from tools.errors import escape_invisible

    told = {id: history.commit(id) for id in dict.fromkeys(line.commit for line in lines)}
    for line in lines:
        commit = told[line.commit]
        name = escape_invisible(" ".join(commit.author_name.split()))
        print(f"{_id(line)}\t{name}\t{commit.time:%Y-%m-%d}\t{line.line}\t{escape_invisible(_text(line))}")


def _print_runs(history: History, lines: Sequence[BlamedLine]) -> None:
    """Print consecutive lines of one commit in its colour, with its name on the first of them."""
    from rich.text import Text

    from tools.errors import escape_invisible

    screen = console.create_console()
    told = {id: history.commit(id) for id in dict.fromkeys(line.commit for line in lines)}
    colours = {id: _COLOURS[at % len(_COLOURS)] for at, id in enumerate(told)}
    names = {id: Text(escape_invisible(commit.author_name)) for id, commit in told.items()}
    most = max(screen.width // _AUTHOR, _LEAST_AUTHOR)
    width = min(max((name.cell_len for name in names.values()), default=0), most)
    for name in names.values():
        name.truncate(width, overflow="ellipsis", pad=True)
    mark = max((len(_id(line)) for line in lines), default=0)
    digits = len(str(lines[-1].line)) if lines else 0
    before: tuple[str, bool] | None = None
    for line in lines:
        run = (line.commit, line.is_boundary)
        who = f"{_id(line):>{mark}}  {names[line.commit].plain}  {told[line.commit].time:%Y-%m-%d}"
        head = Text(who if run != before else " " * Text(who).cell_len, colours[line.commit])
        number = Text(f"  {line.line:>{digits}}", "dim")
        print_hanging(screen, Text.assemble(head, number), Text(_text(line)))
        before = run


def _id(line: BlamedLine) -> str:
    return f"{'^' if line.is_boundary else ''}{shorten_id(line.commit)}"


def _text(line: BlamedLine) -> str:
    return line.text.decode("utf-8", "replace").rstrip("\r\n")
