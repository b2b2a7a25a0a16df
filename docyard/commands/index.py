"""`docyard index`: what the search index stands for, and how to build it anew."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.commands import options
from docyard.doctor.finding import format_some
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.status import Status
    from workspace.workspace import Workspace


@click.group(name="index", short_help="Look at the search index, or build it anew.")
def command() -> None:
    """Look at the search index, or build it anew.

    The index follows the commits by itself, and can always be rebuilt from Git.

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
    """Say which commit the index stands for, and how large it is. Changes nothing.

    Every checksum is tested. unreadable are the documents that Git could not read, invalid_manifests the
    .taxonomy.toml files that are left out, leftovers what a process that died left behind; writing means that
    one is at work. Exits with 1 if the index is damaged.

    \b
    Example:
        docyard index status --json
    """
    from index.service import SearchIndex

    workspace = open_workspace(repo, branch)
    found = SearchIndex(workspace).status()
    state = found.state
    facts: dict[str, object] = {
        "state": _word(found),
        "tip": found.tip,
        "commit": state.commit if state else None,
        "documents": state.files if state else 0,
        "chunks": state.chunks if state else 0,
        "indexed_at": state.indexed_at if state else None,
        "schema": found.schema,
        "segments": found.segments,
        "bytes": found.size,
        "unreadable": sorted(state.unreadable) if state else [],
        "invalid_manifests": _invalid_manifests(workspace),
        "leftovers": len(found.leftovers),
        "writing": found.busy,
        "folder": str(found.folder) if found.folder else None,
    }
    if as_json:
        console.print_json(facts)
    else:
        console.print_table(("index", ""), [(name, _words(fact)) for name, fact in facts.items()])
    return Exit.PROBLEMS if found.damaged else Exit.DONE


@command.command(name="rebuild")
@options.repository
@options.branch
@options.as_json
def rebuild(repo: Path | None, branch: str | None, as_json: bool) -> int:
    """Build the index anew from the commit of the branch. The old one serves until it is done.

    Exits with 1 if Git could not read every document.

    \b
    Example:
        docyard index rebuild
    """
    from index.service import SearchIndex

    index = SearchIndex(open_workspace(repo, branch))
    started = time.monotonic()
    try:
        with console.show_progress("Indexing") as progress:
            commit = index.rebuild(progress)
        state = index.status().state
    finally:
        index.close()
    seconds = round(time.monotonic() - started, 3)
    facts = {
        "commit": commit,
        "documents": state.files if state else 0,
        "chunks": state.chunks if state else 0,
        "unreadable": sorted(state.unreadable) if state else [],
        "seconds": seconds,
    }
    if as_json:
        console.print_json(facts)
    else:
        click.echo(f"Indexed {facts['documents']} documents, {facts['chunks']} sections, in {seconds:.1f} s.")
        if facts["unreadable"]:
            click.echo(f"Left out, since Git cannot read them: {_words(facts['unreadable'])}.")
    return Exit.PROBLEMS if facts["unreadable"] else Exit.DONE


def _invalid_manifests(workspace: Workspace) -> list[str]:
    try:
        return [error.message for error in workspace.snapshot().manifest_problems()]
    except WorkspaceError:  # the settings or the repository cannot be read, which is told elsewhere
        return []


def _words(fact: object) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if isinstance(fact, list):
        return format_some(fact) or "none"
    return "none" if fact is None else str(fact)


def _word(status: Status) -> str:
    if status.damaged:
        return "damaged"
    if status.state is None:
        return "missing"
    return "current" if status.is_current else "behind"
