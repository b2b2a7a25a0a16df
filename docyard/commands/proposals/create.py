"""`docyard proposals create`: a new proposal, from the tip of the served branch."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal.exits import Exit


@click.command(name="create")
@click.argument("title")
@click.option("-d", "--description", metavar="TEXT", help="The description, as Markdown.")
@click.option(
    "-F", "--file", "file", metavar="FILE", help="A file with the description; - for standard input."
)
@click.option("--submit", is_flag=True, help="Request a review immediately.")
@parameters.actor_options
def command(
    title: str,
    description: str | None,
    file: str | None,
    submit: bool,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Create a proposal: a branch from the tip of the served branch, with a title and a description.

    A proposal is a draft until it is submitted. Commit to its branch with Git, or let an agent write to it by
    its id.

    \b
    Example:
        docyard proposals create "Describe the backoff of retries"
        docyard proposals create "Retries" -F description.md --json
    """
    if description is not None and file is not None:
        raise click.UsageError("--description and --file exclude each other: use one of them")
    from docyard.cli.proposals.actions import identify_actor, print_created, read_text_file

    text = read_text_file(file) if file is not None else description or ""
    workspace = open_workspace(repo, branch, read_only=False)
    actor = identify_actor(workspace, token_file)
    proposal = workspace.proposal_actions().open(title, text, actor, submit=submit)
    print_created(proposal, as_json=as_json)
    return Exit.DONE
