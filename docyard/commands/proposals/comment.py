"""`docyard proposals comment`: a comment on a proposal, a document or a section."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal.exits import Exit


@click.command(name="comment")
@parameters.proposal_id
@parameters.address
@parameters.message("The comment. [default: standard input, else a text from the editor]")
@click.option("--quote", metavar="TEXT", help="The text in the section that the comment is about.")
@click.option("--reply-to", metavar="COMMENT", help="The id of the comment to reply to.")
@parameters.actor_options
def command(
    proposal_id: str,
    address: str | None,
    message: str | None,
    quote: str | None,
    reply_to: str | None,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Comment on a proposal, or on a document or section of it. The comment moves with its text.

    The editor is set by GIT_EDITOR, VISUAL or EDITOR.

    \b
    Example:
        docyard proposals comment k7m2q9xa guides/setup.md#install -m "Which version?"
        docyard proposals comment k7m2q9xa --reply-to 9f2c51d0a7b3e846 -m "The last one."
    """
    if quote is not None and address is None:
        raise click.UsageError("--quote needs a FILE: name the quoted document or section")
    if reply_to is not None and address is not None:
        raise click.UsageError(
            "--reply-to and FILE exclude each other: a reply has the address of its comment"
        )
    from docyard.cli.proposals.actions import (
        identify_actor,
        print_action_result,
        read_text,
        resolve_address_in_proposal,
    )

    workspace = open_workspace(repo, branch, read_only=False)
    actor = identify_actor(workspace, token_file)
    proposal_actions = workspace.proposal_actions()
    proposal = proposal_actions.find(proposal_id)
    file, slug = resolve_address_in_proposal(workspace, proposal, address, find_folder(repo))
    text = read_text(message, f"A comment on {address or proposal.id}.")
    result = proposal_actions.comment(
        proposal.id, actor, text, file=file, slug=slug, quote=quote or "", reply_to=reply_to
    )
    print_action_result(result, "commented on", as_json=as_json)
    return Exit.DONE
