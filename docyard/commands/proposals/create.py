"""`docyard proposals create`: a proposal begins, from the tip of the served branch."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal.exits import Exit


@click.command(name="create", short_help="Begin a proposal.")
@click.argument("title")
@click.option("-d", "--description", metavar="TEXT", help="What it is for, as Markdown.")
@click.option(
    "-F", "--file", "file", metavar="FILE", help="A file with the description; - for what is piped in."
)
@click.option("--submit", is_flag=True, help="Ask for a review at once.")
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
    """Begin a proposal: a branch from the tip of the served one, with a title and a description.

    It is a draft until it is submitted. Commit to its branch with Git, or let an agent write to it by its id.

    \b
    Example:
        docyard proposals create "Say how retries back off"
        docyard proposals create "Retries" -F description.md --json
    """
    if description is not None and file is not None:
        raise click.UsageError("--description and --file exclude each other: give one of them")
    from docyard.cli.proposals.actions import identify_actor, print_created, read_text_file

    words = read_text_file(file) if file is not None else description or ""
    workspace = open_workspace(repo, branch, read_only=False)
    actor = identify_actor(workspace, token_file)
    made = workspace.proposing().open(title, words, actor, submit=submit)
    print_created(made, as_json=as_json)
    return Exit.DONE
