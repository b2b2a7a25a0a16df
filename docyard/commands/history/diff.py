"""`docyard diff`: the changes between two versions, section by section and word by word."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="diff")
@click.argument("refs", metavar="[BASE [HEAD]]", nargs=-1, shell_complete=completion.complete_refs)
@click.option(
    "--path",
    "address",
    metavar="FILE[#SECTION]",
    shell_complete=completion.complete_addresses,
    help="Show only the changes in this document or section.",
)
@click.option("--markdown", is_flag=True, help="Print Markdown.")
@click.option(
    "--most",
    "max_chars",
    metavar="N",
    type=click.IntRange(1_000),
    help="Print about N characters at most, and the number of omitted documents.",
)
@options.repository
@options.branch
@options.pager
@options.as_json
def command(
    refs: tuple[str, ...],
    address: str | None,
    markdown: bool,
    max_chars: int | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Show the changes between two versions: sections, tasks, front matter, and their words.

    Without BASE the branch's last commit is shown; without HEAD, all changes since BASE. BASE..HEAD is the
    same as BASE HEAD; BASE...HEAD starts at the merge base, as a pull request does. Without colours,
    [-words-] marks removed and {+words+} added words. Only commits are read; git diff shows uncommitted
    changes.

    \b
    Example:
        docyard diff
        docyard diff v1.0 --path guides/setup.md#install
        docyard diff origin/main...HEAD --markdown
    """
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other: choose one")
    if as_json and max_chars:
        raise click.UsageError("--most and --json exclude each other: JSON is never truncated")
    if len(refs) > 2 or (len(refs) == 2 and any(".." in ref for ref in refs)):
        raise click.UsageError("too many refs: name at most two, or one range such as main...HEAD")
    from docyard.cli.commit_range import compare_range, resolve_range
    from docyard.cli.proposals.changes import (
        MAX_CHANGES_CHARS,
        PagePrinter,
        changes_to_data,
        changes_to_markdown,
        print_changes,
    )
    from workspace.escapes import escape_invisible

    workspace = open_workspace(repo, branch)
    with console.show_progress("Comparing"):
        commits = resolve_range(workspace, refs)
        changes = compare_range(workspace, commits, address, find_folder(repo))
    is_empty = not changes.documents and not changes.files
    if as_json:
        console.print_json({**changes_to_data(changes), "commit": changes.tip})
    elif is_empty:
        click.echo(
            "No document differs." if not changes.reason else f"Some changes are not shown: {changes.reason}."
        )
    elif markdown:
        click.echo(escape_invisible(changes_to_markdown(changes, max_chars or MAX_CHANGES_CHARS)))
    else:
        print_changes(PagePrinter(), changes, max_chars=max_chars or MAX_CHANGES_CHARS)
    return Exit.DONE
