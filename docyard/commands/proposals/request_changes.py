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
@parameters.actor_options
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
    from docyard.cli.proposals.actions import (
        expand_commit_prefix,
        identify_actor,
        print_action_result,
        read_text,
    )
    from workspace.proposals.events import ReviewDecision

    workspace = open_workspace(repo, branch, read_only=False)
    actor = identify_actor(workspace, token_file)
    proposing = workspace.proposing()
    one = proposing.find(proposal)
    text = read_text(message, f"What has to change in {one.id}.")
    acted = proposing.review(
        one.id, actor, ReviewDecision.REQUEST_CHANGES, text, commit=expand_commit_prefix(one, commit)
    )
    print_action_result(acted, "asked for changes to", as_json=as_json)
    return Exit.DONE
