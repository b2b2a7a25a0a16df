"""`docyard proposals refresh`: what the target has by now comes into a proposal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.commands.proposals import parameters
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit

if TYPE_CHECKING:
    from workspace.merge.conflict import Resolution, UnitId
    from workspace.merge.trees import FileConflict, Resolutions


@click.command(name="refresh", short_help="Bring what the target has by now into a proposal.")
@parameters.proposal
@click.option(
    "--ours", metavar="CONFLICT", multiple=True, help="Decide this for the proposal. May be repeated."
)
@click.option(
    "--theirs", metavar="CONFLICT", multiple=True, help="Decide this for the target. May be repeated."
)
@click.option(
    "--resolve", metavar="FILE", help="A JSON or TOML file that decides conflicts; - for what is piped in."
)
@parameters.of_actor
def command(
    proposal: str,
    ours: tuple[str, ...],
    theirs: tuple[str, ...],
    resolve: str | None,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Merge the target into a proposal, as one commit; nothing is rewritten.

    Sections and tasks that only one side changed are taken from that side. What both changed differently is
    a conflict: it is shown, nothing is merged, and the exit code is 1. A CONFLICT is named as it is shown, or
    by its file or section for all that is in it.

    \b
    Example:
        docyard proposals refresh k7m2q9xa
        docyard proposals refresh k7m2q9xa --theirs guides/setup.md --ours text:guides/retry.md#limits
        docyard proposals conflicts k7m2q9xa --json > decisions.json
        docyard proposals refresh k7m2q9xa --resolve decisions.json
    """
    from docyard.cli.proposals.actions import actor_of_caller, show_acted, text_of
    from docyard.cli.proposals.conflicts import (
        conflict_name,
        decided,
        read_decisions,
        seen_commits,
        tell_conflicts,
    )
    from docyard.proposals.conflicts import Found, conflicts_of
    from workspace.merge.commits import MergeConflict
    from workspace.proposals.actions.refresh import ConflictChanged, RefreshDecisions

    workspace = open_workspace(repo, branch, read_only=False)
    proposing = workspace.proposing()
    one = proposing.one(proposal)
    text = text_of(resolve) if resolve is not None else None
    given = read_decisions(text) if text is not None else {}
    actor = actor_of_caller(workspace, token_file)
    chosen: dict[str, dict[UnitId, Resolution]] = {}

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        chosen.update(decided(conflicts, given, ours, theirs))
        return chosen

    decisions = None
    if given or ours or theirs:
        conflicts_of(workspace, one)  # says so if one of the branches is gone
        decisions = RefreshDecisions(choose, *(seen_commits(text) if text is not None else ()))
    left: Found | None = None
    with console.progress("Merging"):
        try:
            acted = proposing.refresh(one.id, actor, decisions)
        except ConflictChanged as error:
            error.fix = f"`docyard proposals conflicts {one.id}` shows them as they are now; decide those."
            raise
        except MergeConflict as error:
            left = Found(error.tip, error.theirs, error.conflicts)
    if left is not None:
        given_too = {"--ours": ours, "--theirs": theirs, "--resolve": (resolve,) if resolve else ()}
        again = [word for option, names in given_too.items() for name in names for word in (option, name)]
        return tell_conflicts(one, left, as_json=as_json, decided=again)
    resolved = acted.merge.resolved if acted.merge is not None else ()
    named = {conflict_name(path, unit): chosen[path][unit].choice.value for path, unit in resolved}
    show_acted(acted, "refreshed", as_json=as_json, decided=named)
    return Exit.DONE
