"""Differences between two commits at a place, for people and for programs.

`Paper` prints lines of a page: styled, wrapped with a hanging indent, and without control characters.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from docyard.environment import is_terminal
from docyard.terminal import console
from docyard.terminal.exits import CannotError
from docyard.wording import format_count, join_words
from workspace.diff.changes import DocumentKind
from workspace.diff.descriptions import format_one_line
from workspace.diff.formats import (
    format_code_span,
    format_data,
    format_lines,
    format_markdown,
    format_plain_line,
)
from workspace.proposals.review.changes import select_section

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from workspace.diff.changes import DocumentChange
    from workspace.diff.descriptions import Segment
    from workspace.proposals.review.changes import CommitChanges

_LEAST = 20  # columns of text after an indent, in a terminal of any width
_DEEPEST = 4  # columns of indent in a narrow terminal
_NARROW = 60


class StyledText(NamedTuple):
    """A part of a line, and its rich style; an empty style is the default."""

    text: str
    style: str = ""


class Paper:
    """The output of a page: a terminal with a width, or a pipe, where no line is wrapped."""

    def __init__(self) -> None:
        self._screen: Console = console.create_console()

    @property
    def has_colours(self) -> bool:
        """Return True if colours can mark removed and added text."""
        return self._screen.color_system is not None and not self._screen.no_color

    def blank(self) -> None:
        """Print an empty line."""
        self._screen.print()

    def head(self, title: str) -> None:
        """Print the title of a part of the page, below an empty line."""
        self.blank()
        self.line(StyledText(title, "bold"))

    def line(self, *pieces: StyledText | str, indent: int = 0, hang: int = 0) -> None:
        """Print one line, indented by `indent` columns; continuation lines by `hang` columns more."""
        from rich.text import Text

        if self._screen.width < _NARROW:
            indent, hang = min(indent, _DEEPEST), min(hang, _DEEPEST)
        body = Text.assemble(*(_style_text(piece) for piece in pieces))
        width = max(self._screen.width - indent - hang, _LEAST)
        is_whole = self._screen.soft_wrap or body.cell_len <= self._screen.width - indent
        # The first line is as narrow as the others, so that one width is enough to wrap them.
        lines = [body] if is_whole else body.wrap(self._screen, width)
        lead = " " * indent
        for line in lines:
            shown = Text.assemble(lead, line)
            shown.rstrip()
            self._screen.print(shown, soft_wrap=True)
            lead = " " * (indent + hang)

    def command(self, text: str, *, indent: int = 0) -> None:
        """Print a command line without wrapping it, so that a terminal copies it whole."""
        from rich.text import Text

        self._screen.print(Text.assemble(" " * indent, _style_text(text)), soft_wrap=True)

    def text(
        self, text: str, *, indent: int = 0, most: int | None = None, style: str = "", rest: str = ""
    ) -> None:
        """Print a text of several lines, each of them indented.

        Prints at most `most` lines, then the number of omitted lines, and `rest`: where to read them.
        """
        lines = text.rstrip().split("\n")
        for line in lines[:most]:
            self.line(StyledText(line, style), indent=indent)
        if most is not None and len(lines) > most:
            self.line(
                StyledText(f"… {format_count(len(lines) - most, 'more line')}{rest}", "dim"), indent=indent
            )

    def markdown(self, source: str) -> None:
        """Print Markdown: rendered in a terminal, as source in a pipe."""
        from docyard.terminal.console import print_markdown
        from tools.errors import escape_invisible

        if is_terminal(sys.stdout):
            print_markdown(source)
        else:
            print(escape_invisible(source))


def _style_text(piece: StyledText | str) -> tuple[str, str]:
    from tools.errors import escape_invisible

    text, style = (piece, "") if isinstance(piece, str) else piece
    return escape_invisible(text.replace("\n", " ")).expandtabs(), style


MAX_CHANGES_CHARS = 10_000_000
"""Characters of a whole comparison: a limit beyond any real comparison."""

_STYLES = {"address": "bold cyan", "title": "bold", "removed": "red", "added": "green"}
_FILES = 50


def select_changes(
    changes: CommitChanges, path: str | None, slug: str | None, *, of: str = "the proposal"
) -> CommitChanges:
    """Return the changes at a place: in a document, or in a section with its subsections.

    `of` names the source of the changes. Raises CannotError if there are none, with the changed paths.
    """
    if path is None:
        return changes
    documents = tuple(
        found
        for one in changes.documents
        if path in (one.path, one.old_path) and (found := _select_sections(one, slug)) is not None
    )
    files = tuple(file for file in changes.files if file == path and slug is None)
    if documents or files:
        return changes._replace(documents=documents, files=files)
    from workspace.nearest import find_nearest

    touched = sorted(changes.paths)
    close = find_nearest(path, touched) or touched[:3]
    raise CannotError(
        f"{of} changes nothing there",
        fix=f"It changes {join_words(close)}." if close else "It changes nothing yet.",
    )


def _select_sections(document: DocumentChange, slug: str | None) -> DocumentChange | None:
    found = select_section(document, slug) if slug is not None else None
    if found is None or not found.is_whole:
        return document if slug is None else found
    # In an added or removed document, the text of the section is shown as in a changed one.
    return found._replace(kind=DocumentKind.CHANGED)


def changes_to_data(changes: CommitChanges) -> dict[str, Any]:
    """Return the changes as data: `documents` by their sections, `files` by name."""
    documents = format_data(changes.documents, MAX_CHANGES_CHARS)
    reason = {"reason": changes.reason} if changes.reason else {}
    return {"base": changes.base, "tip": changes.tip, **documents, "files": list(changes.files), **reason}


def changes_to_markdown(changes: CommitChanges, most: int = MAX_CHANGES_CHARS) -> str:
    """Return the changes as Markdown, with the text of added and removed documents.

    Beyond `most` characters documents are left out, and counted.
    """
    parts: list[str] = []
    for place, one in enumerate(changes.documents):
        if most <= 0:
            rest = len(changes.documents) - place
            parts.append(f"… and {format_count(rest, 'more document')}.")
            break
        part = format_markdown([one], most).strip("\n")
        if _is_added_or_removed(one):
            whole = format_markdown([one._replace(kind=DocumentKind.CHANGED)], most - len(part))
            part = f"{part}\n\n{whole.partition(chr(10))[2].strip(chr(10))}".rstrip("\n")
        parts.append(part)
        most -= len(part) + 2
    if changes.files:
        named = [f"- {format_code_span(format_one_line(file, 1_000))}" for file in changes.files[:_FILES]]
        if len(changes.files) > _FILES:
            named.append(f"- … and {format_count(len(changes.files) - _FILES, 'more file')}")
        parts.append("Other files:\n\n" + "\n".join(named))
    return "\n\n".join(parts)


def print_changes(paper: Paper, changes: CommitChanges, *, most: int = MAX_CHANGES_CHARS) -> None:
    """Print the changes in at most `most` characters: in colours, or with marks without colours."""
    for line in _lines(changes.documents, most):
        if not paper.has_colours:
            line = _segments(format_plain_line(line))
        indent = len(line[0].text) - len(line[0].text.lstrip(" ")) if line else 0
        pieces = [StyledText(text, _STYLES.get(style, "")) for text, style in _separate_words(line)]
        if pieces:
            pieces[0] = pieces[0]._replace(text=pieces[0].text[indent:])
        hang = 2 if indent else 0
        paper.line(*pieces, indent=indent, hang=hang)
    for file in changes.files[:_FILES]:
        paper.line(StyledText(file, _STYLES["address"]))
        paper.line("This file is not a document.", indent=2)
    if len(changes.files) > _FILES:
        paper.line(f"… and {format_count(len(changes.files) - _FILES, 'more file')}")
    if changes.reason:
        paper.line(f"Some changes are not shown: {changes.reason}.")
    if not changes.documents and not changes.files:
        paper.line(
            "Nothing is changed yet." if changes.tip else "Its branch was deleted, so no change is shown."
        )


def _lines(documents: Sequence[DocumentChange], most: int) -> Iterator[tuple[Segment, ...]]:
    """Yield the lines of all documents, with the text of added and removed ones."""
    for place, one in enumerate(documents):
        head = format_lines([one], most)
        body = (
            format_lines([one._replace(kind=DocumentKind.CHANGED)], most)[1:]
            if _is_added_or_removed(one)
            else []
        )
        for line in (*head, *body):
            most -= sum(len(segment.text) for segment in line)
            yield line
        if most <= 0:
            rest = len(documents) - place - 1
            if rest:
                yield _segments(f"… and {format_count(rest, 'more document')}")
            return


def _is_added_or_removed(document: DocumentChange) -> bool:
    """Return True if a whole document was added or removed, and its text is known."""
    return document.is_whole and bool(document.sections)


def _separate_words(line: Sequence[Segment]) -> Iterator[tuple[str, str]]:
    """Return the texts and styles of a line, with a space between removed and added words."""
    before = ""
    for segment in line:
        if before == "removed" and segment.style == "added":
            yield " ", ""
        yield segment.text, segment.style
        before = segment.style


def _segments(text: str) -> tuple[Segment, ...]:
    from workspace.diff.descriptions import Segment

    return (Segment(text),)
