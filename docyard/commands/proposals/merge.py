"""`docyard proposals merge`: the merge of a proposal into its target."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="merge")
@parameters.proposal_id
@parameters.commit
@parameters.actor_options
def command(
    proposal_id: str,
    commit: str | None,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Merge a proposal into its target, as one commit. No commit is rewritten.

    Changes that the target's docyard.toml protects need approvals, passing checks, and your token. Conflicts
    must be resolved with refresh first, so that reviewers see the result: the command prints the conflicts
    and exits with 1. A merged proposal is not merged again.

    \b
    Example:
        docyard proposals merge k7m2q9xa
    """
    from docyard.cli.proposals.actions import (
        describe_needed_person,
        expand_commit_prefix,
        identify_actor,
        print_action_result,
    )
    from docyard.cli.proposals.conflicts import report_conflicts
    from docyard.proposals.conflicts import find_conflicts
    from tools.proposals.descriptions import describe_broken_dependencies
    from workspace.merge.commits import MergeConflict
    from workspace.proposals.actions.merge import MergeBlocked
    from workspace.proposals.approvals import NeedsPerson

    workspace = open_workspace(repo, branch, read_only=False)
    proposal_actions = workspace.proposal_actions()
    proposal = proposal_actions.find(proposal_id)
    reviewed_commit = expand_commit_prefix(proposal, commit)
    actor = identify_actor(workspace, token_file)
    try:
        try:
            with console.show_progress("Merging"):
                result = proposal_actions.merge(proposal.id, actor, commit=reviewed_commit)
        except NeedsPerson as error:
            # Prompt for a token only if the merge needs a token.
            actor = identify_actor(workspace, token_file, prompt=True)
            if actor.person is None:
                error.fix = describe_needed_person(error, token_file)
                raise
            result = proposal_actions.merge(proposal.id, actor, commit=reviewed_commit)
    except MergeBlocked as error:
        error.fix = f"`docyard proposals show {proposal.id}` lists the unmet requirements."
        raise
    except MergeConflict:
        # The output has the names that `refresh` accepts.
        return report_conflicts(proposal, find_conflicts(workspace, proposal), as_json=as_json)
    print_action_result(result, "merged", as_json=as_json, may_push=bool(workspace.git.remotes()))
    for hint in describe_broken_dependencies(result):
        click.echo(f"note: {hint}", err=True)
    return Exit.DONE
