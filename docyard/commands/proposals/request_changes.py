"""`docyard proposals request-changes`: a reviewer says what has to change first."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal.exits import Exit


@click.command(name="request-changes", short_help="Ask for changes to a proposal.")
@parameters.proposal
@parameters.message("What has to change. [default: what is piped in, else what is written in the editor]")
@parameters.commit
@parameters.of_actor
def command(
    proposal: str,
    message: str | None,
    commit: str | None,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Ask for changes to a proposal. It is not merged until they are answered: by a submission, or by you.

    \b
    Example:
        docyard proposals request-changes k7m2q9xa -m "Say which errors are retried."
    """
    from docyard.cli.proposals.actions import actor_of_caller, full_commit, show_acted, words_of_caller
    from workspace.proposals.events import ReviewDecision

    workspace = open_workspace(repo, branch, read_only=False)
    actor = actor_of_caller(workspace, token_file)
    proposing = workspace.proposing()
    one = proposing.one(proposal)
    text = words_of_caller(message, f"What has to change in {one.id}.")
    acted = proposing.review(
        one.id, actor, ReviewDecision.REQUEST_CHANGES, text, commit=full_commit(one, commit)
    )
    show_acted(acted, "asked for changes to", as_json=as_json)
    return Exit.DONE
