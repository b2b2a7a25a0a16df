"""`docyard doctor`: problems of this repository, its index and the environment, with their fixes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.commands import options
from docyard.doctor.finding import Finding, Severity
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console, styles
from docyard.terminal.exits import Exit
from docyard.terminal.suggested_commands import complete_commands
from workspace.errors import WorkspaceError
from workspace.escapes import escape_invisible

if TYPE_CHECKING:
    from workspace.workspace import Workspace


@dataclass(slots=True)
class FixReport:
    """The applied and the failed fixes, as text."""

    fixes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@click.command(name="doctor")
@options.repository
@options.branch
@click.option("--fix", is_flag=True, help="Fix the problems that are safe to fix, and report the fixes.")
@options.as_json
def command(repo: Path | None, branch: str | None, fix: bool, as_json: bool) -> int:
    """Report problems of this repository, its index and the environment, and how to fix them.

    Errors prevent an operation, warnings should be fixed, and notes need no action. Problems come first;
    missing optional extras are one line, and --json has the command for each. Without --fix nothing is
    changed. With --fix, damage by a crash or a power loss is repaired: locks of a dead docyard process,
    broken objects, invalid branch files, a damaged index. A branch whose commit was pruned is rebuilt.
    Replaced files are preserved. Other programs' locks, your files and your settings do not change.

    Exits with 1 if an error or a warning remains, with 3 if the repository cannot be opened.

    \b
    Example:
        docyard doctor -C ~/specs --fix
    """
    folder = find_folder(repo)
    with console.show_progress("Checking documents") as progress:
        run_checks = partial(list_findings, folder, branch, progress)
        findings, report = fix_findings(run_checks) if fix else (run_checks(), FixReport())
    findings = [replace(finding, fix=complete_commands(finding.fix)) for finding in findings]
    problems = [finding for finding in findings if finding.is_problem]
    if as_json:
        console.print_json(
            {
                "healthy": not problems,
                "findings": [finding.to_data() for finding in findings],
                "fixed": report.fixes,
                "not_fixed": report.failures,
            }
        )
    else:
        for message in report.fixes:
            click.echo(f"fixed: {message}")
        for message in report.failures:
            click.echo(f"not fixed: {message}")
        for finding in sorted(findings, key=lambda finding: not finding.is_problem):
            if finding.extra:
                continue
            severity = styles.add_style(finding.severity, styles.SEVERITIES[finding.severity])
            click.echo(f"{severity} ({finding.area}): {escape_invisible(finding.message)}")
            if finding.fix:
                click.echo(f"  fix: {escape_invisible(finding.fix)}")
        if extras := [finding.extra for finding in findings if finding.extra]:
            click.echo(f"Optional extras not installed: {', '.join(extras)}; --json has their commands.")
        summary = f"Problems found: {len(problems)}." if problems else "Nothing is wrong."
        click.echo(styles.add_style(summary, styles.FAILED if problems else styles.PASSED))
    if any(finding.is_fatal for finding in findings):
        return Exit.CANNOT_RUN
    return Exit.PROBLEMS if problems else Exit.DONE


def list_findings(
    folder: Path, branch: str | None, progress: console.ReportProgress | None = None
) -> list[Finding]:
    """Return every finding once, even if several checks report the same damage."""
    return list(dict.fromkeys(check_all(folder, branch, progress)))


def fix_findings(run_checks: Callable[[], list[Finding]]) -> tuple[list[Finding], FixReport]:
    """Fix the findings one by one, each at most once; return the remaining findings and the fixes.

    The checks run again after each fix, because a fix may remove other findings or expose new findings.
    """
    report, tried_messages = FixReport(), set[str]()
    while True:
        findings = run_checks()
        finding = next(
            (
                candidate
                for candidate in findings
                if candidate.apply_fix and candidate.message not in tried_messages
            ),
            None,
        )
        if finding is None or finding.apply_fix is None:
            return findings, report
        tried_messages.add(finding.message)
        try:
            description = finding.apply_fix()
        except WorkspaceError as error:
            report.failures.append(f"{finding.message}: {error.message}")
        except OSError as error:
            report.failures.append(f"{finding.message}: {error.strerror or type(error).__name__}")
        else:
            report.fixes += [description] if description else []


def check_all(
    folder: Path, branch: str | None, progress: console.ReportProgress | None = None
) -> Iterator[Finding]:
    """Yield every finding, in the order repository, rules, proposals, remote, index, environment."""
    from docyard import environment
    from docyard.doctor.engine import check_engine
    from docyard.doctor.environment import check_repository_state
    from docyard.doctor.index import check_index
    from docyard.doctor.proposals import check_approvals, check_proposals, check_remote, check_remote_urls
    from docyard.doctor.repository import build_unreadable_finding, check_repository
    from docyard.doctor.rules import check_rules
    from docyard.doctor.storage import check_damage

    try:
        workspace = open_workspace(folder, branch, warns=False, checks_settings=False)
    except WorkspaceError as error:
        yield build_unreadable_finding(error, is_fatal=True)
        yield from check_repository_state(None, None)
        return
    reported_subjects = set()
    for findings in (
        check_damage(workspace, partial(_open_writable, folder, branch)),
        check_repository(workspace, partial(_open_writable, folder, branch), progress),
        check_rules(workspace),
        check_proposals(workspace),
        check_approvals(workspace),
        check_remote_urls(workspace.git),
        check_remote(workspace),
        check_index(workspace),
        check_engine(environment.read_engine_options()),
    ):
        try:
            for finding in findings:
                reported_subjects.add(finding.subject)
                yield finding
        except WorkspaceError as error:  # for example, a missing object, which ends only this check
            if not reported_subjects & {error.details.get("ref"), error.details.get("id")}:
                yield build_unreadable_finding(error)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            name = Path(str(error.filename or "a file")).name
            yield Finding(
                Severity.ERROR, "repository", f"{name} cannot be read: {reason}", "Fix its permissions."
            )
    yield from check_repository_state(workspace.git.common_dir, workspace.git.worktree)


def _open_writable(folder: Path, branch: str | None) -> Workspace:
    return open_workspace(folder, branch, read_only=False, warns=False, checks_settings=False)
