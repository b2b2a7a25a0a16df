"""`docyard proposals edit`: a new title or description for a proposal."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal.exits import Exit


@click.command(name="edit")
@parameters.proposal_id
@click.option("--title", help="The new title.")
@click.option("-d", "--description", metavar="TEXT", help="The new description, as Markdown.")
@click.option(
    "-F", "--file", "file", metavar="FILE", help="A file with the description; - for standard input."
)
@parameters.actor_options
def command(
    proposal_id: str,
    title: str | None,
    description: str | None,
    file: str | None,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Change the title or the description of a proposal. Its id does not change.

    \b
    Example:
        docyard proposals edit k7m2q9xa --title "Retries back off, with jitter"
        docyard proposals edit k7m2q9xa -F description.md
    """
    if description is not None and file is not None:
        raise click.UsageError("--description and --file exclude each other: use one of them")
    if title is None and description is None and file is None:
        raise click.UsageError("nothing to change: pass --title, --description or --file")
    from docyard.cli.proposals.actions import identify_actor, print_action_result, read_text_file

    text = read_text_file(file) if file is not None else description
    workspace = open_workspace(repo, branch, read_only=False)
    actor = identify_actor(workspace, token_file)
    result = workspace.proposal_actions().edit(proposal_id, actor, title=title, description=text)
    print_action_result(result, "edited", as_json=as_json)
    return Exit.DONE
