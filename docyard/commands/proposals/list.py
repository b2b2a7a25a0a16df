"""`docyard proposals list`: the proposals of a repository, newest first."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands import options
from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.proposals.state_filters import OPEN_STATES, STATE_FILTERS
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="list")
@click.option("--needs-me", is_flag=True, help="List only the proposals that need you, with the reasons.")
@click.option(
    "--state",
    type=click.Choice(STATE_FILTERS),
    default=OPEN_STATES,
    show_default=True,
    help="The state to list; open selects all except merged, closed and gone; waiting, those for review.",
)
@click.option(
    "--author", metavar="NAME", default="", help="List only those of this author: a name, handle or address."
)
@click.option(
    "--path", metavar="GLOB", default="", help="List only those that change this folder or document."
)
@click.option(
    "--search",
    metavar="WORDS",
    default="",
    help="List only those with these words in title, text or comments.",
)
@options.limit("proposals", 20)
@parameters.actor_options
def command(
    needs_me: bool,
    state: str,
    author: str,
    path: str,
    search: str,
    limit: int,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """List proposals, newest first: id, title, state, author, age, approvals, conflicts, comments, reviewers.

    A proposal needs you if it waits for your review, mentions you, is ready and you may merge it, or is your
    own and has a change request or a conflict. You are the owner of the token, or else the user of Git's
    settings. The state gone means that the branch was deleted without a merge.

    Outside a terminal, each proposal is one line of tab-separated columns without headings: id, state,
    time of the last change, author, title, branch, approvals (given/needed), conflicts (clean, conflicts or
    unknown), open comments, people.

    \b
    Example:
        docyard proposals list --needs-me
        docyard proposals list --path guides --author ana
        docyard proposals list --state all --limit 0 --json
    """
    from docyard.cli.proposals.list import ListedProposals, print_list
    from docyard.proposals.inbox import get_inbox
    from docyard.proposals.list import (
        ProposalFilter,
        build_entries,
        normalize_path,
        select_proposals,
        suggest_authors,
    )
    from docyard.terminal.credentials import identify_owner

    workspace = open_workspace(repo, branch)
    proposals = workspace.proposal_actions().list_all()
    path = normalize_path(path)
    reasons = None
    with console.show_progress("Reading proposals"):
        if needs_me:
            inbox = get_inbox(workspace)
            owner = identify_owner(workspace, token_file, prompt=False)
            person = inbox.identify(None if owner is None else owner.person)
            reasons = inbox.find_needed(proposals, person).reasons
        proposal_filter = ProposalFilter(state, author.strip(), path, search, reasons)
        matches = select_proposals(workspace, proposals, proposal_filter)
        entries = build_entries(workspace, matches[: limit or None], proposals)
    authors = suggest_authors(workspace, proposals, proposal_filter) if not matches else ()
    listed = ListedProposals(entries, len(matches), proposals, proposal_filter, reasons, authors)
    if as_json:
        console.print_json(listed.to_data(workspace.tip()))
    else:
        print_list(listed)
    return Exit.DONE
