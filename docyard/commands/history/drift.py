"""`docyard drift`: the sections whose code changed after their text last did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from docyard.terminal.console import ReportProgress
    from workspace.history.drift import DriftReport
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_DEFAULT_COMMITS = 3
_MAX_COMMITS = 1_000


@click.command(name="drift")
@click.argument("folder", metavar="[FOLDER]", default=".", shell_complete=completion.complete_addresses)
@click.option(
    "--since",
    metavar="REF",
    shell_complete=completion.complete_refs,
    help="List the sections that are the same since the merge base with REF, although their code changed.",
)
@click.option(
    "--commits",
    "max_commits",
    type=click.IntRange(1, _MAX_COMMITS),
    default=_DEFAULT_COMMITS,
    show_default=True,
    help="The maximum number of commits for each section.",
)
@click.option("--markdown", is_flag=True, help="Print Markdown; nothing if there is no drift.")
@click.option(
    "--comment",
    "pull_request",
    metavar="NUMBER",
    type=click.IntRange(1),
    help="Write the Markdown as a comment on this pull request, and update it in later runs.",
)
@click.option(
    "--forge",
    "forge_kind",
    type=click.Choice(("github", "gitlab", "gitea")),
    help="The kind of the forge, for --comment. [default: that of docyard.toml, or of the remote's host]",
)
@options.repository
@options.branch
@options.ref("The branch, tag, commit or @{date} to read. [default: the branch's tip]")
@options.as_json
def command(
    folder: str,
    since: str | None,
    max_commits: int,
    markdown: bool,
    pull_request: int | None,
    forge_kind: str | None,
    repo: Path | None,
    branch: str | None,
    ref: str | None,
    as_json: bool,
) -> int:
    """List the sections whose code changed after their text last did, with the later commits.

    A section names its code by a list item such as `- Covers: src/auth/**, src/login.py`, a document by
    `covers` in its front matter. FOLDER is a folder or a document of the workspace.

    `docyard validate --rule drift` fails for such sections. --comment reads DOCYARD_FORGE_TOKEN.

    \b
    Example:
        docyard drift
        docyard drift guides --commits 10
        docyard drift --since origin/main --markdown
    """
    if as_json and (markdown or pull_request):
        raise click.UsageError("--json excludes --markdown and --comment")
    if forge_kind is not None and pull_request is None:
        raise click.UsageError("--forge needs --comment")
    from docyard.cli.drift_report import format_markdown, print_drifts
    from tools.planning.view_drift import describe_drift, describe_gaps
    from tools.read_context import list_paths, normalize_folder

    workspace = open_workspace(repo, branch)
    with console.show_progress("Searching the history") as progress:
        snapshot, report = _find_drifts(workspace, ref, since, progress)
    paths = frozenset(list_paths(snapshot, normalize_folder(folder)))
    drifts = [drift for drift in report.drifts if drift.path in paths]
    finder = workspace.drift_finder()
    for gap in describe_gaps(report):
        click.echo(gap, err=True)
    if as_json:
        console.print_json(
            {
                "drift": [describe_drift(finder, snapshot.git, drift, max_commits) for drift in drifts],
                "covered": report.covered_count,
                "complete": report.is_complete,
                "commit": snapshot.commit,
            }
        )
    elif pull_request is not None:
        text = format_markdown(finder, drifts, since=since)
        click.echo(_publish_comment(workspace, forge_kind, pull_request, text))
    elif markdown:
        click.echo(format_markdown(finder, drifts, since=since), nl=False)
    else:
        print_drifts(finder, snapshot.git, drifts, report, max_commits, is_range=since is not None)
    return Exit.PROBLEMS if report.unreadable_paths else Exit.DONE


def _find_drifts(
    workspace: Workspace, ref: str | None, since: str | None, progress: ReportProgress | None
) -> tuple[Snapshot, DriftReport]:
    if since is None:
        snapshot = workspace.at(ref)
        return snapshot, workspace.drift_finder().find(snapshot, progress)
    from docyard.cli.commit_range import resolve_range

    commits = resolve_range(workspace, [f"{since}...{ref or ''}"])
    return commits.new, workspace.drift_finder().find_between(*commits)


def _publish_comment(workspace: Workspace, forge_kind: str | None, number: int, text: str) -> str:
    """Write, update or clear the comment on a pull request, and return the result as a sentence."""
    from docyard import environment
    from docyard.forges.open_forge import create_forge, find_forge_repository
    from docyard.forges.report_comment import publish_report_comment

    repository = find_forge_repository(workspace, environment.read_forge_access(), forge_kind)
    if repository is None:
        raise CommandError(
            "the workspace has no forge to comment on",
            fix="Name its kind with --forge, or add [forge] to docyard.toml.",
        )
    forge = create_forge(repository)
    try:
        action = publish_report_comment(forge, number, "drift", text)
    finally:
        forge.close_connections()
    return f"Comment on pull request {number}: {action.value}."
