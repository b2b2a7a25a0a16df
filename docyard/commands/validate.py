"""`docyard validate`: whether the Markdown is sound."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.open_workspace import find_folder
from docyard.terminal import console
from docyard.terminal.exits import CannotError, Exit
from workspace.config.tables import NAMES, Dialect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docyard.cli.reports.formats import Report
    from docyard.cli.validate_sources import Sources
    from workspace.validation.rule import Finding
    from workspace.validation.run import Validator

FORMATS = ("text", "json", "sarif", "github")


@click.command(name="validate", short_help="Say whether the Markdown is sound.")
@click.argument("paths", nargs=-1, metavar="[PATHS]...", type=click.Path(path_type=Path))
@options.repository
@options.ref("Read a branch, tag, commit or @{date} instead of the work tree.")
@click.option("--staged", is_flag=True, help="Read what is staged instead of the work tree.")
@click.option(
    "--since",
    metavar="REF",
    shell_complete=completion.complete_refs,
    help="Tell only of what is new since the history of REF was left.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="How to print it: for people, for programs, for code scanning, as annotations. [default: text]",
)
@options.as_json
@click.option(
    "--rule",
    "only",
    metavar="RULE",
    multiple=True,
    type=click.Choice(NAMES),
    help="Hold documents against this rule only; it may be given several times.",
)
@click.option("--off", metavar="RULE", multiple=True, type=click.Choice(NAMES), help="Switch a rule off.")
@click.option(
    "--dialect",
    type=click.Choice([dialect.value for dialect in Dialect]),
    help="Whose fragments and endings links have. [default: as docyard.toml says, else github]",
)
@click.option(
    "--max-findings", "most", metavar="N", type=click.IntRange(min=0), help="Print at most N findings."
)
@click.option(
    "--jobs", metavar="N", type=click.IntRange(1, 64), help="Use N processes. [default: as many as help]"
)
def command(
    paths: tuple[Path, ...],
    repo: Path | None,
    ref: str | None,
    staged: bool,
    since: str | None,
    form: str | None,
    as_json: bool,
    only: tuple[str, ...],
    off: tuple[str, ...],
    dialect: str | None,
    most: int | None,
    jobs: int | None,
) -> int:
    """Say whether the Markdown is sound: links, anchors, headings, tasks, front matter, characters.

    The documents of the work tree are read, changed and new ones too; those that Git ignores are not. PATHS
    are documents and folders to look at, but links may lead anywhere. docs/validate.md has the rules, and how
    to switch them.

    Exits with 1 if an error or a warning was found.

    \b
    Example:
        docyard validate
        docyard validate guides --rule broken-link --rule broken-fragment
        docyard validate --since origin/main --format github
    """
    if ref is not None and staged:
        raise click.UsageError("--ref and --staged exclude each other")
    if as_json and form not in (None, "json"):
        raise click.UsageError("--json and --format exclude each other")
    from docyard.cli.reports.formats import Report
    from docyard.cli.validate_sources import collect_sources, select_documents

    folder = find_folder(repo)
    gathered = collect_sources(folder, ref, staged)
    validator = _validator(gathered, dialect, only, off)
    documents = select_documents(gathered, folder, paths)
    found = _findings(validator, documents, jobs, manifests=not paths)
    if since is not None:
        found = _select_new(gathered, validator, found, since)
    found = validator.suggested(found)
    mending = _format_fix_command(gathered, ref, staged)
    report = Report(found, len(documents), gathered.where, gathered.commit, most, mending)
    with console.ignore_broken_pipe():
        click.echo(_format_report(report, "json" if as_json else form or "text"))
    return Exit.DONE if report.is_valid else Exit.PROBLEMS


def _validator(gathered: Sources, dialect: str | None, only: Sequence[str], off: Sequence[str]) -> Validator:
    from workspace.validation.run import Selection, Validator

    files, config = gathered.files, gathered.files.config
    if dialect is not None:
        links = config.links.model_copy(update={"dialect": Dialect(dialect)})
        files = replace(files, settings=config.model_copy(update={"links": links}))
    return Validator(files, Selection(config.validation, frozenset(only) if only else None, frozenset(off)))


def _findings(
    validator: Validator, documents: Sequence[str], jobs: int | None, *, manifests: bool
) -> list[Finding]:
    from docyard.cli.validate_sources import collect_findings

    with console.show_progress("Validating documents") as progress:
        found = collect_findings(validator, documents, jobs, progress)
    if manifests:
        found += validator.check_manifests()
    return sorted(found, key=lambda one: one[2:5])


def _select_new(gathered: Sources, validator: Validator, found: list[Finding], since: str) -> list[Finding]:
    """Return the new findings. Only documents with findings are checked at the earlier commit."""
    from docyard.cli.validate_sources import find_range_start
    from workspace.validation.files import BlobReader, list_commit
    from workspace.validation.run import Validator, exclude_earlier, map_earlier_paths

    if gathered.git is None:
        raise CannotError("--since needs a Git repository", fix="Leave it out.")
    before = list_commit(gathered.git, find_range_start(gathered.git, since, gathered.commit))
    earlier = Validator(replace(before, settings=validator.files.config), validator.selection)
    blobs = before.reader.blobs if isinstance(before.reader, BlobReader) else {}
    was_at = map_earlier_paths(validator.files, earlier.files, blobs, sorted({one.path for one in found}))
    documents = sorted({*was_at.values()}.intersection(earlier.files.documents))
    return exclude_earlier(found, _findings(earlier, documents, None, manifests=True), was_at)


def _format_fix_command(gathered: Sources, ref: str | None, staged: bool) -> str | None:
    """Return the command that previews the fixes; none without a repository."""
    if gathered.git is None:
        return None
    source = " --staged" if staged else f" --ref {ref}" if ref else ""
    return f"docyard fix --check{source}"


def _format_report(report: Report, form: str) -> str:
    match form:
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
