"""`docyard fix`: safe fixes of findings in documents, in one commit or as a preview."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.commands import options
from docyard.commit_errors import CommittingCommand
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console, styles
from docyard.terminal.exits import Exit
from docyard.terminal.suggested_commands import complete_commands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from docyard.cli.fixes import FixOutcome
    from workspace.validation.fixes.change import DocumentRewrite, FixRemark

_MAX_UNFIXED_LISTED = 20
# A copy of `workspace.validation.fixes.fix.FIXABLE_RULES`, so that --help does not import that module.
RULES = (
    "broken-fragment",
    "broken-image",
    "broken-link",
    "derived-anchor",
    "invisible-character",
    "malformed-task",
    "missing-anchor",
    "trailing-space",
)


@click.command(
    cls=CommittingCommand,
    name="fix",
)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", type=click.Path(path_type=Path))
@options.repository
@options.branch
@click.option("--anchors", is_flag=True, help="Write each section's address into its heading.")
@click.option(
    "--check", is_flag=True, help="Only show the fixes for the work tree; exit with 1 if there are fixes."
)
@click.option("--write", is_flag=True, help="Fix the files of the work tree, without a commit.")
@click.option("--staged", is_flag=True, help="With --check: read the staged files.")
@options.ref("With --check: read a branch, tag, commit or @{date}.")
@click.option(
    "--rule",
    "rules",
    metavar="RULE",
    multiple=True,
    type=click.Choice(RULES),
    help="Fix only the findings of this rule. Can be repeated.",
)
@click.option("--message", "-m", metavar="TEXT", help="The message of the commit.")
@click.option(
    "--lines",
    metavar="N",
    type=click.IntRange(0),
    default=400,
    show_default=True,
    help="The maximum number of lines of the diff; 0 shows no diff.",
)
@options.as_json
def command(
    paths: tuple[Path, ...],
    repo: Path | None,
    branch: str | None,
    anchors: bool,
    check: bool,
    write: bool,
    staged: bool,
    ref: str | None,
    rules: tuple[str, ...],
    message: str | None,
    lines: int,
    as_json: bool,
) -> int:
    """Fix findings of `docyard validate` that are safe to fix, in the documents at PATHS or in all documents.

    The fixes become one commit on the served branch. The command fails if one of the files has uncommitted
    changes. If a document is protected, the commit is on a new proposal. Words, titles and levels do not
    change. --anchors adds an explicit anchor to each heading without an anchor, so that the section's address
    does not change with the title.

    \b
    Example:
        docyard fix --check
        docyard fix --anchors docs
        docyard fix --write README.md
    """
    _check_options(check=check, write=write, staged=staged, ref=ref, branch=branch, message=message)
    from docyard.cli import fixes

    selected_rules = fixes.select_rules(rules, anchors=anchors)
    workspace = open_workspace(repo, branch, read_only=check)
    request = fixes.FixRequest(workspace, find_folder(repo), paths, selected_rules)
    with console.show_progress("Reading documents") as progress:
        if check:
            outcome = fixes.preview_fixes(request, staged=staged, ref=ref, progress=progress)
        elif write:
            outcome = fixes.write_fixes(request, progress)
        else:
            outcome = fixes.commit_fixes(request, message, progress)
    with console.ignore_broken_pipe():
        if as_json:
            console.print_json(_outcome_to_data(outcome))
        else:
            _print_outcome(outcome, lines, is_applied=not check)
    if outcome.unwritten_count:
        return Exit.CANNOT_RUN
    return Exit.PROBLEMS if check and outcome.changes else Exit.DONE


def _check_options(
    *, check: bool, write: bool, staged: bool, ref: str | None, branch: str | None, message: str | None
) -> None:
    """Raise UsageError if options exclude each other."""
    if check and write:
        raise click.UsageError("--check and --write exclude each other")
    if staged and ref is not None:
        raise click.UsageError("--staged and --ref exclude each other")
    if (staged or ref is not None) and not check:
        raise click.UsageError("--staged and --ref only preview fixes: add --check")
    if (check or write) and message is not None:
        raise click.UsageError("--message needs a commit, but --check and --write make no commit")
    if (check or write) and branch is not None:
        raise click.UsageError("--branch needs a commit; name the branch to check with --ref")


def _outcome_to_data(outcome: FixOutcome) -> dict[str, object]:
    """Return the outcome as JSON data. Skipped fixes are in the field `left`."""
    return {
        "commit": outcome.commit,
        **({"proposal": outcome.proposal} if outcome.proposal else {}),
        "documents": [
            {
                "path": change.path,
                "mends": [{"rule": fix.rule, "line": fix.line} for fix in change.fixes],
            }
            for change in outcome.changes
        ],
        "mends": dict(sorted(_count_by_rule(outcome).items())),
        "links_rewritten": outcome.link_count,
        "left": [skipped_fix._asdict() for skipped_fix in outcome.unfixed],
    }


def _count_by_rule(outcome: FixOutcome) -> Counter[str]:
    return Counter(fix.rule for change in outcome.changes for fix in change.fixes)


def _print_outcome(outcome: FixOutcome, max_lines: int, *, is_applied: bool) -> None:
    from workspace.escapes import escape_invisible

    diff = _format_diff(outcome.changes)
    for line in islice(diff, max_lines):
        style = styles.TITLE if line.startswith(("+++", "---")) else styles.DIFF_LINES.get(line[:1], "")
        click.echo(styles.add_style(escape_invisible(line), style))
    if max_lines and next(diff, None) is not None:
        click.echo("The diff is truncated; --lines shows more lines.")
    for line in _describe_unfixed(outcome.unfixed):
        click.echo(escape_invisible(line), err=True)
    click.echo(complete_commands(_summarize(outcome, is_applied=is_applied)))


def _format_diff(changes: Sequence[DocumentRewrite]) -> Iterator[str]:
    from workspace.validation.fixes.change import format_unified_diff

    for change in changes:
        yield from format_unified_diff(change)


def _describe_unfixed(unfixed: Sequence[FixRemark]) -> Iterator[str]:
    for skipped_fix in unfixed[:_MAX_UNFIXED_LISTED]:
        position = f"{skipped_fix.path}:{skipped_fix.line}" if skipped_fix.line else skipped_fix.path
        yield f"not fixed: {position}: {skipped_fix.reason} [{skipped_fix.rule}]"
    if len(unfixed) > _MAX_UNFIXED_LISTED:
        yield f"not fixed: {len(unfixed) - _MAX_UNFIXED_LISTED:,} more, which --json lists"


def _summarize(outcome: FixOutcome, *, is_applied: bool) -> str:
    if outcome.unwritten_count and not outcome.changes:
        return "No file could be written."
    if outcome.uncommitted_count:
        return (
            "There is nothing to fix in the commit. Documents with uncommitted changes: "
            f"{outcome.uncommitted_count:,}; `docyard fix --write` fixes the files."
        )
    if not outcome.changes:
        return "There is nothing to fix."
    counts = _count_by_rule(outcome)
    count_texts = [f"{count:,} {rule}" for rule, count in sorted(counts.items())]
    if outcome.link_count:
        count_texts.append(f"{outcome.link_count:,} updated link{'' if outcome.link_count == 1 else 's'}")
    document_text = f"{len(outcome.changes):,} document{'' if len(outcome.changes) == 1 else 's'}"
    commit_text = f" (commit {outcome.commit[:12]})" if outcome.commit else ""
    result = (
        f"{'Fixed' if is_applied else 'Would fix'} in {document_text}: {', '.join(count_texts)}{commit_text}."
    )
    if outcome.proposal is None:
        return result
    return (
        f"{result}\nSome documents are protected, so all fixes are in the proposal {outcome.proposal}: "
        f"`docyard proposals submit {outcome.proposal}` requests a review."
    )
