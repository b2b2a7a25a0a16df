"""Commits as a person reads them: a short id, when, who, in which words, and what was done.

Where no person looks, each is a line of cells with tabs between them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from docyard.environment import is_terminal
from docyard.terminal import console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from workspace.history import Told

_SHORT = 8  # characters: two objects in ten thousand million share as many, and then Git says so
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

    told: Told
    done: Sequence[Done]
    diff: str | None = None


def short(commit: str) -> str:
    """The beginning of an id, as people read and type it."""
    return commit[:_SHORT]


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
            lead = Text(" " * _SHORT)
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


def _who(told: Told) -> str:
    client = f" via {told.client}" if told.client else ""
    return f"{told.author_name}{client}" + (f", proposal {told.proposal}" if told.proposal else "")


def _show_diff(screen: Console, diff: str) -> None:
    """Print a unified diff, a line of it on a line, however long that is; in a pipe its tabs stay."""
    from rich.text import Text

    from tools.errors import visible

    if not is_terminal(sys.stdout):
        print(visible(diff))
        return
    for line in diff.split("\n"):
        screen.print(Text(visible(line), _DIFF_STYLES.get(line[:1], "")), soft_wrap=True)


def show_hanging(screen: Console, lead: Text, body: Text) -> None:
    """Print a lead, and behind it a text whose further lines begin below its first one.

    What the text holds is made visible; where no person looks it stays on one line.
    """
    from rich.text import Text

    from tools.errors import visible

    body = Text(visible(body.plain.replace("\n", " ")).expandtabs(), body.style)
    room = max(screen.width - lead.cell_len - 2, _LEAST)
    fits = screen.soft_wrap or body.cell_len <= room
    gap = "  "
    for line in [body] if fits else body.wrap(screen, room):
        shown = Text.assemble(lead, gap, line)
        shown.rstrip()
        screen.print(shown, soft_wrap=True)
        lead = Text(" " * lead.cell_len)
