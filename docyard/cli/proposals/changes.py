"""Differences between two commits at an address, as JSON, as Markdown and for a terminal.

`PagePrinter` prints the lines of a page: styled, wrapped with a hanging indent, without control characters.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from docyard.environment import is_terminal
from docyard.terminal import console, styles
from docyard.terminal.exits import CommandError
from docyard.wording import format_count, join_words, shorten_id
from workspace.diff.changes import ChangeKind, DocumentChangeKind
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

_MIN_TEXT_WIDTH = 20  # columns of text after an indent, even in a narrow terminal
_MAX_NARROW_INDENT = 4  # columns of indent in a narrow terminal
_NARROW_WIDTH = 60  # columns; a narrower terminal has smaller indents


class StyledText(NamedTuple):
    """A text within a line, and its rich style; an empty style is the default."""

    text: str
    style: str = ""


class PagePrinter:
    """A printer of a page's lines, which are wrapped to the width of the terminal, but not in a pipe."""

    def __init__(self) -> None:
        self._console: Console = console.create_console()

    @property
    def has_colours(self) -> bool:
        """Return True if colours can mark removed and added text."""
        return self._console.color_system is not None and not self._console.no_color

    def print_blank_line(self) -> None:
        """Print an empty line."""
        self._console.print()

    def print_heading(self, title: str) -> None:
        """Print the title of a section of the page, below an empty line."""
        self.print_blank_line()
        self.print_line(StyledText(title, styles.TITLE))

    def print_line(self, *texts: StyledText | str, indent: int = 0, hang: int = 0) -> None:
        """Print one line, indented by `indent` columns; continuation lines by `hang` columns more."""
        from rich.text import Text

        if self._console.width < _NARROW_WIDTH:
            indent, hang = min(indent, _MAX_NARROW_INDENT), min(hang, _MAX_NARROW_INDENT)
        body = Text.assemble(*(_style_text(text_part) for text_part in texts))
        width = max(self._console.width - indent - hang, _MIN_TEXT_WIDTH)
        is_one_line = self._console.soft_wrap or body.cell_len <= self._console.width - indent
        # All lines have the width of the continuation lines, because rich wraps a text to one width.
        lines = [body] if is_one_line else body.wrap(self._console, width)
        margin = " " * indent
        for line in lines:
            output = Text.assemble(margin, line)
            output.rstrip()
            self._console.print(output, soft_wrap=True)
            margin = " " * (indent + hang)

    def print_command(self, text: StyledText | str, *, indent: int = 0) -> None:
        """Print a command or an address without wrapping it, so that a user can copy it from a terminal."""
        from rich.text import Text

        self._console.print(Text.assemble(" " * indent, _style_text(text)), soft_wrap=True)

    def print_text(
        self, text: str, *, indent: int = 0, max_lines: int | None = None, style: str = "", suffix: str = ""
    ) -> None:
        """Print a text of several lines, each of them indented.

        After `max_lines` lines, print the number of omitted lines, and `suffix`, which names the option that
        prints all lines.
        """
        lines = text.rstrip().split("\n")
        for line in lines[:max_lines]:
            self.print_line(StyledText(line, style), indent=indent)
        if max_lines is not None and len(lines) > max_lines:
            self.print_line(
                StyledText(f"… {format_count(len(lines) - max_lines, 'more line')}{suffix}", styles.MUTED),
                indent=indent,
            )

    def print_markdown(self, source: str) -> None:
        """Print Markdown: rendered in a terminal, as source in a pipe."""
        from docyard.terminal.console import print_markdown
        from workspace.escapes import escape_invisible

        if is_terminal(sys.stdout):
            print_markdown(source)
        else:
            print(escape_invisible(source))


def _style_text(text_part: StyledText | str) -> tuple[str, str]:
    from workspace.escapes import escape_invisible

    text, style = (text_part, "") if isinstance(text_part, str) else text_part
    return escape_invisible(text.replace("\n", " ")).expandtabs(), style


MAX_CHANGES_CHARS = 10_000_000
"""The maximum length of a complete comparison; real comparisons are shorter."""

_STYLES = {
    "address": styles.ADDRESS_TITLE,
    "title": styles.TITLE,
    "removed": styles.REMOVED,
    "added": styles.ADDED,
}
_MAX_FILES = 50


def select_changes(
    changes: CommitChanges, path: str | None, slug: str | None, *, subject: str = "the proposal"
) -> CommitChanges:
    """Return the changes in a document, or in a section with its subsections.

    `subject` begins the error message. Raises CommandError with the nearest changed paths if there are no
    changes.
    """
    if path is None:
        return changes
    documents = tuple(
        selected_document
        for document in changes.documents
        if path in (document.path, document.old_path)
        and (selected_document := _select_sections(document, slug)) is not None
    )
    files = tuple(file for file in changes.files if file == path and slug is None)
    if documents or files:
        return changes._replace(documents=documents, files=files)
    from workspace.nearest import find_nearest

    changed_paths = sorted(changes.paths)
    nearest_paths = find_nearest(path, changed_paths) or changed_paths[:3]
    raise CommandError(
        f"{subject} changes nothing at this address",
        fix=f"Name a changed document: {join_words(nearest_paths)}."
        if nearest_paths
        else "Commit a change first.",
    )


