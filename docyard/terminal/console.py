"""Terminal output: tables, rendered Markdown, and progress bars for work longer than a second.

`rich` is imported only when output is printed. Progress is printed to standard error, so that output can be
piped, and only if standard error is a terminal.

Control characters, and characters that hide or reorder text, are escaped, so that a document cannot send
commands to the terminal. Tables that are piped are not escaped.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from docyard.environment import is_terminal
from workspace.escapes import escape_invisible

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.markdown import Markdown
    from rich.segment import Segment

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.texts.text_file import TextFile

ReportProgress = Callable[[float, float | None, str | None], None]
_BAR_DELAY_S = 1.0


def print_json(value: Any) -> None:
    """Print a value as indented JSON. Non-ASCII characters are escaped, so that any encoding works."""
    import json

    print(json.dumps(value, indent=2))


@contextmanager
def ignore_broken_pipe() -> Iterator[None]:
    """Ignore a reader that closes the pipe early (`| head`); the exit code does not change."""
    try:
        yield
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()


def discard_stdout() -> None:
    """Discard the buffered output, because Python would write it again at exit and print an error."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def create_console() -> Console:
    """Return a console on standard output.

    Pass the text of documents as `rich.text.Text`, never as a string that rich may interpret as markup.
    """
    from rich.console import Console

    return Console(highlight=False, soft_wrap=not is_terminal(sys.stdout), emoji=False, markup=False)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with column headings; outside a terminal, print only rows of tab-separated cells."""
    if not is_terminal(sys.stdout):
        for row in rows:
            print("\t".join(" ".join(cell.split()) for cell in row))
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        # A document may contain control sequences of the terminal.
        table.add_row(*(Text(escape_invisible(cell)) for cell in row))
    create_console().print(table)


def print_column_titles(titles: str) -> None:
    """Print the titles of the columns of a list; outside a terminal print nothing, as programs read rows."""
    if is_terminal(sys.stdout):
        import click

        from docyard.terminal.styles import MUTED, add_style

        click.echo(add_style(titles, MUTED))


@contextmanager
def show_progress(title: str) -> Iterator[ReportProgress | None]:
    """Yield a progress function for long work; None outside a terminal. A bar appears after one second."""
    if not is_terminal(sys.stderr):
        yield None
        return
    start_time = time.monotonic()
    bar: Any = None
    task: Any = None

    def report(finished_count: float, total: float | None = None, message: str | None = None) -> None:
        nonlocal bar, task
        if bar is None:
            if time.monotonic() - start_time < _BAR_DELAY_S:
                return
            bar, task = _start_bar(title, total)
        bar.update(task, completed=finished_count, total=total, description=message or title)

    try:
        yield report
    finally:
        if bar is not None:
            bar.stop()


def _start_bar(title: str, total: float | None) -> tuple[Any, Any]:
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


_CODE_THEME = "ansi_dark"  # the terminal's own colours, on its own background
_LINE_ENDINGS = re.compile(r"\r\n?")


def print_text(text: TextFile, start: int, end: int) -> None:
    """Print the bytes [start, end) of a text."""
    from rich.text import Text

    if text.document is None:
        create_console().print(Text(escape_invisible(_normalize_text(text.text(start, end)))))
    else:
        print_markdown(strip_anchors(text.document, start, end))


def print_markdown(source: str) -> None:
    """Render and print Markdown."""
    create_console().print(SafeRenderable(_render_markdown(escape_invisible(_normalize_text(source)))))


def _normalize_text(text: str) -> str:
    """Return a text with LF line endings and without a byte-order mark."""
    return _LINE_ENDINGS.sub("\n", text).removeprefix("\ufeff")


def strip_anchors(document: Document, start: int, end: int) -> str:
    """Return the Markdown of the bytes [start, end), without front matter and without heading anchors."""
    sections = [item for item in document.sections if start <= item.start and item.end <= end]
    if not sections:
        return document.text(max(start, min(document.front_matter_end, end)), end)
    return "".join(_strip_anchor(document, section) for section in sections)


def _strip_anchor(document: Document, section: Section) -> str:
    heading = section.heading
    has_anchor_below = heading is not None and heading.below_start < section.body_start
    if heading is None or not (heading.text.prefix or heading.text.suffix or has_anchor_below):
        return document.text(section.start, section.end)
    heading_text = document.text(section.heading_start, heading.below_start)
    if heading.text.suffix:
        prefix, _, text_after = heading_text.rpartition(heading.text.suffix)
        heading_text = prefix + text_after
    return heading_text.replace(heading.text.prefix, "", 1) + document.text(section.body_start, section.end)


def _render_markdown(source: str) -> Markdown:
    """Return rendered Markdown. HTML blocks appear as code; HTML comments are omitted."""
    from rich.markdown import Markdown

    markdown = Markdown(source, code_theme=_CODE_THEME, hyperlinks=False)
    for token in markdown.parsed:
        if token.type == "html_block" and not token.content.lstrip().startswith("<!--"):
            token.type, token.info = "fence", "html"
    return markdown


class SafeRenderable:
    """A renderable whose output has escaped control characters, such as rendered entities (`&#x202e;`)."""

    def __init__(self, renderable: RenderableType) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield the segments of the renderable, each with escaped control characters."""
        for segment in console.render(self._renderable, options):
            yield segment._replace(text=escape_invisible(segment.text))
