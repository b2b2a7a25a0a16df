"""`docyard export`: the documents of a commit as static pages, and as texts for language models."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.commands import options
from docyard.doctor.finding import format_list
from docyard.open_workspace import add_path_to_errors, find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit
from docyard.wording import format_count

if TYPE_CHECKING:
    from workspace.workspace import Workspace


@click.command(name="export")
@click.argument("folder", metavar="FOLDER", type=click.Path(path_type=Path))
@options.ref("The branch, tag, commit or @{date} to export. [default: the branch's tip]")
@click.option("--title", metavar="TEXT", help="The title of the pages. [default: the repository's name]")
@click.option(
    "--description",
    metavar="TEXT",
    help="The subject of the documents, in one sentence. [default: the description in docyard.toml]",
)
@options.repository
@options.branch
@options.as_json
def command(
    folder: Path,
    ref: str | None,
    title: str | None,
    description: str | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Write the committed documents to FOLDER as static HTML, for any web server or to open from the disk.

    The pages need no script and load nothing from other hosts. FOLDER also gets print.html, one page of all
    documents to print or save as PDF, and llms.txt and llms-full.txt for language models. FOLDER must be new,
    empty, or an earlier export; a complete new folder replaces it, or nothing changes. Files that a browser
    could run are exported as text.

    \b
    Example:
        docyard export public
        docyard export public --ref v1.0 --title "Acme's guides" --json
    """
    from docyard.export.folder import check_folder, replace_folder
    from docyard.export.pages import export_pages

    start_time = time.monotonic()
    workspace = open_workspace(repo, branch)
    snapshot = workspace.at(ref)
    if snapshot.commit is None:
        raise CommandError("the branch has no commit yet", fix="Commit the documents first.")
    if not snapshot.documents:
        raise CommandError(
            "the commit has no documents", fix="Name another commit with --ref, or change `root`."
        )
    target = find_folder(folder)
    with add_path_to_errors(target):
        check_folder(target)
    subject = snapshot.config.corpus.description if description is None else description
    with (
        console.show_progress("Exporting") as progress,
        replace_folder(target, snapshot.commit) as new_folder,
    ):
        report = export_pages(
            snapshot, new_folder, title or workspace.repository_name, subject or "", progress
        )
    warnings = list(report.warnings)
    if ref is None and (paths := _list_uncommitted(workspace, target)):
        warnings.append(f"uncommitted changes are not in the export: {format_list(paths)}")
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    seconds = round(time.monotonic() - start_time, 3)
    if as_json:
        console.print_json(
            {
                "commit": snapshot.commit,
                "folder": str(target),
                "documents": report.document_count,
                "files": report.file_count,
                "warnings": warnings,
                "seconds": seconds,
            }
        )
    else:
        click.echo(
            f"Exported {format_count(report.document_count, 'document')} and "
            f"{format_count(report.file_count, 'linked file')} of commit {snapshot.commit[:12]} "
            f"in {seconds:.1f} s. Open {target / 'index.html'}."
        )
    return Exit.DONE


def _list_uncommitted(workspace: Workspace, target: Path) -> list[str]:
    """Return the documents with uncommitted changes, without those that the export itself wrote."""
    if workspace.git.worktree is None:
        return []
    root, target = workspace.git.worktree.resolve(), target.resolve()
    return [
        path for path in workspace.list_uncommitted_documents() if not (root / path).is_relative_to(target)
    ]
