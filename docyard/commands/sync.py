"""`docyard sync`: the served branch and the proposals are fetched from a remote and pushed to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard import environment
from docyard.cli.sync_report import needs_decision, print_sync, sync_to_data
from docyard.commands import options
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.merge.trees import FileConflict, Resolutions
    from workspace.sync.sync import Choose


@click.command(name="sync", short_help="Fetch the branch and the proposals from a remote, and push them.")
@options.repository
@options.branch
@click.option("--fetch", is_flag=True, help="Only fetch, and follow or join what was fetched.")
@click.option("--push", is_flag=True, help="Only push.")
@click.option(
    "--remote",
    metavar="NAME",
    help="A remote of the repository. [default: remote.name of docyard.toml, the branch's own, origin]",
)
@click.option(
    "--ours",
    multiple=True,
    metavar="CONFLICT",
    help="Decide this for ours: a conflict's name, or a file for all in it. May be repeated.",
)
@click.option(
    "--theirs",
    multiple=True,
    metavar="CONFLICT",
    help="Decide this for theirs: a conflict's name, or a file for all in it. May be repeated.",
)
@click.option(
    "--resolve",
    metavar="FILE",
    help="Decide conflicts as a file says: what --json prints under conflicts, each with its choice.",
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
    resolve: str | None,
    as_json: bool,
) -> int:
    """Fetch the served branch and the proposals, follow the remote, and push what it lacks.

    Nothing is ever forced, here or there. Files with changes of your own are not touched: they refuse the
    step. Where both sides have commits that the other lacks, they are merged, section by section; where both
    changed the same differently, and where the remote has taken commits back, nothing is moved and the exit
    code is 1. Tokens come from DOCYARD_REMOTE_TOKEN or a credential file, keys from the SSH agent. With
    [forge] in docyard.toml, what happened to pull requests there is followed; the token for that is
    DOCYARD_FORGE_TOKEN.

    \b
    Example:
        docyard sync
        docyard sync --ours guides/setup.md --theirs api.md
        docyard sync --push --remote backup --json
    """
    from docyard.forges.pull_request_sync import format_round, round_to_data
    from docyard.forges.rounds import ForgeRounds
    from tools.errors import escape_invisible
    from workspace.sync.sync import sync

    if push and not fetch and (ours or theirs or resolve):
        raise click.UsageError("--push fetches nothing, so there is nothing to decide")
    workspace = open_workspace(repo, branch, read_only=False)
    choose = _chooser(ours, theirs, resolve)
    is_both = fetch == push
    with console.show_progress("Talking to the remote") as progress:
        found = sync(
            workspace,
            environment.read_remote_access(),
            remote=remote,
            fetch=fetch or is_both,
            push=push or is_both,
            choose=choose,
            progress=progress,
        )
        rounds = ForgeRounds(workspace, environment.read_forge_access)
        followed = rounds.follow(found) if found.fetched and remote is None else None
        if followed is not None and followed.wrote and (push or is_both):
            # What was said on the forge is said here now, and others are to read it too.
            sync(workspace, environment.read_remote_access(), remote=remote, fetch=False, restore=False)
    if as_json:
        console.print_json(sync_to_data(found) | {"forge": round_to_data(followed)})
    else:
        print_sync(found, remote)
        for line in format_round(followed) if followed is not None else ():
            click.echo(escape_invisible(line))
    failed = followed is not None and followed.error is not None
    return Exit.PROBLEMS if needs_decision(found) or failed else Exit.DONE


def _chooser(ours: tuple[str, ...], theirs: tuple[str, ...], resolve: str | None) -> Choose | None:
    """Return a function that decides conflicts by the options; None without them. Raises CannotError."""
    if not (ours or theirs or resolve):
        return None
    from docyard.cli.proposals.actions import read_text_file
    from docyard.cli.proposals.conflicts import check_versions, parse_decisions, resolve_choices

    text = read_text_file(resolve) if resolve else None
    given = parse_decisions(text) if text is not None else {}

    def choose(conflicts: Sequence[FileConflict]) -> Resolutions:
        if text is not None:
            check_versions(text, conflicts)
        return resolve_choices(conflicts, given, ours, theirs)

    return choose
