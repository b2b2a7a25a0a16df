"""`docyard read`: the committed text of a document, a section or a task."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from docyard.cli import completion
from docyard.cli.addresses import locate_address, print_moved_notice
from docyard.commands import options
from docyard.environment import is_terminal
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit

if TYPE_CHECKING:
    from workspace.snapshot.snapshot import DocumentNotFound, Snapshot
    from workspace.texts.text_file import TextFile
    from workspace.workspace import Workspace


class ReadRange(NamedTuple):
    """The bytes [start, end) of a text, and the new location if the target moved."""

    text: TextFile
    start: int
    end: int
    moved_to: dict[str, Any] | None


@click.command(name="read")
@click.argument("address", metavar="FILE[#SECTION]", shell_complete=completion.complete_addresses)
@options.ref("The branch, tag, commit or @{date} to read. [default: the branch's tip]")
@click.option("--raw", is_flag=True, help="Print the exact source bytes, also on a terminal.")
@click.option("--summary", "form", flag_value="summary", help="Print a summary of the file.")
@click.option("--sections", "form", flag_value="sections", help="Print the addresses of the sections.")
@options.pager
@options.repository
@options.branch
@options.as_json
def command(
    address: str,
    ref: str | None,
    raw: bool,
    form: str | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Read the committed text of a document, a section or a task.

    On a terminal Markdown is rendered; otherwise its source is printed. A section is named by its address,
    its number, its heading or the beginning of its heading. Paths may be relative to the current folder.

    \b
    Example:
        docyard read guides/setup.md#install
        docyard read 'guides/setup.md#3.1' --ref v1.0 --raw
        docyard read 'plan.md#tasks[0]' --json
    """
    if raw and (as_json or form):
        raise click.UsageError("--raw excludes --json, --summary and --sections: omit them")
    from workspace.snapshot.snapshot import DocumentNotFound

    workspace = open_workspace(repo, branch)
    try:
        return _read(workspace, address, ref, form, repo, raw=raw, as_json=as_json)
    except DocumentNotFound as error:
        if ref is None:
            _add_proposal(error, workspace, address)
        raise


def _add_proposal(error: DocumentNotFound, workspace: Workspace, address: str) -> None:
    """Name the open proposal that has a missing document in the error's fix, if there is one."""
    from tools.redirects import find_proposals_of_document

    ids = find_proposals_of_document(workspace, address.partition("#")[0].strip("/"))
    if ids:
        error.fix = (
            f"The document is in the proposal {ids[0]}: "
            f"`docyard read {shlex.quote(address)} --ref {ids[0]}` reads it."
        )
        error.suggestion_source = None


def _read(
    workspace: Workspace,
    address: str,
    ref: str | None,
    form: str | None,
    repo: Path | None,
    *,
    raw: bool,
    as_json: bool,
) -> int:
    snapshot = workspace.at(ref)
    address = locate_address(workspace, snapshot, address, find_folder(repo))
    if as_json or form:
        response = _call_read_tool(workspace, snapshot, address, ref, form)
        print_moved_notice(response.get("moved_to"))
        _print_response(response, form, as_json=as_json)
        return Exit.DONE
    target = _find_range(workspace, snapshot, address)
    print_moved_notice(target.moved_to)
    if raw or not is_terminal(sys.stdout):
        sys.stdout.flush()
        sys.stdout.buffer.write(target.text.data[target.start : target.end])
        sys.stdout.buffer.flush()
    else:
        from docyard.terminal.console import print_text

        print_text(target.text, target.start, target.end)
    return Exit.DONE


def _find_range(workspace: Workspace, snapshot: Snapshot, address: str) -> ReadRange:
    """Return the range of bytes at an address. A section includes its subsections."""
    from tools.reading.texts import open_text
    from workspace.document.addresses import read_fragment, resolve_task, split_address
    from workspace.texts.text_file import LazyFilePaths

    path, fragment = split_address(address, LazyFilePaths(snapshot))
    target = read_fragment(fragment or "")
    if target.task is not None and snapshot.config.is_document(path):
        text, _, entry, moved_to = open_text(workspace.moves, snapshot, path, target.section)
        if text.document is not None:
            task_slug = f"{target.section if entry is None else entry.address}[{target.task}]"
            _, task = resolve_task(text.document, task_slug)
            return ReadRange(text, task.start, task.end, moved_to and {**moved_to, "slug": task_slug})
    text, _, entry, moved_to = open_text(workspace.moves, snapshot, address)
    if entry is None:
        return ReadRange(text, 0, len(text.data), moved_to)
    return ReadRange(text, entry.start, entry.tree_end, moved_to)


def _call_read_tool(
    workspace: Workspace, snapshot: Snapshot, address: str, ref: str | None, form: str | None
) -> dict[str, Any]:
    """Call the tool with which an agent reads this address, and return the data of its answer.

    All pages are joined. Raises the errors of the tool.
    """
    from index.service import SearchIndex
    from tools.dispatcher import ToolDispatcher
    from tools.toolsets import all_tools
    from workspace.document.addresses import read_fragment, split_address
    from workspace.texts.text_file import LazyFilePaths

    path, fragment = split_address(address, LazyFilePaths(snapshot))
    arguments: dict[str, Any] = {"file_path": path}
    if form == "sections":
        tool_name, arguments = "list_sections", {"file_path": address}
    elif form == "summary" or not fragment:
        tool_name, arguments["mode"] = "smart_read", form or "full"
    elif read_fragment(fragment).task is not None:
        tool_name, arguments = "view_document", {"file": path, "slug": fragment}
    else:
        tool_name, arguments["section_heading"] = "read_section", fragment
    if ref:
        arguments["ref"] = ref
    index = SearchIndex(workspace)
    try:
        context = ToolDispatcher(workspace, index, None, True).context("docyard")
        read_tool = next(candidate for candidate in all_tools() if candidate.name == tool_name)
        response = read_tool.run(context, arguments).data
        while "cursor" in response:  # pages are for agents, whose context is limited
            page = read_tool.run(context, {**arguments, "cursor": response["cursor"]}).data
            for name in ("sections", "outline"):
                page[name] = response[name] + page[name]
            page.pop("note", None)  # the note describes one page
            response = page
        if (step := response.get("next_step")) is not None:
            response["next_step"] = step.text()
        return response
    finally:
        index.close()


def _print_response(response: dict[str, Any], form: str | None, *, as_json: bool) -> None:
    if as_json:
        console.print_json(response)
        if response.get("truncated"):
            click.echo("'content' is truncated; --raw prints all of it.", err=True)
    elif form == "sections":
        rows = [
            (item["address"], item["title"], f"{item['lines'][0]}-{item['lines'][1]}", f"{item['tokens']:,}")
            for item in response["outline"]
        ]
        console.print_table(("section", "title", "lines", "tokens"), rows)
    elif is_terminal(sys.stdout):
        from docyard.terminal.console import print_markdown

        print_markdown(response["content"])
    else:
        click.echo(response["content"])
