"""`docyard new`: a new document from the template of a type, committed."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.commit_errors import CommittingCommand
from docyard.environment import get_current_directory
from docyard.open_workspace import open_workspace
from docyard.terminal import console, styles
from docyard.terminal.exits import Exit
from docyard.terminal.suggested_commands import complete_commands
from docyard.wording import join_words, shorten_id

if TYPE_CHECKING:
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace
    from workspace.writing.plan import PlanStep


@click.command(cls=CommittingCommand, name="new")
@click.argument("title", required=False)
@click.option(
    "--type",
    "type_name",
    metavar="TYPE",
    default="document",
    show_default=True,
    shell_complete=completion.complete_types,
    help="The type of the document, whose template has its sections.",
)
@click.option(
    "--folder",
    metavar="FOLDER",
    shell_complete=completion.complete_addresses,
    help="The folder, in which the title names the file. [default: that of `root` in docyard.toml]",
)
@click.option("--path", metavar="FILE", help="The path of the document, instead of --folder.")
@click.option("--types", "lists_types", is_flag=True, help="List the types, and create nothing.")
@options.repository
@options.branch
@options.as_json
def command(
    title: str | None,
    type_name: str,
    folder: str | None,
    path: str | None,
    lists_types: bool,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Create a document from the template of a type, and commit it.

    The file is named by TITLE. If the policy protects the path, the document is committed to a new proposal.

    \b
    Example:
        docyard new "Restore a backup" --type runbook --folder guides
        docyard new --types
    """
    if lists_types:
        if title is not None:
            raise click.UsageError("--types creates no document: omit TITLE")
        return _print_types(open_workspace(repo, branch), as_json=as_json)
    if title is None:
        raise click.UsageError("TITLE is missing; --types lists the types")
    if folder is not None and path is not None:
        raise click.UsageError("--folder and --path exclude each other")
    from docyard.cli.proposals.write import write_operation
    from workspace.edits.documents import CreateDocument
    from workspace.snapshot.document_types import read_document_type

    workspace = open_workspace(repo, branch, read_only=False)
    document_type = read_document_type(workspace.snapshot(), type_name)
    operation = CreateDocument(type=document_type, title=title, folder=folder or "", path=path or "")
    result, proposal = write_operation(workspace, operation, "new")
    step = result.steps[0]
    if step.error is not None:
        raise step.error
    _print_created(workspace, step, result.commit or "", proposal, as_json=as_json)
    return Exit.DONE


def _print_types(workspace: Workspace, *, as_json: bool) -> int:
    from templates import DocumentType
    from workspace.snapshot.document_types import read_document_types

    types = read_document_types(workspace.snapshot()).items()
    summaries = {name: item.summary for name, item in types if isinstance(item, DocumentType)}
    if as_json:
        console.print_json({"doc_types": summaries, "commit": workspace.tip()})
    else:
        console.print_table(("type", "summary"), list(summaries.items()))
    for name, item in types:
        if not isinstance(item, DocumentType):
            click.echo(f"{name}: {item.message}", err=True)
    return Exit.DONE


def _print_created(
    workspace: Workspace,
    step: PlanStep,
    commit: str,
    proposal: Proposal | None,
    *,
    as_json: bool,
) -> None:
    """Print the path of a new document, its empty sections, and the command that continues."""
    assert step.outcome is not None
    path, result = step.outcome.path, step.outcome.result
    if as_json:
        console.print_json({**result, "commit": commit, "proposal": proposal.id if proposal else None})
        return
    click.echo(f"Created {styles.add_style(path, styles.ADDRESS)} in commit {shorten_id(commit)}.")
    empty_sections = result.get("empty_sections")
    if isinstance(empty_sections, list):
        click.echo(f"  empty sections: {join_words(str(address) for address in empty_sections)}")
    if proposal is not None:
        click.echo(f"  The path is protected, so the document is in the proposal {proposal.id}.")
        click.echo(complete_commands(f"  next: git switch {shlex.quote(proposal.content.branch)}"))
        return
    worktree = workspace.git.worktree
    if worktree is None or workspace.git.head().branch != workspace.branch:
        option = "" if worktree is None else f" --branch {shlex.quote(workspace.branch or '')}"
        click.echo(complete_commands(f"  next: docyard show {shlex.quote(path)}{option}"))
        return
    file, folder = worktree / path, get_current_directory()
    if folder.is_relative_to(worktree):
        # The names of files are relative to the current folder, so git needs no -C.
        name = shlex.quote(os.path.relpath(file, folder))
        click.echo(f"  next: edit {name}, then git commit -m 'Describe it' -- {name}")
    else:
        name = shlex.quote(str(file))
        click.echo(f"  next: edit {name}, then {complete_commands('git commit')} -m 'Describe it' -- {name}")
