"""`docyard proposals merge`: the merge of a proposal into its target."""

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
    """Merge a proposal into its target, as one commit. No commit is rewritten.

    Changes that the target's docyard.toml protects need approvals, passing checks, and your token. Conflicts
    must be resolved with refresh first, so that reviewers see the result: they are shown, and the exit code
    is 1. A merged proposal is not merged again.

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
    proposal_actions = workspace.proposal_actions()
    one = proposal_actions.find(proposal)
    seen_commit = expand_commit_prefix(one, commit)
    actor = identify_actor(workspace, token_file)
    try:
        try:
            with console.show_progress("Merging"):
                acted = proposal_actions.merge(one.id, actor, commit=seen_commit)
        except NeedsPerson as error:
            # Prompt for a token only if one is needed.
            actor = identify_actor(workspace, token_file, prompt=True)
            if actor.person is None:
                error.fix = TOKEN_FIX
                raise
            acted = proposal_actions.merge(one.id, actor, commit=seen_commit)
    except MergeBlocked as error:
        error.fix = f"`docyard proposals show {one.id}` lists the missing requirements."
        raise
    except MergeConflict:
        # The output has the names that `refresh` accepts.
        return report_conflicts(one, find_conflicts(workspace, one), as_json=as_json)
    print_action_result(acted, "merged", as_json=as_json)
    return Exit.DONE
