"""`docyard index`: the state of the search index, and how to rebuild it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard import environment
from docyard.cli.main import SuggestingGroup
from docyard.commands import options
from docyard.doctor.finding import format_list
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit
from docyard.wording import format_count
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.storage.status import IndexStatus
    from workspace.workspace import Workspace


@click.group(cls=SuggestingGroup, name="index")
def command() -> None:
    """Show the state of the search index, or rebuild it.

    The index is updated automatically after commits, and can always be rebuilt from Git.

    \b
    Example:
        docyard index status
        docyard index rebuild -C ~/specs
    """


@command.command(name="status")
@options.repository
@options.branch
@options.as_json
def status(repo: Path | None, branch: str | None, as_json: bool) -> int:
    """Show the commit and the size of the index. Changes nothing.

    All checksums are verified. unreadable lists documents that Git cannot read. invalid_manifests lists
    .taxonomy.toml files that are ignored. leftovers counts files of a dead process. writing is true while a
    process writes the index. Exits with 1 if the index is damaged.

    \b
    Example:
        docyard index status --json
    """
    from index.service import SearchIndex

    workspace = open_workspace(repo, branch)
    index_status = SearchIndex(workspace, engine=environment.read_engine_options()).status()
    state = index_status.state
    data: dict[str, object] = {
        "state": _format_state(index_status),
        "tip": index_status.tip,
        "commit": state.commit if state else None,
        "documents": state.files if state else 0,
        "chunks": state.chunks if state else 0,
        "indexed_at": state.indexed_at if state else None,
        "schema": index_status.schema,
        "engine": index_status.engine,
        "segments": index_status.segments,
        "bytes": index_status.size,
        "unreadable": sorted(state.unreadable) if state else [],
        "invalid_manifests": _list_invalid_manifests(workspace),
        "leftovers": len(index_status.leftovers),
        "writing": index_status.is_busy,
        "folder": str(index_status.folder) if index_status.folder else None,
    }
    if as_json:
        console.print_json(data)
    else:
        console.print_table(("index", ""), [(name, _format_value(value)) for name, value in data.items()])
    return Exit.PROBLEMS if index_status.is_damaged else Exit.DONE


@command.command(name="rebuild")
@options.repository
@options.branch
@options.as_json
def rebuild(repo: Path | None, branch: str | None, as_json: bool) -> int:
    """Rebuild the index from the branch's commit. The old index is used until the new index is complete.

    Exits with 1 if Git could not read every document.

    \b
    Example:
        docyard index rebuild
    """
    from index.service import SearchIndex

    index = SearchIndex(open_workspace(repo, branch), engine=environment.read_engine_options())
    start_time = time.monotonic()
    try:
        with console.show_progress("Indexing") as progress:
            commit = index.rebuild(progress)
        state = index.status().state
    finally:
        index.close()
    seconds = round(time.monotonic() - start_time, 3)
    document_count, section_count = (state.files, state.chunks) if state else (0, 0)
    data = {
        "commit": commit,
        "documents": document_count,
        "chunks": section_count,
        "unreadable": sorted(state.unreadable) if state else [],
        "seconds": seconds,
    }
    if as_json:
        console.print_json(data)
    else:
        click.echo(
            f"Indexed {format_count(document_count, 'document')}, {format_count(section_count, 'section')}, "
            f"in {seconds:.1f} s."
        )
        if data["unreadable"]:
            click.echo(f"Omitted, because Git cannot read the files: {_format_value(data['unreadable'])}.")
    return Exit.PROBLEMS if data["unreadable"] else Exit.DONE


@command.command(name="embed")
@options.repository
@options.branch
@options.embedding
@options.as_json
def embed(repo: Path | None, branch: str | None, as_json: bool) -> int:
    """Embed the sections that have no vector yet, for a search by meaning.

    A server does this by itself while it serves. Interrupted work continues where it ended. Vectors of
    another provider or model stay until no search has used them for a month, so this command can prepare a
    change of the provider while a server uses the old one.

    Exits with 3 if the provider fails, or after an interruption.

    \b
    Example:
        docyard index embed --embedding-provider local
    """
    from index.service import SearchIndex

    embedding = options.read_embedding_options()
    if embedding.provider is None:
        raise click.UsageError("name the provider of vectors with --embedding-provider")
    engine = environment.read_engine_options()
    index = SearchIndex(open_workspace(repo, branch), embedding=embedding, engine=engine)
    start_time = time.monotonic()
    try:
        with console.show_progress("Embedding") as progress:
            report = index.embed_sections(progress)
    except KeyboardInterrupt:
        click.echo("Interrupted. Run the command again to continue: what was embedded is kept.", err=True)
        return Exit.CANNOT_RUN
    finally:
        index.close()
        embedding.provider.close()
    seconds = round(time.monotonic() - start_time, 3)
    if report is not None and as_json:
        console.print_json(
            {
                "provider": report.provider,
                "model": report.model,
                "sections_with_vector": report.coverage.covered,
                "sections": report.coverage.total,
                "seconds": seconds,
            }
        )
    elif report is not None:
        click.echo(
            f"{report.coverage.covered:,} of {format_count(report.coverage.total, 'section')} have a vector "
            f"of {report.provider} {report.model}, in {seconds:.1f} s."
        )
    return Exit.DONE


def _list_invalid_manifests(workspace: Workspace) -> list[str]:
    try:
        return [error.message for error in workspace.snapshot().find_manifest_problems()]
    except WorkspaceError:  # the settings or the repository cannot be read, which `docyard doctor` reports
        return []


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return format_list(value) or "none"
    return "none" if value is None else str(value)


def _format_state(status: IndexStatus) -> str:
    if status.is_damaged:
        return "damaged"
    if status.state is None:
        return "missing"
    return "current" if status.is_current else "behind"
