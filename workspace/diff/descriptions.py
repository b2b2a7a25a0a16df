"""Descriptions of changes: a sentence of styled segments, and the rows of text that differ.

A style names the meaning of a segment; the caller chooses its look. Invisible characters, and characters that
change the display of a line (controls, bidirectional marks), are replaced by U+FFFD.

`truncate_to_budget` limits the number of characters and counts the omitted changes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from workspace.diff.changes import ChangeKind, DocumentChangeKind
from workspace.diff.text import BLANKS, collapse_blanks, diff_units, expand_to_word_boundaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from workspace.diff.changes import DocumentChange, PartVersion, SectionChange
    from workspace.diff.text import DiffStep

Style = Literal["plain", "title", "address", "removed", "added"]
_INVISIBLE_CHARACTER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)
_OTHER_SPACE = re.compile(r"[^ \t\r\n]")
_WORD = re.compile(r"\w")
_MAX_TITLE_CHARACTERS = 120
_MAX_LINE_CHARACTERS = 500
_MAX_ROWS = 40
_MAX_LISTED_TITLES = 5
_CONTEXT_CHARACTERS = 60  # characters on each side of words that differ

_TASK_SENTENCES = {
    ChangeKind.TASK_ADDED: "Task added: ",
    ChangeKind.TASK_REMOVED: "Task removed: ",
    ChangeKind.TASK_MOVED: "Task moved: ",
    ChangeKind.TASK_COMPLETED: "Task completed: ",
    ChangeKind.TASK_REOPENED: "Task reopened: ",
}


class Segment(NamedTuple):
    """A part of a line, and its style."""

    text: str
    style: Style = "plain"


class DiffRow(NamedTuple):
    """A line of a text that differs.

    The marks are: `-` removed, `+` added, `~` changed words, `…` the number of further rows.
    """

    mark: Literal["-", "+", "~", "…"]
    segments: tuple[Segment, ...]


class ChangeDescription(NamedTuple):
    """A description of a change: a sentence, which is empty if the rows suffice, and the rows that differ."""

    sentence: tuple[Segment, ...]
    rows: tuple[DiffRow, ...] = ()


def describe_document(change: DocumentChange) -> tuple[Segment, ...]:
    """Return the description of a change to a document; empty if its sections' descriptions suffice."""
    if change.error_code:
        return (Segment(f"{change.kind.capitalize()}; the document cannot be read ({change.error_code})."),)
    if change.kind in (DocumentChangeKind.ADDED, DocumentChangeKind.REMOVED):
        titles = [
            item.location.title
            for item in change.section_changes
            if item.kind is not ChangeKind.METADATA and item.location.address != "_preamble"
        ]
        section_count = f" with {len(titles):,} section{'s' * (len(titles) != 1)}" if titles else ""
        text = f"{change.kind.capitalize()}{section_count}"
        titles_list = _format_list(titles)
        return (Segment(text + (": " if titles_list else ".")), *titles_list)
    if change.kind is DocumentChangeKind.RENAMED:
        return (
            Segment("Renamed from "),
            Segment(format_one_line(change.old_path or ""), "address"),
            Segment("."),
        )
    if not change.section_changes:
        return (Segment("Only blank lines, line endings or bytes that are not text differ."),)
    return ()


def describe_change(change: SectionChange, path: str) -> ChangeDescription:
    """Return the description of a change, for a reader of the document at a path."""
    before, after, location = change.before, change.after, change.location
    texts = before.text if before else "", after.text if after else ""
    if change.kind is ChangeKind.METADATA:
        return ChangeDescription(
            (
                Segment("Front matter, "),
                Segment(format_one_line(location.title), "address"),
                *_describe_values(*texts),
            )
        )
    if change.kind is ChangeKind.ADDED:
        return ChangeDescription(
            (Segment("Added"), *_describe_location(location), Segment(".")), _make_rows(*texts)
        )
    if change.kind is ChangeKind.REMOVED:
        return ChangeDescription((Segment("Removed."),), _make_rows(*texts))
    if change.kind is ChangeKind.MOVED and before and after:
        return ChangeDescription(_describe_move(before, after, path))
    if change.kind is ChangeKind.RENAMED and before and after:
        return ChangeDescription(
            (
                Segment("Renamed from "),
                Segment(format_one_line(before.title), "removed"),
                Segment(" to "),
                Segment(format_one_line(after.title), "added"),
                Segment("."),
            )
        )
    if change.kind is ChangeKind.CHANGED:
        rows = _make_rows(*texts)
        sentence = (
            "The heading changed." if change.field == "heading" else "" if rows else "The text changed."
        )
        return ChangeDescription((Segment(sentence),) if sentence else (), rows)
    return _describe_task(change, location, texts)


