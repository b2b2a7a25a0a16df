"""The styles of output at a terminal: a name for each meaning, and text with a style.

A style is a list of attributes and a colour, such as `bold cyan`. Rich reads the same notation. Colours
follow NO_COLOR and FORCE_COLOR (https://no-color.org, https://force-color.org). Without both, only output to
a terminal has colours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from docyard.terminal.exits import suggest_fix
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from types import TracebackType

TITLE = "bold"
MUTED = "dim"
ID = "yellow"
ADDRESS = "cyan"
ADDRESS_TITLE = "bold cyan"
MATCH = "bold yellow"

ADDED = "green"
REMOVED = "red"

OURS = "green"
THEIRS = "cyan"

PASSED = "green"
FAILED = "red"
MERGED = "magenta"

ERROR = "bold red"
WARNING = "yellow"
NOTE = "cyan"

SEVERITIES = {"error": ERROR, "warning": WARNING, "note": NOTE}
"""The styles of findings, by severity."""

DIFF_LINES = {"+": ADDED, "-": REMOVED, "@": ADDRESS}
"""The styles of the lines of a unified diff, by their first character."""


def add_style(text: str, style: str) -> str:
    """Return a text with the control sequences of a style, or unchanged if the style is empty.

    `click.echo` removes the sequences if the output has no colours.
    """
    words = style.split()
    if not words:
        return text
    colour = next((word for word in words if word not in ("bold", "dim")), None)
    return click.style(text, colour, bold="bold" in words or None, dim="dim" in words or None)


class HelpFormatter(click.HelpFormatter):
    """The help of a command, with styles for headings, options and commands."""

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """Write the line `Usage: docyard ...`."""
        super().write_usage(add_style(prog, TITLE), args, add_style(prefix or "Usage: ", TITLE))

    def write_heading(self, heading: str) -> None:
        """Write the title of a list."""
        super().write_heading(add_style(heading, TITLE))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of options or commands, each with its meaning."""
        super().write_dl([(add_style(term, ADDRESS), text) for term, text in rows], col_max, col_spacing)


class HelpContext(click.Context):
    """The context of a command whose help has styles.

    Click's parser of options raises errors without a context; they get the context of their command. The fix
    of an expected error is written here, because it names commands with the options of this command.
    """

    formatter_class = HelpFormatter

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        if isinstance(error, click.UsageError) and error.ctx is None:
            error.ctx = self
        if isinstance(error, WorkspaceError) and self.meta.get(__name__) is not error:
            self.meta[__name__] = error  # the contexts of the groups end with the same error
            error.fix = suggest_fix(error)
        is_suppressed = super().__exit__(exc_type, error, traceback)
        if isinstance(error, click.NoSuchOption) and error.possibilities:
            from workspace.nearest import find_nearest

            # Click compares the dashes, too.
            name = error.option_name.lstrip("-")
            options = [option for option in error.possibilities if find_nearest(name, [option.lstrip("-")])]
            if options != error.possibilities:
                raise click.NoSuchOption(error.option_name, possibilities=options, ctx=error.ctx) from error
        return is_suppressed
