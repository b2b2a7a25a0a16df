"""`docyard diff`: what changed between two versions, section by section and word by word."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="diff", short_help="Show what changed between two versions, word by word.")
@click.argument("refs", metavar="[BASE [HEAD]]", nargs=-1, shell_complete=completion.complete_refs)
@click.option(
    "--path",
    "place",
    metavar="FILE[#SECTION]",
    shell_complete=completion.complete_addresses,
    help="Only what changed in this document or section.",
)
@click.option("--markdown", is_flag=True, help="As Markdown, to be pasted elsewhere.")
@click.option(
    "--most",
    metavar="N",
    type=click.IntRange(1_000),
    help="Tell it in about N characters, and count what is left out.",
)
@options.repository
@options.branch
@options.as_json
def command(
    refs: tuple[str, ...],
    place: str | None,
    markdown: bool,
    most: int | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Show what changed between two versions: sections, tasks, front matter, and the words in them.

    Without BASE the branch's last commit is told, without HEAD all that came since BASE. BASE..HEAD means the
    same as BASE HEAD; BASE...HEAD begins where the two part, as a pull request does. Without colours,
    [-words-] went and {+words+} came. Only commits are read; git diff shows what is not committed.

    \b
    Example:
        docyard diff
        docyard diff v1.0 --path guides/setup.md#install
        docyard diff origin/main...HEAD --markdown
    """
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other: choose one")
    if as_json and most:
        raise click.UsageError("--most and --json exclude each other: data is told whole")
    if len(refs) > 2 or (len(refs) == 2 and any(".." in ref for ref in refs)):
        raise click.UsageError("there are too many refs: name at most two, or one such as main...HEAD")
    from docyard.cli.diff_ends import compare_range, resolve_range
    from docyard.cli.proposals.changes import (
        MAX_CHANGES_CHARS,
        Paper,
        changes_to_data,
        changes_to_markdown,
        print_changes,
    )
    from tools.errors import escape_invisible

    workspace = open_workspace(repo, branch)
    with console.show_progress("Comparing"):
        between = resolve_range(workspace, refs)
        found = compare_range(workspace, between, place, find_folder(repo))
    is_empty = not found.documents and not found.files
    if as_json:
        console.print_json({**changes_to_data(found), "commit": found.tip})
    elif is_empty:
        click.echo("No document differs." if not found.reason else f"Not all is told: {found.reason}.")
    elif markdown:
        click.echo(escape_invisible(changes_to_markdown(found, most or MAX_CHANGES_CHARS)))
    else:
        print_changes(Paper(), found, most=most or MAX_CHANGES_CHARS)
    return Exit.DONE