def format_one_line(text: str, max_chars: int = _MAX_TITLE_CHARACTERS) -> str:
    """Return a text on one line, cut after `max_chars` characters, with invisible characters replaced."""
    one_line = collapse_blanks(text[: 4 * max_chars])
    return _make_visible(one_line if len(one_line) <= max_chars else one_line[:max_chars] + "…")


def replace_invisible(text: str) -> str:
    """Return a text with invisible characters replaced by U+FFFD."""
    return _INVISIBLE_CHARACTER.sub("\ufffd", text)


def _make_visible(text: str) -> str:
    """Return a text with invisible characters replaced.

    In a text of white space only, spaces other than blanks and line endings are replaced too.
    """
    visible_text = replace_invisible(text)
    return visible_text if visible_text.strip() else _OTHER_SPACE.sub("\ufffd", visible_text)


def _describe_task(change: SectionChange, location: PartVersion, texts: tuple[str, str]) -> ChangeDescription:
    title = Segment(format_one_line(location.title), "title")
    if change.kind is ChangeKind.TASK_CHANGED:
        name = "" if change.field == "text" else f"{change.field} of the "
        subject = Segment(f"{name}task ".capitalize()), title
        if change.field == "text":
            return ChangeDescription((*subject, Segment(" changed.")), _make_rows(*texts))
        return ChangeDescription((*subject, *_describe_values(*texts)))
    sentence = (Segment(_TASK_SENTENCES[change.kind]), title)
    if change.kind is ChangeKind.TASK_MOVED and change.before and change.after:
        old_parents, new_parents = change.before.parent_titles, change.after.parent_titles
        if old_parents != new_parents and old_parents:
            return ChangeDescription(
                (
                    *sentence,
                    Segment(" from "),
                    Segment(format_one_line(old_parents[-1]), "title"),
                    Segment("."),
                )
            )
    has_more_lines = (
        change.kind in (ChangeKind.TASK_ADDED, ChangeKind.TASK_REMOVED) and location.text.count("\n") > 1
    )
    return ChangeDescription((*sentence, Segment(".")), _make_rows(*texts) if has_more_lines else ())


def _format_list(titles: list[str]) -> tuple[Segment, ...]:
    first_titles = titles[:_MAX_LISTED_TITLES]
    parts: list[Segment] = []
    for index, title in enumerate(first_titles):
        parts += [Segment(", ")] * (index > 0) + [Segment(format_one_line(title), "title")]
    if titles:
        omitted_count = len(titles) - _MAX_LISTED_TITLES
        parts.append(Segment(f" and {omitted_count:,} more." if omitted_count > 0 else "."))
    return tuple(parts)


def _describe_location(location: PartVersion) -> tuple[Segment, ...]:
    if location.previous_title is not None:
        return Segment(" after "), Segment(format_one_line(location.previous_title), "title")
    if location.parent_titles:
        return Segment(" below "), Segment(format_one_line(location.parent_titles[-1]), "title")
    return ()


def _describe_move(before: PartVersion, after: PartVersion, path: str) -> tuple[Segment, ...]:
    if before.path != after.path:
        if path == before.path:
            return Segment("Moved to "), Segment(format_one_line(after.path), "address"), Segment(".")
        origin = Segment(format_one_line(before.path), "address")
        return Segment("Moved here from "), origin, Segment(".")
    position = (
        (Segment(" after "), Segment(format_one_line(after.previous_title), "title"))
        if after.previous_title
        else ()
    )
    if before.parent_titles != after.parent_titles:
        return (
            Segment("Moved from "),
            _make_parent_segment(before),
            Segment(" to "),
            _make_parent_segment(after),
            *position,
            Segment("."),
        )
    return Segment("Moved"), *(position or (Segment(" to the front"),)), Segment(".")


def _make_parent_segment(location: PartVersion) -> Segment:
    return (
        Segment(format_one_line(location.parent_titles[-1]), "title")
        if location.parent_titles
        else Segment("the top level")
    )


def _describe_values(before: str, after: str) -> tuple[Segment, ...]:
    """Return the segments of a value before and after a change, on one line."""
    parts: list[Segment] = [Segment(": ")]
    if before:
        parts += [Segment(format_one_line(before), "removed"), Segment(" → " if after else "")]
    if after:
        parts.append(Segment(format_one_line(after), "added"))
    if not before and not after:
        parts.append(Segment("empty"))
    return tuple(parts)


