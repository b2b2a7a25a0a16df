"""`docyard comments add`: a comment on a document, or a reply."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.commands.proposals import parameters
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal.exits import Exit


@click.command(name="add")
@click.argument(
    "address", metavar="[FILE[#SECTION]]", required=False, shell_complete=completion.complete_addresses
)
@parameters.message("The comment. [default: standard input, else a text from the editor]")
@click.option("--quote", metavar="TEXT", help="The text in the section that the comment is about.")
@click.option("--reply-to", metavar="COMMENT", help="The id of the comment to reply to, instead of FILE.")
@parameters.token_file
@options.repository
@options.branch
@options.as_json
def command(
    address: str | None,
    message: str | None,
    quote: str | None,
    reply_to: str | None,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Comment on a document or section of the branch. The comment moves with its text.

    A comment on a proposal is made with docyard proposals comment; --reply-to also replies to those.

    \b
    Example:
        docyard comments add guides/setup.md#install -m "Which version?"
        docyard comments add --reply-to 9f2c51d0a7b3e846 -m "The last one."
    """
    if (address is None) == (reply_to is None):
        raise click.UsageError("name a FILE, or a comment with --reply-to")
    if quote is not None and address is None:
        raise click.UsageError("--quote needs a FILE: name the quoted document or section")
    from docyard.cli.comments import append_answers, print_appended, resolve_document_address
    from docyard.cli.proposals.actions import identify_actor, read_text
    from workspace.proposals.answers import CommentAnswer

    workspace = open_workspace(repo, branch, read_only=False)
    actor = identify_actor(workspace, token_file)
    file, slug = resolve_document_address(workspace, address, find_folder(repo))
    text = read_text(message, f"A comment on {address or reply_to}.")
    if file is None:
        commit, ids = append_answers(workspace, actor, [CommentAnswer(reply_to or "", text)])
    else:
        discussion = workspace.proposal_actions().document_discussion
        result = discussion.comment(actor, text, file=file, slug=slug, quote=quote or "")
        commit, ids = result.commit, result.event_ids
    print_appended("Commented", commit, ids, ids, as_json=as_json)
    return Exit.DONE
