"""Commit logs at the command line: short id, time, author, subject and changes.

Outside a terminal, in a log without diffs, each action of a commit is one line of tab-separated cells.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from docyard.environment import is_terminal
from docyard.terminal import console, styles
from docyard.wording import SHORT_ID_LENGTH, format_commit_author, shorten_id

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from workspace.history.commits import CommitInfo


_MIN_TEXT_WIDTH = 20  # columns of text after a label, even in a narrow terminal
_MAX_LISTED_ACTIONS = 10


class CommitAction(NamedTuple):
    """A change by a commit: its kind, the new address, and the old address if it differs."""

    kind: str
    address: str
    old_address: str | None


class LogEntry(NamedTuple):
    """A commit of a log. `diff` is None if no diff was requested."""

    info: CommitInfo
    actions: Sequence[CommitAction]
    diff: str | None = None


def print_log(entries: Sequence[LogEntry], *, is_single: bool) -> None:
    """Print a log, newest entry first. `is_single` is true for a log of one document or section.

    Diffs are for people, so a log with diffs has the same format in a pipe, without colours.
    """
    if is_terminal(sys.stdout) or any(entry.diff is not None for entry in entries):
        _print_entries(entries, is_single=is_single)
        return
    rows = [
        (
            shorten_id(info.commit),
            info.time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            info.author_name,
            info.client or "",
            action.kind,
            action.address,
            action.old_address or "",
            info.subject,
        )
        for info, actions, _ in entries
        for action in actions
    ]
    console.print_table((), rows)


def _print_entries(entries: Sequence[LogEntry], *, is_single: bool) -> None:
    from rich.text import Text

    screen = console.create_console()
    for number, entry in enumerate(entries):
        if number and entry.diff is not None:
            screen.print()
        label = Text(shorten_id(entry.info.commit), styles.ID)
        for line in _format_entry(entry, is_single=is_single):
            print_with_hanging_indent(screen, label, line)
            label = Text(" " * SHORT_ID_LENGTH)
        if entry.diff:
            screen.print()
            _print_diff(screen, entry.diff)


def _format_entry(entry: LogEntry, *, is_single: bool) -> Iterator[Text]:
    """Yield the time and author, the subject, and the actions.

    If `is_single`, current addresses and the action `changed` are omitted.
    """
    from rich.text import Text

    info = entry.info
    yield Text(f"{info.time:%Y-%m-%d %H:%M}  {_format_author(info)}", styles.MUTED)
    if info.subject:
        yield Text(info.subject, styles.TITLE)
    if is_single:
        for kind, _, old_address in entry.actions:
            if kind != "changed":
                yield Text(f"{kind} from {old_address}" if old_address else kind, styles.ADDRESS)
        return
    for kind, address, old_address in entry.actions[:_MAX_LISTED_ACTIONS]:
        yield Text(
            f"{kind} {old_address} to {address}" if old_address else f"{kind} {address}", styles.ADDRESS
        )
    if len(entry.actions) > _MAX_LISTED_ACTIONS:
        yield Text(f"and {len(entry.actions) - _MAX_LISTED_ACTIONS:,} more", styles.ADDRESS)


def _format_author(info: CommitInfo) -> str:
    return format_commit_author(info) + (f", proposal {info.proposal}" if info.proposal else "")


def _print_diff(screen: Console, diff: str) -> None:
    """Print a unified diff without wrapping its lines. Outside a terminal, tabs are preserved."""
    from rich.text import Text

    from workspace.escapes import escape_invisible

    if not is_terminal(sys.stdout):
        print(escape_invisible(diff))
        return
    for line in diff.split("\n"):
        screen.print(Text(escape_invisible(line), styles.DIFF_LINES.get(line[:1], "")), soft_wrap=True)


def print_with_hanging_indent(screen: Console, label: Text, text: Text) -> None:
    """Print a label and a text. The continuation lines of the text are indented like its first line.

    Invisible characters of the text are escaped. Outside a terminal the text is printed on one line.
    """
    from rich.text import Text

    from workspace.escapes import escape_invisible

    text = Text(escape_invisible(text.plain.replace("\n", " ")).expandtabs(), text.style)
    width = max(screen.width - label.cell_len - 2, _MIN_TEXT_WIDTH)
    is_one_line = screen.soft_wrap or text.cell_len <= width
    gap = "  "
    for line in [text] if is_one_line else text.wrap(screen, width):
        output = Text.assemble(label, gap, line)
        output.rstrip()
        screen.print(output, soft_wrap=True)
        label = Text(" " * label.cell_len)
