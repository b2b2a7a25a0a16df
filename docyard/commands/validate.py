"""`docyard validate`: a check of the Markdown by the lint rules."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.open_workspace import find_folder
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit
from workspace.config.names import RULE_NAMES, Dialect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docyard.cli.checked_files import CheckedFiles
    from docyard.cli.reports.formats import Report
    from workspace.validation.rule import Finding
    from workspace.validation.run import Validator

FORMATS = ("text", "json", "sarif", "github")


@click.command(name="validate")
@click.argument("paths", nargs=-1, metavar="[PATHS]...", type=click.Path(path_type=Path))
@options.repository
@options.ref("Read a branch, tag, commit or @{date} instead of the work tree.")
@click.option("--staged", is_flag=True, help="Read the staged files instead of the work tree.")
@click.option(
    "--since",
    metavar="REF",
    shell_complete=completion.complete_refs,
    help="Report only findings that are new since the merge base with REF.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(FORMATS),
    help="The output format. [default: text]",
)
@options.as_json
@click.option(
    "--rule",
    "only_rules",
    metavar="RULE",
    multiple=True,
    type=click.Choice(RULE_NAMES),
    help="Check only this rule. Can be repeated.",
)
@click.option(
    "--off",
    "disabled_rules",
    metavar="RULE",
    multiple=True,
    type=click.Choice(RULE_NAMES),
    help="Disable a rule. Can be repeated.",
)
@click.option(
    "--dialect",
    type=click.Choice([dialect.value for dialect in Dialect]),
    help="The rules for link fragments and file endings. [default: that of docyard.toml, else github]",
)
@click.option(
    "--max-findings",
    "max_findings",
    metavar="N",
    type=click.IntRange(min=0),
    help="Print at most N findings.",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1, 64),
    help="Use N processes. [default: depends on the number of documents]",
)
def command(
    paths: tuple[Path, ...],
    repo: Path | None,
    ref: str | None,
    staged: bool,
    since: str | None,
    output_format: str | None,
    as_json: bool,
    only_rules: tuple[str, ...],
    disabled_rules: tuple[str, ...],
    dialect: str | None,
    max_findings: int | None,
    jobs: int | None,
) -> int:
    """Check the Markdown: links, anchors, headings, tasks, front matter, characters.

    All documents of the work tree are checked, also uncommitted documents, except those that Git ignores.
    PATHS are documents and folders to check; the targets of links may be outside PATHS.
    docs/validate.md describes the rules and their settings.

    Exits with 1 if there is an error or a warning.

    \b
    Example:
        docyard validate
        docyard validate guides --rule broken-link --rule broken-fragment
        docyard validate --since origin/main --format github
    """
    if ref is not None and staged:
        raise click.UsageError("--ref and --staged exclude each other")
    if as_json and output_format not in (None, "json"):
        raise click.UsageError("--json and --format exclude each other")
    from docyard.cli.checked_files import collect_checked_files, select_documents
    from docyard.cli.reports.formats import Report

    folder = find_folder(repo)
    checked_files = collect_checked_files(folder, ref, staged)
    validator = _build_validator(checked_files, dialect, only_rules, disabled_rules)
    documents = select_documents(checked_files, folder, paths)
    findings = _collect_findings(validator, documents, jobs, checks_manifests=not paths)
    if since is not None:
        findings = _select_new_findings(checked_files, validator, findings, since)
    findings = validator.add_suggestions(findings)
    fix_command = _format_fix_command(checked_files, ref, staged)
    report = Report(
        findings, len(documents), checked_files.origin, checked_files.commit, max_findings, fix_command
    )
    with console.ignore_broken_pipe():
        click.echo(_format_report(report, "json" if as_json else output_format or "text"))
    return Exit.DONE if report.is_valid else Exit.PROBLEMS


def _build_validator(
    checked_files: CheckedFiles, dialect: str | None, only_rules: Sequence[str], disabled_rules: Sequence[str]
) -> Validator:
    from docyard.cli.checked_files import find_drifts
    from workspace.validation.run import RuleSelection, Validator

    files, config = checked_files.files, checked_files.files.config
    if dialect is not None:
        links = config.links.model_copy(update={"dialect": Dialect(dialect)})
        files = replace(files, settings=config.model_copy(update={"links": links}))
    selection = RuleSelection(
        config.validation, frozenset(only_rules) if only_rules else None, frozenset(disabled_rules)
    )
    drifts = find_drifts(
        checked_files.git, checked_files.commit, selection, warn=partial(click.echo, err=True)
    )
    return Validator(files, selection, drifts).with_identifier_problems()


def _collect_findings(
    validator: Validator, documents: Sequence[str], jobs: int | None, *, checks_manifests: bool
) -> list[Finding]:
    from docyard.cli.checked_files import collect_findings

    with console.show_progress("Validating documents") as progress:
        findings = collect_findings(validator, documents, jobs, progress)
    if checks_manifests:
        findings += validator.check_manifests()
    return sorted(findings, key=lambda finding: (finding.path, finding.line, finding.column))


def _select_new_findings(
    checked_files: CheckedFiles, validator: Validator, findings: list[Finding], since: str
) -> list[Finding]:
    """Return the findings that the merge base with `since` does not have.

    At the merge base, only the manifests and the documents with findings are checked.
    """
    from docyard.cli.checked_files import find_drifts, find_range_start
    from workspace.validation.files import BlobReader, list_commit
    from workspace.validation.run import Validator, exclude_earlier_findings, map_earlier_paths

    if checked_files.git is None:
        raise CommandError("--since needs a Git repository", fix="Omit --since.")
    start = find_range_start(checked_files.git, since, checked_files.commit)
    earlier_files = list_commit(checked_files.git, start)
    earlier_validator = Validator(
        replace(earlier_files, settings=validator.files.config),
        validator.selection,
        find_drifts(checked_files.git, start, validator.selection),
    ).with_identifier_problems()
    blobs = earlier_files.reader.blobs if isinstance(earlier_files.reader, BlobReader) else {}
    earlier_paths = map_earlier_paths(
        validator.files, earlier_validator.files, blobs, sorted({finding.path for finding in findings})
    )
    documents = sorted({*earlier_paths.values()}.intersection(earlier_validator.files.documents))
    return exclude_earlier_findings(
        findings, _collect_findings(earlier_validator, documents, None, checks_manifests=True), earlier_paths
    )


def _format_fix_command(checked_files: CheckedFiles, ref: str | None, staged: bool) -> str | None:
    """Return the command that previews the fixes; None if the files are not in a repository."""
    if checked_files.git is None:
        return None
    options_text = " --staged" if staged else f" --ref {ref}" if ref else ""
    return f"docyard fix --check{options_text}"


def _format_report(report: Report, output_format: str) -> str:
    match output_format:
        case "json":
            from docyard.cli.reports.formats import format_json

            return format_json(report)
        case "sarif":
            from docyard.cli.reports.formats import format_sarif

            return format_sarif(report)
        case "github":
            from docyard.cli.reports.formats import format_annotations

            return format_annotations(report)
        case _:
            from docyard.cli.reports.formats import format_text

            return format_text(report)
