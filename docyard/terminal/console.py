"""What people see: tables, and bars for work that takes longer than a second.

The one place for `rich`, which is imported when something is shown. Progress goes to standard error, so
that what a command prints can be piped, and only where a person is looking.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from docyard.environment import is_terminal

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[float, float | None, str | None], None]

_PATIENCE = 1.0  # seconds that may pass in silence


def print_json(value: Any) -> None:
    """Print data as JSON for programs; characters beyond ASCII are escaped, so that any pipe can carry it."""
    print(json.dumps(value, indent=2))


@contextmanager
def cut_short() -> Iterator[None]:
    """What is printed here may be left unread (`| head`), which changes nothing of how a command ends."""
    try:
        yield
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except BrokenPipeError:
        print_no_more()


def print_no_more() -> None:
    """What could not be printed is dropped: Python would try once more at the end, and complain of it."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def console() -> Console:
    """A console on standard output. Text from documents must be given as `rich.text.Text`, not as markup."""
    from rich.console import Console

    terminal = is_terminal(sys.stdout)
    return Console(highlight=False, soft_wrap=not terminal, emoji=False, markup=False)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a heading; where no person is looking, as lines with tabs between the cells."""
    if not is_terminal(sys.stdout):
        for row in rows:
            print("\t".join(" ".join(cell.split()) for cell in row))
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from tools.errors import visible

    drawn = Table(box=SIMPLE_HEAD)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        # A document, or a file from elsewhere, may hold what the terminal would obey.
        drawn.add_row(*(Text(visible(cell)) for cell in row))
    console().print(drawn)


@contextmanager
def progress(title: str) -> Iterator[Progress | None]:
    """A function that long work calls as it goes on; a bar appears if it is not done within a second."""
    if not is_terminal(sys.stderr):
        yield None
        return
    started = time.monotonic()
    bar: Any = None
    task: Any = None

    def report(done: float, total: float | None = None, message: str | None = None) -> None:
        nonlocal bar, task
        if bar is None:
            if time.monotonic() - started < _PATIENCE:
                return
            bar, task = _bar(title, total)
        bar.update(task, completed=done, total=total, description=message or title)

    try:
        yield report
    finally:
        if bar is not None:
            bar.stop()


def _bar(title: str, total: float | None) -> tuple[Any, Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    bar.start()
    return bar, bar.add_task(title, total=total)
