"""`docyard doctor`: what is wrong with this repository, this index, this environment, and what to type."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click

from docyard import console
from docyard.checkup.finding import Finding, Severity
from docyard.commands import options
from docyard.exits import Exit
from workspace.errors import WorkspaceError


@click.command(name="doctor", short_help="Say what is wrong, and what to type.")
@options.repository
@options.branch
@options.as_json
def command(repo: Path | None, branch: str | None, as_json: bool) -> int:
    """Say what is wrong with this repository, its index and this environment, and what to type.

    Errors keep something from working, warnings are worth mending, notes need nothing. Nothing is changed.
    Exits with 1 if there is an error or a warning.

    \b
    Example:
        docyard doctor -C ~/specs
    """
    with console.progress("Checking documents") as progress:
        # The same damage may end several parts.
        findings = list(dict.fromkeys(check(options.folder(repo), branch, progress)))
    problems = [finding for finding in findings if finding.is_problem]
    if as_json:
        console.print_json({"healthy": not problems, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            click.echo(f"{finding.severity} ({finding.area}): {finding.message}")
            if finding.fix:
                click.echo(f"  fix: {finding.fix}")
        click.echo("Nothing is wrong." if not problems else f"Problems found: {len(problems)}.")
    return Exit.PROBLEMS if problems else Exit.DONE


def check(folder: Path, branch: str | None, progress: console.Progress | None = None) -> Iterator[Finding]:
    """Every finding, in the order repository, index, environment."""
    from docyard.checkup.index import check_index
    from docyard.checkup.repository import check_repository, refusal
    from docyard.checkup.surroundings import check_surroundings

    try:
        workspace = options.open_workspace(folder, branch)
    except WorkspaceError as error:
        yield refusal(error)
        yield from check_surroundings(None, None)
        return
    for part in (check_repository(workspace, progress), check_index(workspace)):
        try:
            yield from part
        except WorkspaceError as error:  # such as an object that is missing: it ends this part only
            yield refusal(error)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            name = Path(str(error.filename or "a file")).name
            yield Finding(
                Severity.ERROR, "repository", f"{name} cannot be read: {reason}", "Mend its permissions."
            )
    yield from check_surroundings(workspace.git.common_dir, workspace.git.worktree)
