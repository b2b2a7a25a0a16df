"""`docyard sync`: synchronisation of the served branch and the proposals with a remote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard import environment
from docyard.cli.sync_report import needs_resolution, print_sync, sync_to_data
from docyard.commands import options
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit
from docyard.terminal.suggested_commands import complete_commands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.merge.trees import FileConflict, Resolutions
    from workspace.sync.sync import ChooseResolutions


@click.command(name="sync")
@options.repository
@options.branch
@click.option("--fetch", is_flag=True, help="Only fetch, and fast-forward or merge.")
@click.option("--push", is_flag=True, help="Only push.")
@click.option(
    "--remote",
    metavar="NAME",
    help="A remote of the repository. [default: remote.name of docyard.toml, the branch's upstream, origin]",
)
@click.option(
    "--ours",
    multiple=True,
    metavar="CONFLICT",
    help="Resolve a conflict, or all conflicts in a file, with the local version. Can be repeated.",
)
@click.option(
    "--theirs",
    multiple=True,
    metavar="CONFLICT",
    help="Resolve a conflict, or all conflicts in a file, with the remote's version. Can be repeated.",
)
@click.option(
    "--union",
    multiple=True,
    metavar="CONFLICT",
    help="Resolve a conflict of texts with both, the local text first. Can be repeated.",
)
@click.option(
    "--resolve",
    metavar="FILE",
    help="Read decisions from a file: the field conflicts of --json, each with a choice.",
)
@options.as_json
def command(
    repo: Path | None,
    branch: str | None,
    fetch: bool,
    push: bool,
    remote: str | None,
    ours: tuple[str, ...],
    theirs: tuple[str, ...],
    union: tuple[str, ...],
    resolve: str | None,
    as_json: bool,
) -> int:
    """Fetch and push the served branch and the proposals.

    No branch is ever force-pushed or reset. The command fails if a file with uncommitted changes would
    change. If both sides have new commits, they are merged section by section. After a conflict, or a force
    push to the remote, no branch is changed and the command exits with 1. Tokens are read from
    DOCYARD_REMOTE_TOKEN or a credential file, keys from the SSH agent. With [forge] in docyard.toml, events
    of pull requests are imported with the token DOCYARD_FORGE_TOKEN.

    \b
    Example:
        docyard sync
        docyard sync --ours guides/setup.md --theirs api.md
        docyard sync --push --remote backup --json
    """
    from docyard.forges.forge_checker import ForgeChecker
    from docyard.forges.pull_request_sync import check_result_to_data, format_check_result
    from workspace.escapes import escape_invisible
    from workspace.sync.sync import sync

    if push and not fetch and (ours or theirs or union or resolve):
        raise click.UsageError(
            "--push fetches nothing, so there are no conflicts: omit --ours, --theirs, --union and --resolve"
        )
    workspace = open_workspace(repo, branch, read_only=False, checks_settings=False)
    choose = _build_conflict_resolver(ours, theirs, union, resolve)
    is_bidirectional = fetch == push
    with console.show_progress("Synchronising with the remote") as progress:
        result = sync(
            workspace,
            environment.read_remote_access(),
            remote=remote,
            fetch=fetch or is_bidirectional,
            push=push or is_bidirectional,
            choose=choose,
            progress=progress,
        )
        forge_checker = ForgeChecker(workspace, environment.read_forge_access)
        check_result = forge_checker.import_changes(result) if result.has_fetched and remote is None else None
        if check_result is not None and check_result.wrote_events and (push or is_bidirectional):
            # Push the events that were imported from the forge.
            sync(workspace, environment.read_remote_access(), remote=remote, fetch=False, restore=False)
    if as_json:
        console.print_json(sync_to_data(result) | {"forge": check_result_to_data(check_result)})
    else:
        print_sync(result)
        for line in format_check_result(check_result) if check_result is not None else ():
            click.echo(escape_invisible(complete_commands(line)))
    has_failed = check_result is not None and check_result.error is not None
    return Exit.PROBLEMS if needs_resolution(result) or has_failed else Exit.DONE


def _build_conflict_resolver(
    ours: tuple[str, ...], theirs: tuple[str, ...], union: tuple[str, ...], resolve: str | None
) -> ChooseResolutions | None:
    """Return a function that resolves conflicts as the options specify; None if no option is given."""
    if not (ours or theirs or union or resolve):
        return None
    from docyard.cli.proposals.actions import read_text_file
    from docyard.cli.proposals.conflicts import check_versions, parse_decisions, resolve_choices

    text = read_text_file(resolve) if resolve else None
    decisions = parse_decisions(text) if text is not None else {}

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        if text is not None:
            check_versions(text, conflicts)
        return resolve_choices(conflicts, decisions, ours, theirs, union)

    return choose
