"""Commit logs at the command line: short id, time, author, subject and changes.

Outside a terminal, each commit is one line of cells with tabs between them. `RecentCommits` walks the commits
of a branch that changed documents, newest first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from docyard.environment import is_terminal
from docyard.terminal import console
from docyard.terminal.console import Progress
from docyard.wording import SHORT, shorten_id
from workspace.git import trees
from workspace.git.repository import DamagedRepository

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from workspace.git.objects import Commit
    from workspace.history.commits import CommitInfo
    from workspace.snapshot.snapshot import Snapshot


_LEAST = 20  # columns for what hangs behind a lead, however narrow the terminal is
_DOCUMENTS = 10
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


class CommitAction(NamedTuple):
    """One action of a commit: the address after it, and the address before if it differs."""

    kind: str
    address: str
    old: str | None


class LogEntry(NamedTuple):
    """A commit of a log. `diff` is None if none was requested."""

    info: CommitInfo
    done: Sequence[CommitAction]
    diff: str | None = None


def print_log(entries: Sequence[LogEntry], *, of_one: bool) -> None:
    """Print a log, newest entry first. `of_one` limits it to one document or section.

    Diffs are for people, so a log with diffs has the same form in a pipe, without colours.
    """
    if is_terminal(sys.stdout) or any(entry.diff is not None for entry in entries):
        _print_entries(entries, of_one=of_one)
        return
    rows = [
        (
            shorten_id(told.commit),
            told.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            told.author_name,
            told.client or "",
            done.kind,
            done.address,
            done.old or "",
            told.subject,
        )
        for told, all_done, _ in entries
        for done in all_done
    ]
    console.print_table((), rows)


def _print_entries(entries: Sequence[LogEntry], *, of_one: bool) -> None:
    from rich.text import Text

    screen = console.create_console()
    for number, entry in enumerate(entries):
        if number and entry.diff is not None:
            screen.print()
        lead = Text(shorten_id(entry.info.commit), "yellow")
        for line in _format_entry(entry, of_one=of_one):
            print_hanging(screen, lead, line)
            lead = Text(" " * SHORT)
        if entry.diff:
            screen.print()
            _print_diff(screen, entry.diff)


def _format_entry(entry: LogEntry, *, of_one: bool) -> Iterator[Text]:
    """Yield time and author, the subject, and the actions, unless they only report a change."""
    from rich.text import Text

    told = entry.info
    yield Text(f"{told.time:%Y-%m-%d %H:%M}  {_format_author(told)}", "dim")
    if told.subject:
        yield Text(told.subject, "bold")
    if of_one:
        for kind, _, old in entry.done:
            if kind != "changed":
                yield Text(f"{kind} from {old}" if old else kind, "cyan")
        return
    for kind, address, old in entry.done[:_DOCUMENTS]:
        yield Text(f"{kind} {old} to {address}" if old else f"{kind} {address}", "cyan")
    if len(entry.done) > _DOCUMENTS:
        yield Text(f"and {len(entry.done) - _DOCUMENTS:,} more", "cyan")


def _format_author(told: CommitInfo) -> str:
    client = f" via {told.client}" if told.client else ""
    return f"{told.author_name}{client}" + (f", proposal {told.proposal}" if told.proposal else "")


def _print_diff(screen: Console, diff: str) -> None:
    """Print a unified diff without wrapping its lines. In a pipe tabs are preserved."""
    from rich.text import Text

    from tools.errors import escape_invisible

    if not is_terminal(sys.stdout):
        print(escape_invisible(diff))
        return
    for line in diff.split("\n"):
        screen.print(Text(escape_invisible(line), _DIFF_STYLES.get(line[:1], "")), soft_wrap=True)


def print_hanging(screen: Console, lead: Text, body: Text) -> None:
    """Print a lead followed by a text whose further lines are indented below its first line.

    Invisible characters of the text are escaped. Outside a terminal it is printed on one line.
    """
    from rich.text import Text

    from tools.errors import escape_invisible

    body = Text(escape_invisible(body.plain.replace("\n", " ")).expandtabs(), body.style)
    room = max(screen.width - lead.cell_len - 2, _LEAST)
    fits = screen.soft_wrap or body.cell_len <= room
    gap = "  "
    for line in [body] if fits else body.wrap(screen, room):
        shown = Text.assemble(lead, gap, line)
        shown.rstrip()
        screen.print(shown, soft_wrap=True)
        lead = Text(" " * lead.cell_len)


_REPORT_EVERY = 100


class DocumentChange(NamedTuple):
    """A document that a commit created, changed, renamed or removed; `old_path` is set for a rename."""

    kind: str
    path: str
    old_path: str | None = None


class RecentCommit(NamedTuple):
    """A commit and the documents that it changed, in order of their paths."""

    info: CommitInfo
    changes: tuple[DocumentChange, ...]


class RecentCommits:
    """A walk back from a snapshot's commit, in order of time, over all parents.

    A merge is listed if the merged document differs from every parent (git-log(1), "-c"). `unread` are
    commits that cannot be read; `is_done` is true at the end of the walk.
    """

    def __init__(self, snapshot: Snapshot, progress: Progress | None = None) -> None:
        self._snapshot, self._git = snapshot, snapshot.git
        self._progress = progress
        self._waiting: list[tuple[int, int, Commit]] = []
        self._met: set[str] = set()
        self.unread: list[str] = []
        if snapshot.commit is not None:
            self._read(snapshot.commit)

    @property
    def is_done(self) -> bool:
        """Return True if the walk has ended."""
        return not self._waiting

    def __iter__(self) -> Iterator[RecentCommit]:
        from workspace.history.commits import describe_commit

        seen = 0
        while self._waiting:
            commit = heappop(self._waiting)[2]
            seen += 1
            if self._progress and seen % _REPORT_EVERY == 0:
                self._progress(seen, None, None)
            parents = [self._read(parent) for parent in commit.parents]
            try:
                befores = [parent.tree for parent in parents if parent is not None]
                changes = self._changes(commit, befores) if len(befores) == len(parents) else ()
            except DamagedRepository:
                self.unread.append(commit.id)
                continue
            if changes:
                yield RecentCommit(describe_commit(commit), changes)

    def _read(self, id: str) -> Commit | None:
        """Return a commit and queue it on first sight; None if it cannot be read."""
        try:
            commit = self._git.commit(id)
        except DamagedRepository:
            self.unread.append(id)
            return None
        if id not in self._met:
            self._met.add(id)
            heappush(self._waiting, (-commit.committer.time, len(self._met), commit))
        return commit

    def _changes(self, commit: Commit, befores: list[str]) -> tuple[DocumentChange, ...]:
        if not befores:
            return tuple(sorted(DocumentChange("created", path) for path in self._differing(None, commit)))
        if len(befores) == 1:
            return self._compared(befores[0], commit)
        paths = set.intersection(*(self._differing(before, commit) for before in befores))
        if not paths:
            return ()
        return tuple(change for change in self._compared(befores[0], commit) if change.path in paths)

    def _differing(self, before: str | None, commit: Commit) -> set[str]:
        is_document = self._snapshot.config.is_document
        return {
            change.path
            for change in trees.diff_trees(self._git, before, commit.tree)
            if any(entry and entry.is_blob for entry in (change.old, change.new)) and is_document(change.path)
        }

    def _compared(self, before: str, commit: Commit) -> tuple[DocumentChange, ...]:
        from workspace.diff.renames import Renames

        renames = Renames(self._git, before, commit.tree, self._snapshot.config.is_document)
        now = {path: renames.of(path) for path in renames.gone}
        was = {new: old for old, new in now.items() if new is not None}
        changes = [DocumentChange("removed", path) for path, new in now.items() if new is None]
        changes += [DocumentChange("changed", path) for path in renames.changed]
        for path in renames.come:
            kind = "renamed" if path in was else "created"
            changes.append(DocumentChange(kind, path, was.get(path)))
        return tuple(sorted(changes, key=lambda change: change.path))
