"""`docyard comments resolve`: resolves or reopens threads."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands import options
from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal.exits import Exit


@click.command(name="resolve")
@click.argument("comments", metavar="COMMENT...", nargs=-1, required=True)
@parameters.message("A reply to each comment. [default: none]")
@click.option("--reopen", is_flag=True, help="Reopen the comments instead.")
@parameters.token_file
@options.repository
@options.branch
@options.as_json
def command(
    comments: tuple[str, ...],
    message: str | None,
    reopen: bool,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Resolve comments on documents, or those of one proposal, as one commit.

    Each COMMENT is an id that docyard comments list shows. Neither the state nor the approvals of a proposal
    change. A later reply does not reopen a comment.

    \b
    Example:
        docyard comments resolve 9f2c51d0a7b3e846 -m "Done."
        docyard comments resolve 9f2c51d0a7b3e846 --reopen
    """
    from docyard.cli.comments import append_answers, print_appended
    from docyard.cli.proposals.actions import identify_actor
    from workspace.proposals.answers import CommentAnswer

    workspace = open_workspace(repo, branch, read_only=False)
    actor = identify_actor(workspace, token_file)
    answers = [CommentAnswer(id, message or "", not reopen) for id in dict.fromkeys(comments)]
    commit, ids = append_answers(workspace, actor, answers)
    print_appended("Reopened" if reopen else "Resolved", commit, ids, comments, as_json=as_json)
    return Exit.DONE