def _make_rows(before: str, after: str) -> tuple[DiffRow, ...]:
    """Return the rows of two texts that differ: at most `_MAX_ROWS`, then the number of the others."""
    rows: list[DiffRow] = []
    omitted_count = 0
    for step in diff_units(before, after):
        for row in _make_step_rows(before, after, step):
            if len(rows) < _MAX_ROWS:
                rows.append(row)
            else:
                omitted_count += 1
    if omitted_count:
        rows.append(DiffRow("…", (Segment(f"{omitted_count:,} more line{'s' * (omitted_count != 1)}"),)))
    return tuple(rows)


def _make_step_rows(before: str, after: str, step: DiffStep) -> Iterator[DiffRow]:
    if step.word_edits and _has_unchanged_word(before, step):
        yield DiffRow("~", tuple(_make_diff_segments(before, after, step)))
        return
    for line in before[step.start : step.end].split("\n"):
        if line.strip(BLANKS):
            yield DiffRow("-", (Segment(_truncate_line(line), "removed"),))
    for line in after[step.new_start : step.new_end].split("\n"):
        if line.strip(BLANKS):
            yield DiffRow("+", (Segment(_truncate_line(line), "added"),))


def _has_unchanged_word(before: str, step: DiffStep) -> bool:
    """Return True if at least one word of a paragraph is unchanged."""
    bounds = [step.start, *(offset for edit in step.word_edits for offset in edit[:2]), step.end]
    return any(_WORD.search(before, start, end) for start, end in zip(bounds[::2], bounds[1::2], strict=True))


def _truncate_line(line: str) -> str:
    return _make_visible(line if len(line) <= _MAX_LINE_CHARACTERS else line[:_MAX_LINE_CHARACTERS] + "…")


def _make_diff_segments(before: str, after: str, step: DiffStep) -> Iterator[Segment]:
    """Yield the segments of a paragraph: its removed and added words, and some of the text around them."""
    position = step.start
    edits = expand_to_word_boundaries(before, after, step)
    for index, edit in enumerate(edits):
        yield Segment(_abbreviate(before[position : edit.start], index == 0, False))
        old, new = before[edit.start : edit.end], after[edit.new_start : edit.new_end]
        if collapse_blanks(old) == collapse_blanks(new):
            yield Segment(_format_spaces(new))
        else:
            if old.strip(BLANKS):
                yield Segment(_format_spaces(old), "removed")
            if new.strip(BLANKS):
                yield Segment(_format_spaces(new), "added")
        position = edit.end
    yield Segment(_abbreviate(before[position : step.end].rstrip("\n"), False, True))


def _format_spaces(text: str) -> str:
    return _make_visible(
        collapse_blanks(text[: 4 * _MAX_LINE_CHARACTERS])[:_MAX_LINE_CHARACTERS]
        if len(text) > _MAX_LINE_CHARACTERS
        else text.replace("\n", " ")
    )


def _abbreviate(text: str, is_first: bool, is_last: bool) -> str:
    """Return the unchanged text between changed words, without its middle if it is long."""
    line = text.replace("\n", " ")
    if is_first and len(line) > _CONTEXT_CHARACTERS:
        line = "… " + line[-_CONTEXT_CHARACTERS:].partition(" ")[2]
    elif is_last and len(line) > _CONTEXT_CHARACTERS:
        line = line[:_CONTEXT_CHARACTERS].rpartition(" ")[0] + " …"
    elif len(line) > 2 * _CONTEXT_CHARACTERS + 3:
        line = (
            line[:_CONTEXT_CHARACTERS].rpartition(" ")[0]
            + " … "
            + line[-_CONTEXT_CHARACTERS:].partition(" ")[2]
        )
    return replace_invisible(line)


Block = TypeVar("Block")


def truncate_to_budget(
    blocks: Iterable[tuple[Callable[[], Block], int]], max_chars: int, size_of: Callable[[Block], int]
) -> tuple[list[Block], int]:
    """Return the first blocks of at most `max_chars` characters in total, and the number of omitted changes.

    Each item of `blocks` is a function that makes a block, with the number of changes in it. Blocks are not
    cut.
    """
    included_blocks: list[Block] = []
    size = omitted_count = 0
    for make_block, count in blocks:
        if size <= max_chars:
            block = make_block()
            size += size_of(block)
            if size <= max_chars:
                included_blocks.append(block)
                continue
        omitted_count += count
    return included_blocks, omitted_count
