"""`docyard proposals refresh`: the merge of the target into a proposal."""

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


@click.command(name="refresh", short_help="Merge the target into a proposal.")
@parameters.proposal
@click.option(
    "--ours", metavar="CONFLICT", multiple=True, help="Resolve with the proposal's version. May be repeated."
)
@click.option(
    "--theirs", metavar="CONFLICT", multiple=True, help="Resolve with the target's version. May be repeated."
)
@click.option("--resolve", metavar="FILE", help="A JSON or TOML file with decisions; - for standard input.")
@parameters.actor_options
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
    """Merge the target into a proposal, as one commit. No commit is rewritten.

    A section or task that only one side changed gets the version of that side. One that both sides changed
    differently is a conflict: it is shown, nothing is merged, and the exit code is 1. CONFLICT is the name
    that is shown, or a file or section for all conflicts in it.

    \b
    Example:
        docyard proposals refresh k7m2q9xa
        docyard proposals refresh k7m2q9xa --theirs guides/setup.md --ours text:guides/retry.md#limits
        docyard proposals conflicts k7m2q9xa --json > decisions.json
        docyard proposals refresh k7m2q9xa --resolve decisions.json
    """
    from docyard.cli.proposals.actions import identify_actor, print_action_result, read_text_file
    from docyard.cli.proposals.conflicts import (
        format_conflict_name,
        parse_decisions,
        parse_seen_commits,
        report_conflicts,
        resolve_choices,
    )
    from docyard.proposals.conflicts import ConflictSet, find_conflicts
    from workspace.merge.commits import MergeConflict
    from workspace.proposals.actions.refresh import ConflictChanged, RefreshResolutions

    workspace = open_workspace(repo, branch, read_only=False)
    proposal_actions = workspace.proposal_actions()
    one = proposal_actions.find(proposal)
    text = read_text_file(resolve) if resolve is not None else None
    given = parse_decisions(text) if text is not None else {}
    actor = identify_actor(workspace, token_file)
    chosen: dict[str, dict[UnitId, Resolution]] = {}

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        chosen.update(resolve_choices(conflicts, given, ours, theirs))
        return chosen

    decisions = None
    if given or ours or theirs:
        find_conflicts(workspace, one)  # raises if one of the branches was deleted
        decisions = RefreshResolutions(choose, *(parse_seen_commits(text) if text is not None else ()))
    left: ConflictSet | None = None
    with console.show_progress("Merging"):
        try:
            acted = proposal_actions.refresh(one.id, actor, decisions)
        except ConflictChanged as error:
            error.fix = f"`docyard proposals conflicts {one.id}` shows the current conflicts; decide those."
            raise
        except MergeConflict as error:
            left = ConflictSet(error.tip, error.theirs, error.conflicts)
    if left is not None:
        given_too = {"--ours": ours, "--theirs": theirs, "--resolve": (resolve,) if resolve else ()}
        again = [word for option, names in given_too.items() for name in names for word in (option, name)]
        return report_conflicts(one, left, as_json=as_json, decided=again)
    resolved = acted.merge.resolved if acted.merge is not None else ()
    named = {format_conflict_name(path, unit): chosen[path][unit].choice.value for path, unit in resolved}
    print_action_result(acted, "refreshed", as_json=as_json, decided=named)
    return Exit.DONE
