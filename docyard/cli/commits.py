"""Commits as a person reads them: a short id, when, who, in which words, and what was done.

Where no person looks, each is a line of cells with tabs between them.

The commits of a branch that changed documents, newest first, with what each of them changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from docyard.environment import is_terminal
from docyard.terminal import console
from docyard.terminal.console import Progress
from docyard.wording import SHORT, short
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


class Done(NamedTuple):
    """What a commit did: the address after it, and the one before where that was another."""

    kind: str
    address: str
    old: str | None


class Entry(NamedTuple):
    """A commit of a log. `diff` is None where none was asked for."""

    told: CommitInfo
    done: Sequence[Done]
    diff: str | None = None


def show_log(entries: Sequence[Entry], *, of_one: bool) -> None:
    """Print a log, its newest entry first. `of_one` document or section, or of all that the commits changed.

    Diffs are for people, so a log with them looks alike in a pipe, but for its colours.
    """
    if is_terminal(sys.stdout) or any(entry.diff is not None for entry in entries):
        _show_page(entries, of_one=of_one)
        return
    rows = [
        (
            short(told.commit),
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
    console.table((), rows)


def _show_page(entries: Sequence[Entry], *, of_one: bool) -> None:
    from rich.text import Text

    screen = console.console()
    for number, entry in enumerate(entries):
        if number and entry.diff is not None:
            screen.print()
        lead = Text(short(entry.told.commit), "yellow")
        for line in _lines(entry, of_one=of_one):
            show_hanging(screen, lead, line)
            lead = Text(" " * SHORT)
        if entry.diff:
            screen.print()
            _show_diff(screen, entry.diff)


def _lines(entry: Entry, *, of_one: bool) -> Iterator[Text]:
    """When and who; the subject; then what was done, unless it says no more than that there is an entry."""
    from rich.text import Text

    told = entry.told
    yield Text(f"{told.time:%Y-%m-%d %H:%M}  {_who(told)}", "dim")
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


def _who(told: CommitInfo) -> str:
    client = f" via {told.client}" if told.client else ""
    return f"{told.author_name}{client}" + (f", proposal {told.proposal}" if told.proposal else "")


def _show_diff(screen: Console, diff: str) -> None:
    """Print a unified diff, a line of it on a line, however long that is; in a pipe its tabs stay."""
    from rich.text import Text

    from tools.errors import escape_invisible

    if not is_terminal(sys.stdout):
        print(escape_invisible(diff))
        return
    for line in diff.split("\n"):
        screen.print(Text(escape_invisible(line), _DIFF_STYLES.get(line[:1], "")), soft_wrap=True)


def show_hanging(screen: Console, lead: Text, body: Text) -> None:
    """Print a lead, and behind it a text whose further lines begin below its first one.

    What the text holds is made visible; where no person looks it stays on one line.
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


_TOLD_EVERY = 100


class DocumentChange(NamedTuple):
    """What a commit did to a document: created, changed, renamed or removed; `old_path` if it was renamed."""

    kind: str
    path: str
    old_path: str | None = None


class Recent(NamedTuple):
    """A commit, and the documents that it changed, in order of their paths."""

    told: CommitInfo
    changes: tuple[DocumentChange, ...]


class RecentCommits:
    """A walk back from a snapshot's commit, in order of time, over all parents.

    A merge is told where it has made a document what it is in none of its parents (git-log(1), "-c").
    `unread` are commits that cannot be read; `is_done` says that the walk has come to its end.
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
        """Whether there is nothing more to look at."""
        return not self._waiting

    def __iter__(self) -> Iterator[Recent]:
        from workspace.history.commits import describe_commit

        seen = 0
        while self._waiting:
            commit = heappop(self._waiting)[2]
            seen += 1
            if self._progress and seen % _TOLD_EVERY == 0:
                self._progress(seen, None, None)
            parents = [self._read(parent) for parent in commit.parents]
            try:
                befores = [parent.tree for parent in parents if parent is not None]
                changes = self._changes(commit, befores) if len(befores) == len(parents) else ()
            except DamagedRepository:
                self.unread.append(commit.id)
                continue
            if changes:
                yield Recent(describe_commit(commit), changes)

    def _read(self, id: str) -> Commit | None:
        """A commit, which waits for its turn if it is met for the first time; None if it cannot be read."""
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
