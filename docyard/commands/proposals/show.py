"""`docyard proposals show`: a proposal on one page, for its reviewers."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands import options
from docyard.commands.proposals import parameters
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="show")
@parameters.proposal_id
@parameters.address
@parameters.since_review
@click.option("--diff/--no-diff", default=True, help="Show or omit the changes.")
@click.option("--comments/--no-comments", default=True, help="Show or omit the discussion.")
@options.repository
@options.branch
@options.as_json
def command(
    proposal_id: str,
    address: str | None,
    since_review: bool,
    token_file: Path | None,
    diff: bool,
    comments: bool,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Show a proposal: its state, commits, changes, discussion, and the unmet requirements of a merge.

    FILE or SECTION selects the changes and the comments. Other open proposals that change the same sections
    are listed. Dates are in UTC.

    \b
    Example:
        docyard proposals show k7m2q9xa
        docyard proposals show k7m2q9xa guides/setup.md#install
        docyard proposals show k7m2q9xa --since-review
        docyard proposals show k7m2q9xa --no-diff --json
    """
    from docyard.cli.proposals.actions import identify_actor
    from docyard.cli.proposals.page import load_proposal_view, page_to_data, print_page

    workspace = open_workspace(repo, branch)
    with console.show_progress("Reading the proposal"):
        reviewer = identify_actor(workspace, token_file).event_author if since_review else None
        view = load_proposal_view(workspace, proposal_id, address, find_folder(repo), reviewer)
    if as_json:
        console.print_json(page_to_data(view, include_diff=diff, include_comments=comments))
    else:
        print_page(view, include_diff=diff, include_comments=comments, is_since_review=since_review)
    return Exit.DONE
