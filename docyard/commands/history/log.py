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
from docyard.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from docyard.cli.recent_commits import RecentCommit
    from workspace.history.commits import CommitChange
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_COMMITS_PER_PAGE = 100
_MAX_DIFF_CHARS = 10_000_000


class AddressHistory(NamedTuple):
    """The changes of a document or section, and notes about unreadable commits.

    `has_more` is true if the limit truncated the list.
    """

    target: ResolvedAddress
    changes: Sequence[CommitChange]
    has_more: bool
    notes: Sequence[str]


@click.command(name="log")
@click.argument(
    "address", metavar="[FILE[#SECTION]]", required=False, shell_complete=completion.complete_addresses
)
@click.option("-p", "--diff", "show_diff", is_flag=True, help="Show the diff of each commit.")
@options.limit("commits", 20)
@options.ref("The branch, tag, commit or @{date} to start at. [default: the branch's tip]")
@options.repository
@options.branch
@options.pager
@options.as_json
def command(
    address: str | None,
    show_diff: bool,
    limit: int,
    ref: str | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Show the commits that changed a document or section, newest first, across renames and moves.

    Without FILE, all commits that changed a document are shown. A removed section is named by its last
    address. Dates are in UTC, and paths may be relative to the current folder.

    \b
    Example:
        docyard log guides/setup.md#install -p
        docyard log guides/setup.md --ref v1.0 --limit 0
        docyard log --json
    """
    if show_diff and address is None:
        raise click.UsageError("--diff needs a FILE: name the document or section to compare")
    workspace = open_workspace(repo, branch)
    snapshot = workspace.at(ref)
    if address is None:
        _print_all_commits(snapshot, limit, as_json=as_json)
        return Exit.DONE
    with console.show_progress("Reading the history") as progress:
        history = _read_history(workspace, snapshot, address, find_folder(repo), limit, progress)
    print_moved_notice(history.target.moved_to)
    if as_json:
        changes = [_change_to_data(change, show_diff=show_diff) for change in history.changes]
        _print_json(snapshot, history.target.data | {"history": changes}, history.has_more, history.notes)
        return Exit.DONE
    print_log([_to_log_entry(change, show_diff=show_diff) for change in history.changes], is_single=True)
    _print_omissions(len(history.changes), history.has_more, history.notes)
    return Exit.DONE


def _read_history(
    workspace: Workspace,
    snapshot: Snapshot,
    address: str,
    folder: Path,
    limit: int,
    progress: console.ReportProgress | None,
) -> AddressHistory:
    """Return the changes of a current or former address. Raises DocumentNotFound and SectionNotFound."""
    from workspace.document.addresses import SectionNotFound
    from workspace.snapshot.snapshot import DocumentNotFound

    try:
        return _read_pages(
            workspace, snapshot, resolve_address(workspace, snapshot, address, folder), limit, progress
        )
    except (DocumentNotFound, SectionNotFound) as error:
        for target in list_possible_addresses(workspace, snapshot, address, folder):
            try:
                history = _read_pages(workspace, snapshot, target, limit, progress)
            except (DocumentNotFound, SectionNotFound):
                continue
            if history.changes:
                return history
        raise error


def _read_pages(
    workspace: Workspace,
    snapshot: Snapshot,
    target: ResolvedAddress,
    limit: int,
    progress: console.ReportProgress | None,
) -> AddressHistory:
    changes: list[CommitChange] = []
    cursor: str | None = None
    while True:
        page_size = min(limit - len(changes), _COMMITS_PER_PAGE) if limit else _COMMITS_PER_PAGE
        page = workspace.history().changes(
            snapshot, target.path, target.slug, after=cursor, limit=page_size, progress=progress
        )
        changes += page.entries
        cursor = page.next
        if cursor is None or (limit and len(changes) >= limit):
            return AddressHistory(target, changes, cursor is not None, page.notes)


def _to_log_entry(change: CommitChange, *, show_diff: bool) -> LogEntry:
    address, old_address = _join_address(change.path, change.fragment), None
    if change.old_path is not None and change.kind not in ("changed", "removed"):
        old_address = _join_address(change.old_path, change.old_fragment)
    action = CommitAction(change.kind, address, old_address if old_address != address else None)
    return LogEntry(change.info, [action], "\n".join(_diff_to_data(change).values()) if show_diff else None)


def _change_to_data(change: CommitChange, *, show_diff: bool) -> dict[str, Any]:
    from tools.history.descriptions import describe_change

    return describe_change(change, None) | (_diff_to_data(change) if show_diff else {})


def _diff_to_data(change: CommitChange) -> dict[str, str]:
    """Return the field `diff`, or `hint` if there is no diff."""
    from tools.history.descriptions import describe_change_diff

    return describe_change_diff(change, _MAX_DIFF_CHARS)


def _join_address(path: str, fragment: str | None) -> str:
    return path if fragment is None else f"{path}#{fragment}"


def _print_all_commits(snapshot: Snapshot, limit: int, *, as_json: bool) -> None:
    """Print the commits that changed any document."""
    from docyard.cli.recent_commits import RecentCommits

    if snapshot.commit is None:
        raise CommandError("the branch has no commit yet", fix="Commit a document first.")
    with console.show_progress("Reading the history") as progress:
        commits = RecentCommits(snapshot, progress)
        recent_commits = list(islice(commits, limit or None))
    notes = []
    if commits.unreadable_commits:
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
            not commits.has_ended,
            notes,
        )
        return
    entries = [
        LogEntry(recent_commit.info, [CommitAction(*change) for change in recent_commit.changes])
        for recent_commit in recent_commits
    ]
    print_log(entries, is_single=False)
    _print_omissions(len(recent_commits), not commits.has_ended, notes)


def _commit_to_data(recent_commit: RecentCommit) -> dict[str, Any]:
    from tools.history.descriptions import describe_commit

    documents = [
        {"kind": kind, "file": path, **({} if old_path is None else {"old_file": old_path})}
        for kind, path, old_path in recent_commit.changes
    ]
    return {
        "commit": recent_commit.info.commit,
        **describe_commit(recent_commit.info),
        "documents": documents,
    }


def _print_json(snapshot: Snapshot, data: dict[str, Any], has_more: bool, notes: Sequence[str]) -> None:
    hints = {"hints": list(notes)} if notes else {}
    console.print_json({**data, "complete": not has_more, **hints, "commit": snapshot.commit})


def _print_omissions(commit_count: int, has_more: bool, notes: Sequence[str]) -> None:
    """Print on standard error that the log omits commits, and the reasons."""
    for note in notes:
        click.echo(f"{note[:1].upper()}{note[1:]}.", err=True)
    if has_more:
        click.echo(f"Only the last {commit_count:,} commits are shown; --limit 0 shows all.", err=True)