def _select_sections(document: DocumentChange, slug: str | None) -> DocumentChange | None:
    selected_document = select_section(document, slug) if slug is not None else None
    if selected_document is None or not selected_document.is_addition_or_removal:
        return document if slug is None else selected_document
    # In an added or removed document, the text of the section is shown as in a changed document.
    return selected_document._replace(kind=DocumentChangeKind.CHANGED)


def changes_to_data(changes: CommitChanges) -> dict[str, Any]:
    """Return the changes as data for JSON: `documents` with their sections, and names of other `files`."""
    documents = format_data(changes.documents, MAX_CHANGES_CHARS)
    reason = {"reason": changes.reason} if changes.reason else {}
    return {"base": changes.base, "tip": changes.tip, **documents, "files": list(changes.files), **reason}


def changes_to_markdown(changes: CommitChanges, max_chars: int = MAX_CHANGES_CHARS) -> str:
    """Return the changes as Markdown, with the text of added and removed documents.

    After `max_chars` characters, further documents are omitted, and counted.
    """
    blocks: list[str] = []
    for position, document in enumerate(changes.documents):
        if max_chars <= 0:
            omitted_count = len(changes.documents) - position
            blocks.append(f"… and {format_count(omitted_count, 'more document')}.")
            break
        block = format_markdown([document], max_chars).strip("\n")
        if _is_added_or_removed(document):
            full_text = format_markdown(
                [document._replace(kind=DocumentChangeKind.CHANGED)], max_chars - len(block)
            )
            block = f"{block}\n\n{full_text.partition(chr(10))[2].strip(chr(10))}".rstrip("\n")
        blocks.append(block)
        max_chars -= len(block) + 2
    if changes.files:
        file_lines = [
            f"- {format_code_span(format_one_line(file, 1_000))}" for file in changes.files[:_MAX_FILES]
        ]
        if len(changes.files) > _MAX_FILES:
            file_lines.append(f"- … and {format_count(len(changes.files) - _MAX_FILES, 'more file')}")
        blocks.append("Other files:\n\n" + "\n".join(file_lines))
    return "\n\n".join(blocks)


def print_changes(
    printer: PagePrinter,
    changes: CommitChanges,
    *,
    max_chars: int = MAX_CHANGES_CHARS,
    is_since_review: bool = False,
) -> None:
    """Print the changes in about `max_chars` characters.

    `is_since_review` is True for the changes since a review of the base. Removed and added text is coloured;
    if the output has no colours, it is marked with characters.
    """
    for line in _format_document_lines(changes.documents, max_chars):
        if not printer.has_colours:
            line = _to_segments(format_plain_line(line))
        indent = len(line[0].text) - len(line[0].text.lstrip(" ")) if line else 0
        texts = [StyledText(text, _STYLES.get(style, "")) for text, style in _separate_words(line)]
        if texts:
            texts[0] = texts[0]._replace(text=texts[0].text[indent:])
        hang = 2 if indent else 0
        printer.print_line(*texts, indent=indent, hang=hang)
    for file in changes.files[:_MAX_FILES]:
        printer.print_line(StyledText(file, _STYLES["address"]))
        printer.print_line("This file is not a document.", indent=2)
    if len(changes.files) > _MAX_FILES:
        printer.print_line(f"… and {format_count(len(changes.files) - _MAX_FILES, 'more file')}")
    if changes.reason:
        printer.print_line(f"Some changes are not shown: {changes.reason}.")
    if not changes.documents and not changes.files:
        printer.print_line(
            f"Nothing has changed since your review of {shorten_id(changes.base or '')}."
            if is_since_review
            else "There are no changes yet."
            if changes.tip
            else "The proposal's branch was deleted, so no change is shown."
        )


def _select_section_texts(document: DocumentChange) -> DocumentChange:
    """Return an added or removed document as a change of its sections: the summary has the front matter."""
    section_changes = tuple(
        change for change in document.section_changes if change.kind is not ChangeKind.METADATA
    )
    return document._replace(kind=DocumentChangeKind.CHANGED, section_changes=section_changes)


def _format_document_lines(
    documents: Sequence[DocumentChange], max_chars: int
) -> Iterator[tuple[Segment, ...]]:
    """Yield the lines of all documents, with the text of added and removed documents."""
    for position, document in enumerate(documents):
        summary_lines = format_lines([document], max_chars)
        text_lines = (
            format_lines([_select_section_texts(document)], max_chars)[1:]
            if _is_added_or_removed(document)
            else []
        )
        for line in (*summary_lines, *text_lines):
            max_chars -= sum(len(segment.text) for segment in line)
            yield line
        if max_chars <= 0:
            omitted_count = len(documents) - position - 1
            if omitted_count:
                yield _to_segments(f"… and {format_count(omitted_count, 'more document')}")
            return


def _is_added_or_removed(document: DocumentChange) -> bool:
    """Return True if the document was added or removed, and the comparison contains its text."""
    return document.is_addition_or_removal and bool(document.section_changes)


def _separate_words(line: Sequence[Segment]) -> Iterator[tuple[str, str]]:
    """Yield the texts and styles of a line, with an arrow from removed to added words."""
    previous_style = ""
    for segment in line:
        if previous_style == "removed" and segment.style == "added":
            yield " → ", ""
        yield segment.text, segment.style
        previous_style = segment.style


def _to_segments(text: str) -> tuple[Segment, ...]:
    from workspace.diff.descriptions import Segment

    return (Segment(text),)
