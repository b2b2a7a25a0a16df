"""`docyard proposals comment`: a comment on a proposal, a document or a section."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal.exits import Exit


@click.command(name="comment", short_help="Comment on a proposal, or on a section of it.")
@parameters.proposal
@parameters.place
@parameters.message("The comment. [default: standard input, else a text from the editor]")
@click.option("--quote", metavar="TEXT", help="The commented words of the section.")
@click.option("--reply-to", metavar="COMMENT", help="The id of the comment to reply to.")
@parameters.actor_options
def command(
    proposal: str,
    place: str | None,
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
    if quote is not None and place is None:
        raise click.UsageError("--quote needs a FILE: name the quoted document or section")
    if reply_to is not None and place is not None:
        raise click.UsageError("--reply-to and FILE exclude each other: a reply has the place of its comment")
    from docyard.cli.proposals.actions import identify_actor, print_action_result, read_text, resolve_place

    workspace = open_workspace(repo, branch, read_only=False)
    actor = identify_actor(workspace, token_file)
    proposal_actions = workspace.proposal_actions()
    one = proposal_actions.find(proposal)
    file, slug = resolve_place(workspace, one, place, find_folder(repo))
    text = read_text(message, f"A comment on {place or one.id}.")
    acted = proposal_actions.comment(
        one.id, actor, text, file=file, slug=slug, quote=quote or "", reply_to=reply_to
    )
    print_action_result(acted, "commented on", as_json=as_json)
    return Exit.DONE
