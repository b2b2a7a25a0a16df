"""`docyard show`: a document, a section, a task, a commit or a proposal, by its address or id."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from workspace.workspace import Workspace


@click.command(name="show")
@click.argument("address", metavar="ADDRESS", shell_complete=completion.complete_addresses)
@options.repository
@options.branch
@options.pager
@options.as_json
@click.pass_context
def command(
    context: click.Context, address: str, repo: Path | None, branch: str | None, as_json: bool
) -> int:
    """Show a document, a section, a task, a commit or a proposal.

    ADDRESS is the address of a document, a section or a task, the id of a proposal, or the id of a commit or
    another ref. The first four characters of an id are enough if no other id begins with them. If it can be
    several of these, the first in this order is shown. A commit is shown with its changes.

    \b
    Example:
        docyard show guides/setup.md#install
        docyard show k7m2q9xa
        docyard show 3f9c2ab
        docyard show v1.0 --json
    """
    workspace = open_workspace(repo, branch)
    folder = find_folder(repo)
    if (file_address := _find_file_address(workspace, address, folder)) is not None:
        return _read(context, file_address, repo, branch, as_json=as_json)
    if (proposal_id := _find_proposal(workspace, address)) is not None:
        from docyard.commands.proposals import show

        code: int = context.invoke(
            show.command,
            proposal_id=proposal_id,
            address=None,
            diff=True,
            comments=True,
            repo=repo,
            branch=branch,
            as_json=as_json,
        )
        return code
    from workspace.errors import WorkspaceError
    from workspace.revisions import RefNotFound, resolve_branch_ref
    from workspace.snapshot.snapshot import DocumentNotFound

    try:
        commit = resolve_branch_ref(workspace, address)
    except RefNotFound:
        try:  # the address of a document or section that was moved
            return _read(context, address, repo, branch, as_json=as_json)
        except DocumentNotFound as error:
            if "#" in address or "/" in address or address.endswith(".md"):
                raise
            raise CommandError(
                f"no document, proposal or commit is named '{address[:200]}'",
                fix="`docyard list` lists the documents, `docyard proposals list` the proposals, "
                "`docyard log` the commits.",
            ) from error
    except WorkspaceError as error:
        raise CommandError(error.message, fix=error.fix) from error
    _print_commit(workspace, commit, as_json=as_json)
    return Exit.DONE


def _read(
    context: click.Context, address: str, repo: Path | None, branch: str | None, *, as_json: bool
) -> int:
    from docyard.commands import read

    code: int = context.invoke(
        read.command,
        address=address,
        ref=None,
        raw=False,
        form=None,
        repo=repo,
        branch=branch,
        as_json=as_json,
    )
    return code


def _find_file_address(workspace: Workspace, address: str, folder: Path) -> str | None:
    """Return the address in a file of the branch's tip, from the root or relative to a folder.

    The id of a task becomes the address of the task. Return None if there is no such file.
    """
    from docyard.cli.addresses import resolve_relative_address
    from workspace.document.addresses import format_task_address, split_address
    from workspace.texts.text_file import LazyFilePaths

    snapshot = workspace.snapshot()
    files = LazyFilePaths(snapshot)
    address = resolve_relative_address(address, workspace, snapshot, folder)
    path, fragment = split_address(address, files)
    if path not in files:
        return None
    if not fragment or not snapshot.config.is_document(path):
        return address
    document = snapshot.document(path)
    location = None if document.sections_by_address(fragment) else document.find_task(fragment)
    return address if location is None else f"{path}#{format_task_address(location[0].key, location[1])}"


def _find_proposal(workspace: Workspace, name: str) -> str | None:
    """Return the id of the proposal that has this id, prefix or branch; None if there is none."""
    from workspace.proposals.proposal import AmbiguousProposal, ProposalNotFound
    from workspace.revisions import may_name_proposal

    if not may_name_proposal(workspace.git, name):
        return None
    try:
        return workspace.proposal_actions().find(name).id
    except AmbiguousProposal:
        raise
    except ProposalNotFound:
        return None


def _print_commit(workspace: Workspace, commit: str, *, as_json: bool) -> None:
    """Print a commit and its changes since its first parent."""
    from docyard.cli.commit_range import get_first_parent
    from docyard.cli.commits import LogEntry, print_log
    from docyard.cli.proposals.changes import (
        MAX_CHANGES_CHARS,
        PagePrinter,
        changes_to_data,
        print_changes,
    )
    from tools.history.descriptions import describe_commit
    from workspace.proposals.review.changes import compare_commits

    snapshot = workspace.snapshot(commit)
    info = workspace.history().commit(commit)
    with console.show_progress("Comparing"):
        changes = compare_commits(get_first_parent(snapshot), snapshot)
    if as_json:
        console.print_json({**describe_commit(info), **changes_to_data(changes), "commit": commit})
        return
    # An entry with a diff is printed for people in a pipe, too, as the changes are.
    print_log([LogEntry(info, (), "")], is_single=True)
    if changes.documents or changes.files:
        click.echo()
        print_changes(PagePrinter(), changes, max_chars=MAX_CHANGES_CHARS)
    else:
        click.echo(
            "No document differs." if not changes.reason else f"Some changes are not shown: {changes.reason}."
        )
