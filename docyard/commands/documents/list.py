"""`docyard list`: the documents of a workspace, with their titles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit, print_warning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.globs import Glob
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace


@click.command(name="list")
@click.argument("glob", metavar="[GLOB]", default=".", shell_complete=completion.complete_addresses)
@options.ref("The branch, tag, commit or @{date} to list. [default: the branch's tip]")
@options.repository
@options.branch
@options.pager
@options.as_json
def command(glob: str, ref: str | None, repo: Path | None, branch: str | None, as_json: bool) -> int:
    """List the documents, with their titles.

    GLOB is a folder, a document or a glob of the workspace, or relative to the current folder. Only committed
    documents are listed; a warning counts the others and shows the command that commits them.

    \b
    Example:
        docyard list
        docyard list guides
        docyard list '**/api*.md' --ref v1.0 --json
    """
    from docyard.doctor.repository import check_new_documents
    from tools.read_context import normalize_folder

    workspace = open_workspace(repo, branch)
    snapshot = workspace.at(ref)
    name = normalize_folder(glob)
    patterns = _build_patterns(workspace, name, find_folder(repo))
    if ref is None:
        for finding in check_new_documents(
            workspace, lambda path: any(pattern is None or pattern.matches(path) for pattern in patterns)
        ):
            print_warning(finding.message, finding.fix)
    paths = _select_paths(snapshot, name, patterns)
    documents = _describe_documents(snapshot, paths)
    if as_json:
        console.print_json({"documents": documents, "total": len(documents), "commit": snapshot.commit})
        return Exit.DONE
    console.print_table(("path", "title"), [(item["path"], item["title"] or "") for item in documents])
    for item in documents:
        for hint in item.get("hints", ()):
            click.echo(f"{item['path']}: {hint}", err=True)
    if not documents:
        click.echo("There are no documents.", err=True)
    return Exit.DONE


def _build_patterns(workspace: Workspace, name: str, folder: Path) -> list[Glob | None]:
    """Return the patterns that a path or a glob may mean, the likely first; None selects all documents."""
    from docyard.cli.addresses import to_repository_path
    from workspace.globs import Glob

    if not name:
        return [None]
    root = workspace.git.worktree
    relative_name = (
        None if root is None else to_repository_path(root.resolve(), (folder, folder.resolve()), Path(name))
    )
    return [
        None if candidate == "." else Glob.compile(candidate)
        for candidate in (name, relative_name)
        if candidate is not None
    ]


def _select_paths(snapshot: Snapshot, name: str, patterns: Sequence[Glob | None]) -> Sequence[str]:
    """Return the paths of the documents that the first pattern with a match selects.

    Raises DocumentNotFound if there are none, with a similar path.
    """
    from tools.read_context import list_paths

    for pattern in patterns:
        if pattern is None:
            return list(snapshot.documents)
        if paths := [path for path in snapshot.documents if pattern.matches(path)]:
            return paths
    return list_paths(snapshot, name)


def _describe_documents(snapshot: Snapshot, paths: Sequence[str]) -> list[dict[str, Any]]:
    """Return the path and the title of each document; a document that cannot be read has hints."""
    from workspace.errors import LimitExceeded
    from workspace.snapshot.snapshot import LfsTextMissing

    documents: list[dict[str, Any]] = []
    with console.show_progress("Reading documents") as progress:
        for number, path in enumerate(paths):
            if progress is not None:
                progress(number, len(paths), None)
            try:
                documents.append({"path": path, "title": snapshot.document(path).title})
            except (LimitExceeded, LfsTextMissing) as error:
                documents.append({"path": path, "title": None, "hints": [error.message]})
    return documents
