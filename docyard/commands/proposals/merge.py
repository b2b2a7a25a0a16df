"""`docyard proposals merge`: a proposal comes into its target."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="merge", short_help="Merge a proposal into its target.")
@parameters.proposal
@parameters.commit
@parameters.actor_options
def command(
    proposal: str,
    commit: str | None,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Merge a proposal into its target, as one commit; nothing is rewritten.

    What the target's docyard.toml protects needs approvals, passing checks, and your token. Conflicts are
    decided before, by refresh, so that reviewers see the outcome: they are shown, and the exit code is 1.
    What is merged already stays as it is.

    \b
    Example:
        docyard proposals merge k7m2q9xa
    """
    from docyard.cli.proposals.actions import (
        TOKEN_FIX,
        expand_commit_prefix,
        identify_actor,
        print_action_result,
    )
    from docyard.cli.proposals.conflicts import report_conflicts
    from docyard.proposals.conflicts import find_conflicts
    from workspace.merge.commits import MergeConflict
    from workspace.proposals.actions.discuss import NeedsPerson
    from workspace.proposals.actions.merge import MergeBlocked

    workspace = open_workspace(repo, branch, read_only=False)
    proposing = workspace.proposing()
    one = proposing.find(proposal)
    looked_at = expand_commit_prefix(one, commit)
    actor = identify_actor(workspace, token_file)
    try:
        try:
            with console.show_progress("Merging"):
                acted = proposing.merge(one.id, actor, commit=looked_at)
        except NeedsPerson as error:
            # A token is asked for only where one is needed.
            actor = identify_actor(workspace, token_file, ask=True)
            if actor.person is None:
                error.fix = TOKEN_FIX
                raise
            acted = proposing.merge(one.id, actor, commit=looked_at)
    except MergeBlocked as error:
        error.fix = f"`docyard proposals show {one.id}` says what is missing."
        raise
    except MergeConflict:
        # Named as a refresh takes them, which decides them on the other side.
        return report_conflicts(one, find_conflicts(workspace, one), as_json=as_json)
    print_action_result(acted, "merged", as_json=as_json)
    return Exit.DONE
