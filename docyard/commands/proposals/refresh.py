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


@click.command(name="refresh")
@parameters.proposal_id
@click.option(
    "--ours", metavar="CONFLICT", multiple=True, help="Resolve with the proposal's version. Can be repeated."
)
@click.option(
    "--theirs", metavar="CONFLICT", multiple=True, help="Resolve with the target's version. Can be repeated."
)
@click.option(
    "--union",
    metavar="CONFLICT",
    multiple=True,
    help="Keep both texts, the proposal's first. Can be repeated.",
)
@click.option("--resolve", metavar="FILE", help="A JSON or TOML file with decisions; - for standard input.")
@parameters.actor_options
def command(
    proposal_id: str,
    ours: tuple[str, ...],
    theirs: tuple[str, ...],
    union: tuple[str, ...],
    resolve: str | None,
    token_file: Path | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Merge the target into a proposal, as one commit. No commit is rewritten.

    A section or task that only one side changed gets the version of that side. A section or task that both
    sides changed differently is a conflict: the command prints all conflicts, merges nothing, and exits
    with 1. CONFLICT is the printed name of a conflict, or a file or section for all conflicts in it.

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
        parse_commits,
        parse_decisions,
        report_conflicts,
        resolve_choices,
    )
    from docyard.proposals.conflicts import ConflictSet, find_conflicts
    from workspace.merge.commits import MergeConflict
    from workspace.proposals.actions.refresh import ConflictChanged, RefreshResolutions

    workspace = open_workspace(repo, branch, read_only=False)
    proposal_actions = workspace.proposal_actions()
    proposal = proposal_actions.find(proposal_id)
    text = read_text_file(resolve) if resolve is not None else None
    file_decisions = parse_decisions(text) if text is not None else {}
    actor = identify_actor(workspace, token_file)
    choices: dict[str, dict[UnitId, Resolution]] = {}

    def choose_resolutions(conflicts: Sequence[FileConflict]) -> Resolutions:
        choices.update(resolve_choices(conflicts, file_decisions, ours, theirs, union))
        return choices

    refresh_resolutions = None
    if file_decisions or ours or theirs or union:
        find_conflicts(workspace, proposal)  # raises if one of the branches was deleted
        refresh_resolutions = RefreshResolutions(
            choose_resolutions, *(parse_commits(text) if text is not None else ())
        )
    remaining_conflicts: ConflictSet | None = None
    with console.show_progress("Merging"):
        try:
            result = proposal_actions.refresh(proposal.id, actor, refresh_resolutions)
        except ConflictChanged as error:
            error.fix = (
                f"Resolve the current conflicts: `docyard proposals conflicts {proposal.id}` shows them."
            )
            raise
        except MergeConflict as error:
            remaining_conflicts = ConflictSet(error.tip, error.theirs, error.conflicts)
    if remaining_conflicts is not None:
        arguments_by_option = {
            "--ours": ours,
            "--theirs": theirs,
            "--union": union,
            "--resolve": (resolve,) if resolve else (),
        }
        earlier_options = [
            word
            for option, arguments in arguments_by_option.items()
            for argument in arguments
            for word in (option, argument)
        ]
        return report_conflicts(
            proposal, remaining_conflicts, as_json=as_json, earlier_options=earlier_options
        )
    resolved_units = result.merge.resolved_units if result.merge is not None else ()
    decisions = {
        format_conflict_name(path, unit): choices[path][unit].choice.value for path, unit in resolved_units
    }
    print_action_result(result, "refreshed", as_json=as_json, decisions=decisions)
    return Exit.DONE
