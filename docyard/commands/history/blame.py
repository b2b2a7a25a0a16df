"""`docyard blame`: the last change of each line of a document or section."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docyard.cli import completion
from docyard.cli.addresses import print_moved_notice, resolve_address
from docyard.cli.commits import print_with_hanging_indent
from docyard.commands import options
from docyard.environment import is_terminal
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console, styles
from docyard.terminal.exits import Exit
from docyard.wording import shorten_id

if TYPE_CHECKING:
    from workspace.history.blame import BlamedLine
    from workspace.history.log import History

_COLOURS = ("yellow", "cyan", "magenta", "green", "blue", "red")
_AUTHOR_WIDTH_DIVISOR = 6  # an author's name fills at most 1/6 of the terminal's width
_MIN_AUTHOR_WIDTH = 8
_CHARS_PER_PAGE = 50_000


@click.command(name="blame")
@click.argument("address", metavar="FILE[#SECTION]", shell_complete=completion.complete_addresses)
@options.ref("The branch, tag, commit or @{date} to read. [default: the branch's tip]")
@options.repository
@options.branch
@options.pager
@options.as_json
def command(address: str, ref: str | None, repo: Path | None, branch: str | None, as_json: bool) -> int:
    """Show who last changed each line of a document or section, and when.

    Lines are followed across renames and moves. A ^ marks lines that may be older than the history that was
    read. Dates are in UTC, and paths may be relative to the current folder.

    \b
    Example:
        docyard blame guides/setup.md#install
        docyard blame guides/setup.md --ref v1.0 --json
    """
    workspace = open_workspace(repo, branch)
    snapshot = workspace.at(ref)
    history = workspace.history()
    with console.show_progress("Reading the history") as progress:
        target = resolve_address(workspace, snapshot, address, find_folder(repo))
        lines = history.blame(snapshot, target.path, target.slug, progress=progress)
    print_moved_notice(target.moved_to)
    if as_json:
        console.print_json({**target.data, **_blame_to_data(history, lines), "commit": snapshot.commit})
    elif is_terminal(sys.stdout):
        _print_runs(history, lines)
    else:
        _print_rows(history, lines)
    return Exit.DONE


def _blame_to_data(history: History, lines: Sequence[BlamedLine]) -> dict[str, Any]:
    """Return the data of all pages of view_history as one page."""
    from tools.history.descriptions import describe_blame

    line_data: list[Any] = []
    commits: dict[str, Any] = {}
    next_page: str | None = "0"
    while next_page is not None:
        page, next_page = describe_blame(history, lines, int(next_page), _CHARS_PER_PAGE)
        line_data += page["lines"]
        commits |= page["commits"]
    return {"lines": line_data, "commits": commits}


def _print_rows(history: History, lines: Sequence[BlamedLine]) -> None:
    """Print each line with its commit, author, date and number, as tab-separated cells."""
    from workspace.escapes import escape_invisible

    commits = {id: history.commit(id) for id in dict.fromkeys(line.commit for line in lines)}
    for line in lines:
        commit = commits[line.commit]
        name = escape_invisible(" ".join(commit.author_name.split()))
        text = escape_invisible(_decode_line(line))
        print(f"{_format_id(line)}\t{name}\t{commit.time:%Y-%m-%d}\t{line.line}\t{text}")


def _print_runs(history: History, lines: Sequence[BlamedLine]) -> None:
    """Print the lines in the colours of their commits.

    The first line of a run, which is a sequence of lines of one commit, has the commit, author and date.
    """
    from rich.text import Text

    from workspace.escapes import escape_invisible

    screen = console.create_console()
    commits = {id: history.commit(id) for id in dict.fromkeys(line.commit for line in lines)}
    colours = {id: _COLOURS[index % len(_COLOURS)] for index, id in enumerate(commits)}
    names = {id: Text(escape_invisible(commit.author_name)) for id, commit in commits.items()}
    max_name_width = max(screen.width // _AUTHOR_WIDTH_DIVISOR, _MIN_AUTHOR_WIDTH)
    name_width = min(max((name.cell_len for name in names.values()), default=0), max_name_width)
    for name in names.values():
        name.truncate(name_width, overflow="ellipsis", pad=True)
    id_width = max((len(_format_id(line)) for line in lines), default=0)
    number_width = len(str(lines[-1].line)) if lines else 0
    previous_run: tuple[str, bool] | None = None
    for line in lines:
        run = (line.commit, line.is_boundary)
        date = f"{commits[line.commit].time:%Y-%m-%d}"
        label = f"{_format_id(line):>{id_width}}  {names[line.commit].plain}  {date}"
        prefix = Text(label if run != previous_run else " " * Text(label).cell_len, colours[line.commit])
        number = Text(f"  {line.line:>{number_width}}", styles.MUTED)
        print_with_hanging_indent(screen, Text.assemble(prefix, number), Text(_decode_line(line)))
        previous_run = run


def _format_id(line: BlamedLine) -> str:
    return f"{'^' if line.is_boundary else ''}{shorten_id(line.commit)}"


def _decode_line(line: BlamedLine) -> str:
    return line.text.decode("utf-8", "replace").rstrip("\r\n")
