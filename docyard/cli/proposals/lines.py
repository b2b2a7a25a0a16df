"""Lines of a page: styled, wrapped below where they begin, and free of what a terminal would obey."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from docyard.environment import is_terminal
from docyard.terminal import console

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

_LEAST = 20  # columns for what hangs behind an indent, however narrow the terminal is
_DEEPEST = 4  # columns of indent where a terminal is narrow
_NARROW = 60


class Piece(NamedTuple):
    """A part of a line, and how it looks: a style of rich, or nothing."""

    text: str
    style: str = ""


class Paper:
    """Where a page is printed: a terminal of some width, or a pipe, in which no line is broken."""

    def __init__(self) -> None:
        self._screen: Console = console.console()

    @property
    def has_colours(self) -> bool:
        """Whether colours can tell what went and what came."""
        return self._screen.color_system is not None and not self._screen.no_color

    def blank(self) -> None:
        """An empty line."""
        self._screen.print()

    def head(self, title: str) -> None:
        """The title of a part of the page, below an empty line."""
        self.blank()
        self.line(Piece(title, "bold"))

    def line(self, *pieces: Piece | str, indent: int = 0, hang: int = 0) -> None:
        """One line, set in by `indent` columns; where it is broken, its rest by `hang` columns more."""
        from rich.text import Text

        if self._screen.width < _NARROW:
            indent, hang = min(indent, _DEEPEST), min(hang, _DEEPEST)
        body = Text.assemble(*(_shown(piece) for piece in pieces))
        room = max(self._screen.width - indent - hang, _LEAST)
        is_whole = self._screen.soft_wrap or body.cell_len <= self._screen.width - indent
        # The first line has the room of the others, which few notice and which keeps the breaking simple.
        lines = [body] if is_whole else body.wrap(self._screen, room)
        lead = " " * indent
        for line in lines:
            shown = Text.assemble(lead, line)
            shown.rstrip()
            self._screen.print(shown, soft_wrap=True)
            lead = " " * (indent + hang)

    def command(self, text: str, *, indent: int = 0) -> None:
        """A line that is to be typed, which is never broken: a terminal hands a long one out as a whole."""
        from rich.text import Text

        self._screen.print(Text.assemble(" " * indent, _shown(text)), soft_wrap=True)

    def text(
        self, text: str, *, indent: int = 0, most: int | None = None, style: str = "", rest: str = ""
    ) -> None:
        """A text of several lines, each of them set in.

        At most so many, and then how many more there are, and `rest`: where to read them.
        """
        lines = text.rstrip().split("\n")
        for line in lines[:most]:
            self.line(Piece(line, style), indent=indent)
        if most is not None and len(lines) > most:
            self.line(Piece(f"… {counted(len(lines) - most, 'more line')}{rest}", "dim"), indent=indent)

    def markdown(self, source: str) -> None:
        """Markdown: rendered where a person looks, as it is in a pipe."""
        from docyard.terminal.terminal import show_markdown
        from tools.errors import visible

        if is_terminal(sys.stdout):
            show_markdown(source)
        else:
            print(visible(source))


def counted(number: int, noun: str) -> str:
    """`1 comment`, `2 comments`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def joined(words: Iterable[str], last: str = "and") -> str:
    """`one`, `one and two`, `one, two and three`."""
    found: Sequence[str] = tuple(words)
    return f" {last} ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


def _shown(piece: Piece | str) -> tuple[str, str]:
    from tools.errors import visible

    text, style = (piece, "") if isinstance(piece, str) else piece
    return visible(text.replace("\n", " ")).expandtabs(), style
