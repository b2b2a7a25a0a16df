"""`docyard comments list`: the open comments on documents and proposals."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="list")
@click.argument(
    "address", metavar="[FILE[#SECTION]]", required=False, shell_complete=completion.complete_addresses
)
@click.option(
    "--proposal",
    "proposal_id",
    metavar="ID",
    shell_complete=completion.complete_proposals,
    help="List only the comments of this proposal.",
)
@click.option("--resolved", is_flag=True, help="List the resolved comments instead of the open ones.")
@options.limit("comments", 50)
@options.repository
@options.branch
@options.ref("The branch, tag, commit or @{date} at which documents are read. [default: the branch's tip]")
@options.as_json
def command(
    address: str | None,
    proposal_id: str | None,
    resolved: bool,
    limit: int,
    repo: Path | None,
    branch: str | None,
    ref: str | None,
    as_json: bool,
) -> int:
    """List the open comments on documents, then those of each open proposal.

    Each is shown with the current address of its text, and with its replies. FILE or SECTION selects those on
    it and below it. With --ref, only the comments on documents are listed.

    \b
    Example:
        docyard comments list
        docyard comments list guides/setup.md#install
        docyard comments list --proposal k7m2q9xa --resolved --json
    """
    if proposal_id is not None and ref is not None:
        raise click.UsageError("--proposal and --ref exclude each other: a proposal has its own texts")
    from docyard.cli.comments import load_comments, print_comment_list, resolve_document_address
    from docyard.cli.proposals.comments import thread_to_data

    workspace = open_workspace(repo, branch)
    location = resolve_document_address(workspace, address, find_folder(repo), ref)
    with console.show_progress("Reading comments"):
        comments = load_comments(workspace, proposal_id, ref, location, is_resolved=resolved)
    shown_comments = comments[: limit or None]
    if as_json:
        console.print_json(
            {
                "comments": [
                    {
                        **thread_to_data(comment.located_thread),
                        "proposal": comment.proposal.id if comment.proposal is not None else None,
                    }
                    for comment in shown_comments
                ],
                "total": len(comments),
                "complete": len(shown_comments) == len(comments),
                "commit": workspace.at(ref).commit,
            }
        )
    else:
        print_comment_list(shown_comments, len(comments), is_resolved=resolved)
    return Exit.DONE
