"""`docyard proposals diff`: the changes of a proposal, section by section and word by word."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands import options
from docyard.commands.proposals import parameters
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="diff")
@parameters.proposal_id
@parameters.address
@parameters.since_review
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@options.repository
@options.branch
@options.as_json
def command(
    proposal_id: str,
    address: str | None,
    since_review: bool,
    token_file: Path | None,
    markdown: bool,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Show the changes of a proposal: sections, tasks, front matter, and their words.

    The proposal is compared with the merge base of its branch and its target. With --since-review, it is
    compared with the commit that you reviewed; your token, or Git's user, says who you are. Without colours,
    [-words-] marks removed and {+words+} added words.

    \b
    Example:
        docyard proposals diff k7m2q9xa
        docyard proposals diff k7m2q9xa --since-review
        docyard proposals diff k7m2q9xa guides/setup.md#install --markdown
    """
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other: choose one")
    from docyard.cli.proposals.actions import identify_actor, resolve_address_in_proposal
    from docyard.cli.proposals.changes import (
        PagePrinter,
        changes_to_data,
        changes_to_markdown,
        print_changes,
    )
    from docyard.cli.proposals.page import load_changes
    from workspace.escapes import escape_invisible

    workspace = open_workspace(repo, branch)
    with console.show_progress("Comparing"):
        proposal = workspace.proposal_actions().find(proposal_id)
        reviewer = identify_actor(workspace, token_file).event_author if since_review else None
        location = resolve_address_in_proposal(workspace, proposal, address, find_folder(repo))
        changes = load_changes(workspace, proposal, location, reviewer)
    if as_json:
        console.print_json({"proposal": proposal.id, **changes_to_data(changes), "commit": changes.tip})
    elif markdown:
        print(escape_invisible(changes_to_markdown(changes)))
    else:
        print_changes(PagePrinter(), changes, is_since_review=since_review)
    return Exit.DONE
