"""What people see: tables, and bars for work that takes longer than a second.

The one place for `rich`, which is imported when something is shown. Progress goes to standard error, so
that what a command prints can be piped, and only where a person is looking.

Texts as a person reads them in a terminal: Markdown rendered, everything else as it is.

What a document says never reaches the terminal as a command to it: characters that a terminal would obey, or
that hide or turn around what follows, are written out.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from docyard.environment import is_terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.markdown import Markdown
    from rich.segment import Segment

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.texts.text_file import TextFile

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
    """Return a console on standard output.

    Text from documents must be given as `rich.text.Text`, not as markup.
    """
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

    from tools.errors import escape_invisible

    drawn = Table(box=SIMPLE_HEAD)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        # A document, or a file from elsewhere, may hold what the terminal would obey.
        drawn.add_row(*(Text(escape_invisible(cell)) for cell in row))
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


_THEME = "ansi_dark"  # the terminal's own colours, on its own background


_ENDINGS = re.compile(r"\r\n?")


def show(text: TextFile, start: int, end: int, *, pager: bool = False) -> None:
    """Print the bytes [start, end) of a text, a screen at a time if a pager is asked for."""
    from rich.text import Text

    from tools.errors import escape_invisible

    if text.document is None:
        _print(Text(escape_invisible(_plain(text.text(start, end)))), pager=pager)
    else:
        show_markdown(without_anchors(text.document, start, end), pager=pager)


def show_markdown(source: str, *, pager: bool = False) -> None:
    """Print Markdown, rendered."""
    from tools.errors import escape_invisible

    _print(Screened(_markdown(escape_invisible(_plain(source)))), pager=pager)


def _print(shown: RenderableType, *, pager: bool) -> None:
    screen = console()
    if not pager:
        screen.print(shown)
        return
    import click

    with screen.capture() as captured:
        screen.print(shown)
    click.echo_via_pager(captured.get(), color=not screen.no_color)


def _plain(text: str) -> str:
    """Return a text whose lines end with LF, and without a byte-order mark."""
    return _ENDINGS.sub("\n", text).removeprefix("\ufeff")


def without_anchors(document: Document, start: int, end: int) -> str:
    """Return the Markdown between two bytes, without front matter and the anchors of headings."""
    within = [item for item in document.sections if start <= item.start and item.end <= end]
    if not within:
        return document.text(max(start, min(document.front_matter_end, end)), end)
    return "".join(_without_anchor(document, section) for section in within)


def _without_anchor(document: Document, section: Section) -> str:
    heading = section.heading
    has_lists = heading is not None and heading.below_start < section.body
    if heading is None or not (heading.text.prefix or heading.text.suffix or has_lists):
        return document.text(section.start, section.end)
    words = document.text(section.heading_start, heading.below_start)
    if heading.text.suffix:
        before, _, after = words.rpartition(heading.text.suffix)
        words = before + after
    return words.replace(heading.text.prefix, "", 1) + document.text(section.body, section.end)


def _markdown(source: str) -> Markdown:
    """Rendered Markdown, in which blocks of HTML are shown as the code that they are, but for comments."""
    from rich.markdown import Markdown

    rendered = Markdown(source, code_theme=_THEME, hyperlinks=False)
    for token in rendered.parsed:
        if token.type == "html_block" and not token.content.lstrip().startswith("<!--"):
            token.type, token.info = "fence", "html"
    return rendered


class Screened:
    """What is rendered, with the characters written out that rendering itself has made (`&#x202e;`)."""

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield the segments of what is inside, each fit to be seen."""
        from tools.errors import escape_invisible

        for segment in console.render(self._inner, options):
            yield segment._replace(text=escape_invisible(segment.text))
