"""`docyard proposals submit`: a request for a review."""

from __future__ import annotations

from pathlib import Path

import click

from docyard import environment
from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="submit")
@parameters.proposal_id
@click.option(
    "--no-forge", is_flag=True, help="Do not open a pull request, even with [forge] in docyard.toml."
)
@parameters.actor_options
def command(
    proposal_id: str,
    no_forge: bool,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Request a review of a proposal at its current commit. This also answers a request for changes.

    With [forge] in docyard.toml, the proposal's branch is pushed, and its pull request is opened or updated.
    If the forge fails, the proposal is submitted without a pull request, and the command exits with 1.
    DOCYARD_FORGE_TOKEN contains the token for the forge.

    \b
    Example:
        docyard proposals submit k7m2q9xa
        docyard proposals submit k7m2q9xa --no-forge
    """
    from docyard.cli.proposals.actions import identify_actor, print_action_result
    from docyard.forges.pull_request_report import build_pull_request_opener

    workspace = open_workspace(repo, branch, read_only=False)
    actor = identify_actor(workspace, token_file)
    result = workspace.proposal_actions().submit(proposal_id, actor)
    pull_request_report = None
    if not no_forge:
        workspace.pull_request_opener = build_pull_request_opener(
            workspace, environment.read_forge_access, environment.read_remote_access
        )
        with console.show_progress("Updating the pull request"):
            pull_request_report = workspace.proposal_actions().open_pull_request(result.proposal)
    print_action_result(result, "submitted", as_json=as_json, pull_request_report=pull_request_report)
    return (
        Exit.PROBLEMS
        if pull_request_report is not None and pull_request_report.error is not None
        else Exit.DONE
    )
