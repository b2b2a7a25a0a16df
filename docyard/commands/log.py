"""`docyard log`: the commits that changed a document or section, or any document at all."""

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
    from docyard.cli.commits import RecentCommit
    from workspace.history.commits import CommitChange
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_LIMIT = 20
_PAGE = 100
_MOST_SHOWN = 10_000_000  # characters of one diff: all of it


class AddressHistory(NamedTuple):
    """The changes of a document or section, whether more exist, and unreadable commits."""

    followed: ResolvedAddress
    changes: Sequence[CommitChange]
    more: bool
    notes: Sequence[str]


@click.command(name="log", short_help="Show which commits changed a document or section.")
@click.argument(
    "address", metavar="[FILE[#SECTION]]", required=False, shell_complete=completion.complete_addresses
)
@click.option("-p", "--diff", "patch", is_flag=True, help="With what each commit changed of it.")
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=_LIMIT,
    show_default=True,
    help="How many commits at most; 0 for all.",
)
@options.ref("The branch, tag, commit or @{date} to begin at. [default: the branch's tip]")
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
    """Show which commits changed a document or section, newest first, across renames and moves.

    Without FILE, the commits that changed any document. What was removed is named by the address that it
    had. Dates are in UTC, and paths may count from the current folder.

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
        past = _read_history(workspace, snapshot, address, find_folder(repo), limit, progress)
    print_moved_notice(past.followed.moved_to)
    if as_json:
        history = [_change_data(change, patch=patch) for change in past.changes]
        _print_json(snapshot, past.followed.data | {"history": history}, past.more, past.notes)
        return Exit.DONE
    print_log([_entry(change, patch=patch) for change in past.changes], of_one=True)
    _print_rest(len(past.changes), past.more, past.notes)
    return Exit.DONE


def _read_history(
    workspace: Workspace,
    snapshot: Snapshot,
    address: str,
    folder: Path,
    limit: int,
    progress: console.Progress | None,
) -> AddressHistory:
    """Return the changes of a current or former address. Raises what resolving it raises."""
    from workspace.document.addresses import SectionNotFound
    from workspace.snapshot.snapshot import DocumentNotFound

    try:
        return _pages(
            workspace, snapshot, resolve_address(workspace, snapshot, address, folder), limit, progress
        )
    except (DocumentNotFound, SectionNotFound) as error:
        for followed in list_possible_addresses(workspace, snapshot, address, folder):
            try:
                past = _pages(workspace, snapshot, followed, limit, progress)
            except (DocumentNotFound, SectionNotFound):
                continue
            if past.changes:
                return past
        raise error


def _pages(
    workspace: Workspace,
    snapshot: Snapshot,
    followed: ResolvedAddress,
    limit: int,
    progress: console.Progress | None,
) -> AddressHistory:
    found: list[CommitChange] = []
    after: str | None = None
    while True:
        wanted = min(limit - len(found), _PAGE) if limit else _PAGE
        page = workspace.history().changes(
            snapshot, followed.path, followed.slug, after=after, limit=wanted, progress=progress
        )
        found += page.entries
        after = page.next
        if after is None or (limit and len(found) >= limit):
            return AddressHistory(followed, found, after is not None, page.notes)


def _entry(change: CommitChange, *, patch: bool) -> LogEntry:
    address, old = _address(change.path, change.fragment), None
    if change.old_path is not None and change.kind not in ("changed", "removed"):
        old = _address(change.old_path, change.old_fragment)
    done = CommitAction(change.kind, address, old if old != address else None)
    return LogEntry(change.told, [done], "\n".join(_diff(change).values()) if patch else None)


def _change_data(change: CommitChange, *, patch: bool) -> dict[str, Any]:
    from tools.history.descriptions import change_data

    return change_data(change, None) | (_diff(change) if patch else {})


def _diff(change: CommitChange) -> dict[str, str]:
    """Return the field `diff`, or else `hint`."""
    from tools.history.descriptions import diff_data

    return diff_data(change, _MOST_SHOWN)


def _address(path: str, fragment: str | None) -> str:
    return path if fragment is None else f"{path}#{fragment}"


def _log_all(snapshot: Snapshot, limit: int, *, as_json: bool) -> None:
    """Print the commits that changed any document."""
    from docyard.cli.commits import RecentCommits

    if snapshot.commit is None:
        raise CannotError("the branch has no commit yet", fix="Commit a document first.")
    with console.show_progress("Reading the history") as progress:
        commits = RecentCommits(snapshot, progress)
        found = list(islice(commits, limit or None))
    notes = []
    if commits.unread:
        is_shallow = snapshot.git.is_shallow
        notes.append(
            "the clone is shallow, and what is older was not fetched; git fetch --unshallow brings it"
            if is_shallow
            else "some commits cannot be read, and are left out; git fsck names them"
        )
    if as_json:
        _print_json(snapshot, {"history": [_data(item) for item in found]}, not commits.is_done, notes)
        return
    entries = [LogEntry(item.info, [CommitAction(*change) for change in item.changes]) for item in found]
    print_log(entries, of_one=False)
    _print_rest(len(found), not commits.is_done, notes)


def _data(item: RecentCommit) -> dict[str, Any]:
    from tools.history.descriptions import commit_data

    documents = [
        {"kind": kind, "file": path, **({} if old is None else {"old_file": old})}
        for kind, path, old in item.changes
    ]
    return {"commit": item.info.commit, **commit_data(item.info), "documents": documents}


def _print_json(snapshot: Snapshot, data: dict[str, Any], more: bool, notes: Sequence[str]) -> None:
    hints = {"hints": list(notes)} if notes else {}
    console.print_json({**data, "complete": not more, **hints, "commit": snapshot.commit})


def _print_rest(shown: int, more: bool, notes: Sequence[str]) -> None:
    """Print on standard error what the log omits."""
    for note in notes:
        click.echo(f"{note[:1].upper()}{note[1:]}.", err=True)
    if more:
        click.echo(f"The last {shown:,}; --limit 0 shows all.", err=True)
