"""`docyard fix`: what is wrong in documents and safe to mend, mended in one commit, or shown."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.commands import options
from docyard.commit_errors import CommittingCommand
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from docyard.cli.fixes import Repair
    from workspace.validation.fixes.change import FixedBytes, SkippedFix

_SHOWN_LEFT = 20
# As `workspace.validation.fixes.fix.FIXABLE_RULES` has them, which is not imported for --help.
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
    short_help="Mend what is safe to mend, in one commit; --anchors adopts a folder.",
)
@click.argument("paths", nargs=-1, metavar="[PATHS]...", type=click.Path(path_type=Path))
@options.repository
@options.branch
@click.option("--anchors", is_flag=True, help="Write each section's address into its heading.")
@click.option("--check", is_flag=True, help="Only show what would be mended in the work tree; 1 if anything.")
@click.option("--write", is_flag=True, help="Mend the files of the work tree, and make no commit.")
@click.option("--staged", is_flag=True, help="With --check: of what is staged.")
@options.ref("With --check: of a branch, tag, commit or @{date}.")
@click.option(
    "--rule",
    "rules",
    metavar="RULE",
    multiple=True,
    type=click.Choice(RULES),
    help="Mend what this rule finds only; it may be given several times.",
)
@click.option("--message", "-m", metavar="TEXT", help="The message of the commit.")
@click.option(
    "--lines",
    metavar="N",
    type=click.IntRange(0),
    default=400,
    show_default=True,
    help="How many lines of the diff are shown at most; 0 shows none.",
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
    """Mend what `docyard validate` finds and what is safe to mend, in the documents at PATHS or in all.

    The mends are applied to the served branch, and become one commit; a file with changes of your own among
    them refuses it. Where only a proposal may change them, the commit is in one that is opened for it. Words,
    titles and levels stay. --anchors adds an explicit anchor to each heading that has none, so that its
    address stays when its words change.

    \b
    Example:
        docyard fix --check
        docyard fix --anchors docs
        docyard fix --write README.md
    """
    _check_options(check=check, write=write, staged=staged, ref=ref, branch=branch, message=message)
    from docyard.cli import fixes

    only = fixes.select_rules(rules, anchors=anchors)
    workspace = open_workspace(repo, branch, read_only=check)
    asked = fixes.FixRequest(workspace, find_folder(repo), paths, only)
    with console.show_progress("Reading documents") as progress:
        if check:
            repair = fixes.check_fixes(asked, staged=staged, ref=ref, progress=progress)
        elif write:
            repair = fixes.write_fixes(asked, progress)
        else:
            repair = fixes.commit_fixes(asked, message, progress)
    with console.ignore_broken_pipe():
        if as_json:
            console.print_json(_data(repair))
        else:
            _print(repair, lines, is_done=not check)
    if repair.unwritten:
        return Exit.CANNOT
    return Exit.PROBLEMS if check and repair.changes else Exit.DONE


def _check_options(
    *, check: bool, write: bool, staged: bool, ref: str | None, branch: str | None, message: str | None
) -> None:
    """Raise UsageError for options that exclude each other."""
    if check and write:
        raise click.UsageError("--check and --write exclude each other")
    if staged and ref is not None:
        raise click.UsageError("--staged and --ref exclude each other")
    if (staged or ref is not None) and not check:
        raise click.UsageError("--staged and --ref only show what would be mended: add --check")
    if (check or write) and message is not None:
        raise click.UsageError("--message is for the commit, and neither --check nor --write makes one")
    if (check or write) and branch is not None:
        raise click.UsageError("--branch is for the commit; --check reads another one by --ref")


def _data(repair: Repair) -> dict[str, object]:
    """Return the repair as data for programs."""
    return {
        "commit": repair.commit,
        **({"proposal": repair.proposal} if repair.proposal else {}),
        "documents": [
            {
                "path": change.path,
                "mends": [{"rule": mend.rule, "line": mend.line} for mend in change.mends],
            }
            for change in repair.changes
        ],
        "mends": dict(sorted(_counts(repair).items())),
        "links_rewritten": repair.links,
        "left": [left._asdict() for left in repair.left],
    }


def _counts(repair: Repair) -> Counter[str]:
    return Counter(mend.rule for change in repair.changes for mend in change.mends)


def _print(repair: Repair, most: int, *, is_done: bool) -> None:
    from tools.errors import escape_invisible

    diff = _diff(repair.changes)
    for line in islice(diff, most):
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        click.secho(escape_invisible(line), fg=colour, bold=line.startswith(("+++", "---")))
    if most and next(diff, None) is not None:
        click.echo("The rest of the diff is not shown; --lines shows more of it.")
    for words in _describe_unfixed(repair.left):
        click.echo(escape_invisible(words), err=True)
    click.echo(_summary(repair, is_done=is_done))


def _diff(changes: Sequence[FixedBytes]) -> Iterator[str]:
    from workspace.validation.fixes.change import format_unified_diff

    for change in changes:
        yield from format_unified_diff(change)


def _describe_unfixed(left: Sequence[SkippedFix]) -> Iterator[str]:
    for one in left[:_SHOWN_LEFT]:
        place = f"{one.path}:{one.line}" if one.line else one.path
        yield f"left: {place}: {one.reason} [{one.rule}]"
    if len(left) > _SHOWN_LEFT:
        yield f"left: {len(left) - _SHOWN_LEFT:,} more, which --json lists"


def _summary(repair: Repair, *, is_done: bool) -> str:
    if repair.unwritten and not repair.changes:
        return "Nothing could be written."
    if repair.uncommitted:
        return (
            "There is nothing to mend in what is committed. Documents with changes that are not committed: "
            f"{repair.uncommitted:,}; `docyard fix --write` mends the files."
        )
    if not repair.changes:
        return "There is nothing to mend."
    counts = _counts(repair)
    told = [f"{count:,} {rule}" for rule, count in sorted(counts.items())]
    if repair.links:
        told.append(f"{repair.links:,} link{'' if repair.links == 1 else 's'} to them")
    files = f"{len(repair.changes):,} document{'' if len(repair.changes) == 1 else 's'}"
    where = f" (commit {repair.commit[:12]})" if repair.commit else ""
    done = f"{'Fixed' if is_done else 'Would fix'} in {files}: {', '.join(told)}{where}."
    if repair.proposal is None:
        return done
    return (
        f"{done}\nOnly a proposal may change some of it, so all of it is in the proposal {repair.proposal}: "
        f"`docyard proposals submit {repair.proposal}` asks for a review."
    )
