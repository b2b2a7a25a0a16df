"""`docyard read`: a document, a section or a task, as it is committed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from docyard import completing, console
from docyard.commands import options
from docyard.environment import is_terminal
from docyard.exits import CannotError, Exit
from docyard.located import from_root

if TYPE_CHECKING:
    from tools.context import Context
    from workspace.snapshot import Snapshot
    from workspace.texts.text_file import TextFile
    from workspace.workspace import Workspace


class Place(NamedTuple):
    """What is read: the bytes [start, end) of a text, and where that has moved to if it has."""

    text: TextFile
    start: int
    end: int
    moved_to: dict[str, Any] | None


@click.command(name="read", short_help="Read a document, a section or a task.")
@click.argument("address", metavar="FILE[#SECTION]", shell_complete=completing.addresses)
@click.option(
    "--ref",
    metavar="REF",
    shell_complete=completing.refs,
    help="The branch, tag, commit or @{date} to read. [default: the branch's tip]",
)
@click.option("--raw", is_flag=True, help="The source as it is, byte by byte, on a terminal too.")
@click.option("--summary", "form", flag_value="summary", help="A summary of the file.")
@click.option("--sections", "form", flag_value="sections", help="The addresses of its sections.")
@click.option("--pager", is_flag=True, help="Show it a screen at a time.")
@options.repository
@options.branch
@options.as_json
def command(
    address: str,
    ref: str | None,
    raw: bool,
    form: str | None,
    pager: bool,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Read a document, a section or a task, as it is committed.

    On a terminal Markdown is rendered; elsewhere its source is printed. A section is named by its
    address, its number, its heading or how that begins. Paths may count from the current folder.

    \b
    Example:
        docyard read guides/setup.md#install
        docyard read 'guides/setup.md#3.1' --ref v1.0 --raw
        docyard read 'plan.md#tasks[0]' --json
    """
    if raw and (as_json or form):
        raise click.UsageError("--raw is the source itself: leave out --json, --summary and --sections")
    workspace = options.open_workspace(repo, branch)
    snapshot = workspace.at(ref)
    address = from_root(address, workspace, snapshot, options.folder(repo))
    if as_json or form:
        answer = _ask(workspace, snapshot, address, ref, form)
        _show_answer(answer, form, as_json=as_json, pager=pager)
        return Exit.DONE
    place = _find(workspace, snapshot, address)
    if place.moved_to is not None:
        slug = place.moved_to.get("slug")
        now = place.text.path if slug is None else f"{place.text.path}#{slug}"
        click.echo(f"This has moved to {_visible(now)}.", err=True)
    if raw or not is_terminal(sys.stdout):
        sys.stdout.flush()
        sys.stdout.buffer.write(place.text.data[place.start : place.end])
        sys.stdout.buffer.flush()
    else:
        from docyard.terminal import show

        show(place.text, place.start, place.end, pager=pager)
    return Exit.DONE


def _find(workspace: Workspace, snapshot: Snapshot, address: str) -> Place:
    """The bytes that an address names: of a section with its subsections, of the preamble its own."""
    from tools.reading.opening import open_text
    from workspace.addresses import read_fragment, resolve_task, split_address

    context = _context(workspace)
    path, fragment = split_address(address, snapshot.documents)
    if fragment and read_fragment(fragment).task is not None:
        opened = open_text(context, snapshot, path)
        if opened.text.document is not None:
            _, task = resolve_task(opened.text.document, fragment)
            return Place(opened.text, task.start, task.end, opened.moved_to)
    text, _, entry, moved_to = open_text(context, snapshot, address)
    if entry is None:
        return Place(text, 0, len(text.data), moved_to)
    return Place(text, entry.start, entry.tree_end if entry.level else entry.end, moved_to)


def _context(workspace: Workspace) -> Context:
    from index.service import SearchIndex
    from tools.context import Context

    return Context(workspace, SearchIndex(workspace), "docyard")


def _ask(
    workspace: Workspace, snapshot: Snapshot, address: str, ref: str | None, form: str | None
) -> dict[str, Any]:
    """What the tool answers that does this for an agent. Raises CannotError where that is an error."""
    from index.service import SearchIndex
    from tools.registry import Toolbox
    from workspace.addresses import read_fragment, split_address
    from workspace.texts.files import Files

    path, fragment = split_address(address, Files(snapshot))
    arguments: dict[str, Any] = {"file_path": path}
    if form == "sections":
        tool, arguments = "list_sections", {"file_path": address}
    elif form == "summary" or not fragment:
        tool, arguments["mode"] = "smart_read", form or "full"
    elif read_fragment(fragment).task is not None:
        tool, arguments = "view_document", {"file": path, "slug": fragment}
    else:
        tool, arguments["section_heading"] = "read_section", fragment
    if ref:
        arguments["ref"] = ref
    index = SearchIndex(workspace)
    try:
        answer = Toolbox(workspace, index, None, True).call(tool, arguments, client="docyard")
    finally:
        index.close()
    if answer.is_error:
        raise CannotError(str(answer.data["error"]), fix=str(answer.data.get("fix", "")))
    return answer.data


def _show_answer(answer: dict[str, Any], form: str | None, *, as_json: bool, pager: bool) -> None:
    if as_json:
        console.print_json(answer)
    elif form == "sections":
        rows = [
            (item["address"], item["title"], f"{item['lines'][0]}-{item['lines'][1]}", f"{item['tokens']:,}")
            for item in answer["outline"]
        ]
        console.table(("section", "title", "lines", "tokens"), rows)
        if answer["count"] > len(rows):
            click.echo(f"These are the first {len(rows):,} of {answer['count']:,} sections.", err=True)
    elif is_terminal(sys.stdout):
        from docyard.terminal import show_markdown

        show_markdown(answer["content"], pager=pager)
    else:
        click.echo(answer["content"])


def _visible(text: str) -> str:
    from tools.answers import visible

    return visible(text)
