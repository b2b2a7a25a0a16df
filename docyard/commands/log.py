"""`docyard log`: the commits that changed a document or section, or any document."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from docyard.cli import completion
from docyard.cli.addresses import (
    ResolvedAddress,
    list_possible_addresses,
    print_moved_notice,
    resolve_address,
)
from docyard.cli.commits import CommitAction, LogEntry, print_log
from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import CannotError, Exit

if TYPE_CHECKING:
    from docyard.cli.recent_commits import RecentCommit
    from workspace.history.commits import CommitChange
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_DEFAULT_LIMIT = 20
_PAGE_COMMITS = 100
_MAX_DIFF_CHARS = 10_000_000


class AddressHistory(NamedTuple):
    """The changes of a document or section, and notes about unreadable commits.

    `has_more` is true if the limit truncated the list.
    """

    resolved_address: ResolvedAddress
    changes: Sequence[CommitChange]
    has_more: bool
    notes: Sequence[str]


@click.command(name="log", short_help="Show the commits that changed a document or section.")
@click.argument(
    "address", metavar="[FILE[#SECTION]]", required=False, shell_complete=completion.complete_addresses
)
@click.option("-p", "--diff", "patch", is_flag=True, help="Show the diff of each commit.")
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=_DEFAULT_LIMIT,
    show_default=True,
    help="The maximum number of commits; 0 for all.",
)
@options.ref("The branch, tag, commit or @{date} to start at. [default: the branch's tip]")
@options.repository
@options.branch
@options.as_json
def command(
    address: str | None,
    patch: bool,
    limit: int,
    ref: str | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Show the commits that changed a document or section, newest first, across renames and moves.

    Without FILE, all commits that changed a document are shown. A removed section has its last address. Dates
    are in UTC, and paths may be relative to the current folder.

    \b
    Example:
        docyard log guides/setup.md#install -p
        docyard log guides/setup.md --ref v1.0 --limit 0
        docyard log --json
    """
    if patch and address is None:
        raise click.UsageError("--diff needs a FILE: name the document or section to compare")
    workspace = open_workspace(repo, branch)
    snapshot = workspace.at(ref)
    if address is None:
        _log_all(snapshot, limit, as_json=as_json)
        return Exit.DONE
    with console.show_progress("Reading the history") as progress:
        history = _read_history(workspace, snapshot, address, find_folder(repo), limit, progress)
    print_moved_notice(history.resolved_address.moved_to)
    if as_json:
        changes = [_change_to_data(change, patch=patch) for change in history.changes]
        _print_json(
            snapshot, history.resolved_address.data | {"history": changes}, history.has_more, history.notes
        )
        return Exit.DONE
    print_log([_to_log_entry(change, patch=patch) for change in history.changes], is_single=True)
    _print_omissions(len(history.changes), history.has_more, history.notes)
    return Exit.DONE


def _read_history(
    workspace: Workspace,
    snapshot: Snapshot,
    address: str,
    folder: Path,
    limit: int,
    progress: console.Progress | None,
) -> AddressHistory:
    """Return the changes of a current or former address. Raises DocumentNotFound and SectionNotFound."""
    from workspace.document.addresses import SectionNotFound
    from workspace.snapshot.snapshot import DocumentNotFound

    try:
        return _read_pages(
            workspace, snapshot, resolve_address(workspace, snapshot, address, folder), limit, progress
        )
    except (DocumentNotFound, SectionNotFound) as error:
        for resolved_address in list_possible_addresses(workspace, snapshot, address, folder):
            try:
                history = _read_pages(workspace, snapshot, resolved_address, limit, progress)
            except (DocumentNotFound, SectionNotFound):
                continue
            if history.changes:
                return history
        raise error


def _read_pages(
    workspace: Workspace,
    snapshot: Snapshot,
    resolved_address: ResolvedAddress,
    limit: int,
    progress: console.Progress | None,
) -> AddressHistory:
    changes: list[CommitChange] = []
    after: str | None = None
    while True:
        page_size = min(limit - len(changes), _PAGE_COMMITS) if limit else _PAGE_COMMITS
        page = workspace.history().changes(
            snapshot,
            resolved_address.path,
            resolved_address.slug,
            after=after,
            limit=page_size,
            progress=progress,
        )
        changes += page.entries
        after = page.next
        if after is None or (limit and len(changes) >= limit):
            return AddressHistory(resolved_address, changes, after is not None, page.notes)


def _to_log_entry(change: CommitChange, *, patch: bool) -> LogEntry:
    address, old = _join_address(change.path, change.fragment), None
    if change.old_path is not None and change.kind not in ("changed", "removed"):
        old = _join_address(change.old_path, change.old_fragment)
    action = CommitAction(change.kind, address, old if old != address else None)
    return LogEntry(change.info, [action], "\n".join(_diff_to_data(change).values()) if patch else None)


def _change_to_data(change: CommitChange, *, patch: bool) -> dict[str, Any]:
    from tools.history.descriptions import change_data

    return change_data(change, None) | (_diff_to_data(change) if patch else {})


def _diff_to_data(change: CommitChange) -> dict[str, str]:
    """Return the field `diff`, or `hint` if there is no diff."""
    from tools.history.descriptions import diff_data

    return diff_data(change, _MAX_DIFF_CHARS)


def _join_address(path: str, fragment: str | None) -> str:
    return path if fragment is None else f"{path}#{fragment}"


def _log_all(snapshot: Snapshot, limit: int, *, as_json: bool) -> None:
    """Print the commits that changed any document."""
    from docyard.cli.recent_commits import RecentCommits

    if snapshot.commit is None:
        raise CannotError("the branch has no commit yet", fix="Commit a document first.")
    with console.show_progress("Reading the history") as progress:
        commits = RecentCommits(snapshot, progress)
        recent_commits = list(islice(commits, limit or None))
    notes = []
    if commits.unreadable:
        is_shallow = snapshot.git.is_shallow
        notes.append(
            "the clone is shallow, and older commits are missing; git fetch --unshallow fetches them"
            if is_shallow
            else "some commits cannot be read and are skipped; git fsck lists them"
        )
    if as_json:
        _print_json(
            snapshot,
            {"history": [_commit_to_data(recent_commit) for recent_commit in recent_commits]},
            not commits.is_done,
            notes,
        )
        return
    entries = [
        LogEntry(recent_commit.info, [CommitAction(*change) for change in recent_commit.changes])
        for recent_commit in recent_commits
    ]
    print_log(entries, is_single=False)
    _print_omissions(len(recent_commits), not commits.is_done, notes)


def _commit_to_data(recent_commit: RecentCommit) -> dict[str, Any]:
    from tools.history.descriptions import commit_data

    documents = [
        {"kind": kind, "file": path, **({} if old is None else {"old_file": old})}
        for kind, path, old in recent_commit.changes
    ]
    return {"commit": recent_commit.info.commit, **commit_data(recent_commit.info), "documents": documents}


def _print_json(snapshot: Snapshot, data: dict[str, Any], has_more: bool, notes: Sequence[str]) -> None:
    hints = {"hints": list(notes)} if notes else {}
    console.print_json({**data, "complete": not has_more, **hints, "commit": snapshot.commit})


def _print_omissions(commit_count: int, has_more: bool, notes: Sequence[str]) -> None:
    """Print on standard error that the log omits commits, and the reasons."""
    for note in notes:
        click.echo(f"{note[:1].upper()}{note[1:]}.", err=True)
    if has_more:
        click.echo(f"The last {commit_count:,} commits; --limit 0 shows all.", err=True)
