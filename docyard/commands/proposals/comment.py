"""`docyard proposals comment`: a remark on a proposal, or on a place in it."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal.exits import Exit


@click.command(name="comment", short_help="Comment on a proposal, or on a section of it.")
@parameters.proposal
@parameters.place
@parameters.message("What to say. [default: what is piped in, else what is written in the editor]")
@click.option("--quote", metavar="TEXT", help="The words of the section that are meant.")
@click.option("--reply-to", metavar="COMMENT", help="The id of a comment that this answers.")
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
    """Comment on a proposal, a document or a section of it; the comment follows its text when that moves.

    The editor is that of GIT_EDITOR, VISUAL or EDITOR.

    \b
    Example:
        docyard proposals comment k7m2q9xa guides/setup.md#install -m "Which version?"
        docyard proposals comment k7m2q9xa --reply-to 9f2c51d0a7b3e846 -m "The last one."
    """
    if quote is not None and place is None:
        raise click.UsageError("--quote needs a FILE: name the document or section that is quoted")
    if reply_to is not None and place is not None:
        raise click.UsageError("an answer stands where its comment does: leave out the FILE")
    from docyard.cli.proposals.actions import identify_actor, print_action_result, read_text, resolve_place

    workspace = open_workspace(repo, branch, read_only=False)
    actor = identify_actor(workspace, token_file)
    proposing = workspace.proposing()
    one = proposing.find(proposal)
    file, slug = resolve_place(workspace, one, place, find_folder(repo))
    text = read_text(message, f"A comment on {place or one.id}.")
    acted = proposing.comment(one.id, actor, text, file=file, slug=slug, quote=quote or "", reply_to=reply_to)
    print_action_result(acted, "commented on", as_json=as_json)
    return Exit.DONE
