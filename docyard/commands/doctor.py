"""`docyard doctor`: what is wrong with this repository, this index, this environment, and what to type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.commands import options
from docyard.doctor.finding import Finding, Severity
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.workspace import Workspace


@dataclass(slots=True)
class FixReport:
    """The fixes that were made, and those that failed, as text."""

    done: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)


@click.command(name="doctor", short_help="Say what is wrong, and what to type.")
@options.repository
@options.branch
@click.option("--fix", is_flag=True, help="Mend what is safe to mend, and say what was done.")
@options.as_json
def command(repo: Path | None, branch: str | None, fix: bool, as_json: bool) -> int:
    """Say what is wrong with this repository, its index and this environment, and what to type.

    Errors keep something from working, warnings are worth mending, notes need nothing. Without --fix nothing
    is changed. With it, what a crash or a loss of power left is mended: locks of a docyard that died, broken
    objects, torn branches, a damaged index. A branch whose commit was pruned is rebuilt. What is replaced is
    kept; the locks of other programs, your files and your settings are not touched.

    Exits with 1 if an error or a warning is left, with 3 if the repository cannot be opened.

    \b
    Example:
        docyard doctor -C ~/specs --fix
    """
    folder = find_folder(repo)
    with console.show_progress("Checking documents") as progress:
        look = partial(list_findings, folder, branch, progress)
        findings, mended = fix_findings(look) if fix else (look(), FixReport())
    problems = [finding for finding in findings if finding.is_problem]
    if as_json:
        console.print_json(
            {
                "healthy": not problems,
                "findings": [finding.data() for finding in findings],
                "fixed": mended.done,
                "not_fixed": mended.failed,
            }
        )
    else:
        for words in mended.done:
            click.echo(f"fixed: {words}")
        for words in mended.failed:
            click.echo(f"not fixed: {words}")
        for finding in findings:
            click.echo(f"{finding.severity} ({finding.area}): {finding.message}")
            if finding.fix:
                click.echo(f"  fix: {finding.fix}")
        click.echo("Nothing is wrong." if not problems else f"Problems found: {len(problems)}.")
    if any(finding.ends_it for finding in findings):
        return Exit.CANNOT
    return Exit.PROBLEMS if problems else Exit.DONE


def list_findings(
    folder: Path, branch: str | None, progress: console.Progress | None = None
) -> list[Finding]:
    """Return every finding once: several checks may report the same damage."""
    return list(dict.fromkeys(check_all(folder, branch, progress)))


def fix_findings(look: Callable[[], list[Finding]]) -> tuple[list[Finding], FixReport]:
    """Fix the findings one by one, each once; return the remaining findings and the fixes.

    The checks run again after each fix, because it may remove other findings or uncover new ones.
    """
    mended, tried = FixReport(), set[str]()
    while True:
        findings = look()
        finding = next((one for one in findings if one.mend and one.message not in tried), None)
        if finding is None or finding.mend is None:
            return findings, mended
        tried.add(finding.message)
        try:
            words = finding.mend()
        except WorkspaceError as error:
            mended.failed.append(f"{finding.message}: {error.message}")
        except OSError as error:
            mended.failed.append(f"{finding.message}: {error.strerror or type(error).__name__}")
        else:
            mended.done += [words] if words else []


def check_all(
    folder: Path, branch: str | None, progress: console.Progress | None = None
) -> Iterator[Finding]:
    """Yield every finding, in the order repository, index, environment."""
    from docyard.doctor.environment import check_surroundings
    from docyard.doctor.index import check_index
    from docyard.doctor.proposals import check_approvals, check_proposals, check_remote
    from docyard.doctor.repository import build_unreadable_finding, check_repository
    from docyard.doctor.storage import check_damage

    try:
        workspace = open_workspace(folder, branch)
    except WorkspaceError as error:
        yield build_unreadable_finding(error, ends_it=True)
        yield from check_surroundings(None, None)
        return
    told = set()
    for part in (
        check_damage(workspace, partial(_writable, folder, branch)),
        check_repository(workspace, partial(_writable, folder, branch), progress),
        check_proposals(workspace.git),
        check_approvals(workspace),
        check_remote(workspace),
        check_index(workspace),
    ):
        try:
            for finding in part:
                told.add(finding.subject)
                yield finding
        except WorkspaceError as error:  # such as an object that is missing: it ends this part only
            if not told & {error.details.get("ref"), error.details.get("id")}:
                yield build_unreadable_finding(error)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            name = Path(str(error.filename or "a file")).name
            yield Finding(
                Severity.ERROR, "repository", f"{name} cannot be read: {reason}", "Mend its permissions."
            )
    yield from check_surroundings(workspace.git.common_dir, workspace.git.worktree)


def _writable(folder: Path, branch: str | None) -> Workspace:
    return open_workspace(folder, branch, read_only=False)
