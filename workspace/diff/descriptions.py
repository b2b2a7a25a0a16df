"""A change in words: a sentence of styled segments, and the rows of text that differ.

Styles are names of what a segment is; who shows it decides how that looks. Characters that are not to be
seen, or that would change how a line is shown (controls, bidirectional marks), are shown as U+FFFD.

What fits into a number of characters, and how many changes do not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from workspace.diff.changes import ChangeKind, DocumentKind
from workspace.diff.text import BLANKS, collapse_blanks, diff_units, expand_to_word_boundaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from workspace.diff.changes import DocumentChange, PartVersion, SectionChange
    from workspace.diff.text import DiffStep

Style = Literal["plain", "title", "address", "removed", "added"]
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_OTHER_SPACE = re.compile(r"[^ \t\r\n]")
_WORD = re.compile(r"\w")
_SHORT = 120  # characters of a title
_LINE = 500  # characters of a line
_ROWS = 40  # of a change
_AROUND = 60  # characters shown on each side of words that differ

_DONE = {
    ChangeKind.TASK_ADDED: "Task added: ",
    ChangeKind.TASK_REMOVED: "Task removed: ",
    ChangeKind.TASK_MOVED: "Task moved: ",
    ChangeKind.TASK_COMPLETED: "Task completed: ",
    ChangeKind.TASK_REOPENED: "Task reopened: ",
}


class Segment(NamedTuple):
    """A piece of a line, and what it is."""

    text: str
    style: Style = "plain"


class DiffRow(NamedTuple):
    """A line of a text that differs: `-` went, `+` came, `~` has words that differ, `…` counts the rest."""

    mark: Literal["-", "+", "~", "…"]
    segments: tuple[Segment, ...]


class ChangeDescription(NamedTuple):
    """A change in words: a sentence, or none where the rows say it."""

    sentence: tuple[Segment, ...]
    rows: tuple[DiffRow, ...] = ()


def describe_document(change: DocumentChange) -> tuple[Segment, ...]:
    """Return what happened to a document as a whole; nothing where what its sections say is enough."""
    if change.unread:
        return (Segment(f"{change.kind.capitalize()}; it cannot be read ({change.unread})."),)
    if change.kind in (DocumentKind.ADDED, DocumentKind.REMOVED):
        titles = [item.place.title for item in change.sections if item.place.address != "_preamble"]
        counted = f" with {len(titles):,} section{'s' * (len(titles) != 1)}" if titles else ""
        said = f"{change.kind.capitalize()}{counted}"
        listed = _format_list(titles)
        return (Segment(said + (": " if listed else ".")), *listed)
    if change.kind is DocumentKind.RENAMED:
        return (
            Segment("Renamed from "),
            Segment(format_one_line(change.old_path or ""), "address"),
            Segment("."),
        )
    if not change.sections:
        return (Segment("Only blank lines, line ends or bytes that are no text differ."),)
    return ()


def describe_change(change: SectionChange, path: str) -> ChangeDescription:
    """Return a change in words, as they are said in the document of a path."""
    before, after, place = change.before, change.after, change.place
    texts = before.text if before else "", after.text if after else ""
    if change.kind is ChangeKind.METADATA:
        return ChangeDescription(
            (
                Segment("Front matter, "),
                Segment(format_one_line(place.title), "address"),
                *_describe_values(*texts),
            )
        )
    if change.kind is ChangeKind.ADDED:
        return ChangeDescription((Segment("Added"), *_describe_place(place), Segment(".")), _rows(*texts))
    if change.kind is ChangeKind.REMOVED:
        return ChangeDescription((Segment("Removed."),), _rows(*texts))
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
        rows = _rows(*texts)
        said = "The heading changed." if change.field == "heading" else "" if rows else "The text changed."
        return ChangeDescription((Segment(said),) if said else (), rows)
    return _of_task(change, place, texts)


def format_one_line(text: str, most: int = _SHORT) -> str:
    """Return a text on one line, of at most so many characters, that shows all it holds."""
    words = collapse_blanks(text[: 4 * most])
    return _replace_white_space(words if len(words) <= most else words[:most] + "…")


def replace_invisible(text: str) -> str:
    """Return a text in which what would not be seen is U+FFFD."""
    return _UNSEEN.sub("\ufffd", text)


def _replace_white_space(text: str) -> str:
    """Return the same of a text that is not blank, though all of it may be other white space."""
    found = replace_invisible(text)
    return found if found.strip() else _OTHER_SPACE.sub("\ufffd", found)


def _of_task(change: SectionChange, place: PartVersion, texts: tuple[str, str]) -> ChangeDescription:
    title = Segment(format_one_line(place.title), "title")
    if change.kind is ChangeKind.TASK_CHANGED:
        name = "" if change.field == "text" else f"{change.field} of the "
        said = Segment(f"{name}task ".capitalize()), title
        if change.field == "text":
            return ChangeDescription((*said, Segment(" changed.")), _rows(*texts))
        return ChangeDescription((*said, *_describe_values(*texts)))
    sentence = (Segment(_DONE[change.kind]), title)
    if change.kind is ChangeKind.TASK_MOVED and change.before and change.after:
        was, is_now = change.before.below, change.after.below
        if was != is_now and was:
            return ChangeDescription(
                (*sentence, Segment(" from "), Segment(format_one_line(was[-1]), "title"), Segment("."))
            )
    more = change.kind in (ChangeKind.TASK_ADDED, ChangeKind.TASK_REMOVED) and place.text.count("\n") > 1
    return ChangeDescription((*sentence, Segment(".")), _rows(*texts) if more else ())


def _format_list(titles: list[str]) -> tuple[Segment, ...]:
    few = titles[:5]
    parts: list[Segment] = []
    for place, title in enumerate(few):
        parts += [Segment(", ")] * (place > 0) + [Segment(format_one_line(title), "title")]
    if titles:
        parts.append(Segment(f" and {len(titles) - 5:,} more." if len(titles) > 5 else "."))
    return tuple(parts)


def _describe_place(place: PartVersion) -> tuple[Segment, ...]:
    if place.after is not None:
        return Segment(" after "), Segment(format_one_line(place.after), "title")
    if place.below:
        return Segment(" below "), Segment(format_one_line(place.below[-1]), "title")
    return ()


def _describe_move(before: PartVersion, after: PartVersion, path: str) -> tuple[Segment, ...]:
    if before.path != after.path:
        if path == before.path:
            return Segment("Moved to "), Segment(format_one_line(after.path), "address"), Segment(".")
        origin = Segment(format_one_line(before.path), "address")
        return Segment("Moved here from "), origin, Segment(".")
    follows = (Segment(" after "), Segment(format_one_line(after.after), "title")) if after.after else ()
    if before.below != after.below:
        return Segment("Moved from "), _above(before), Segment(" to "), _above(after), *follows, Segment(".")
    return Segment("Moved"), *(follows or (Segment(" to the front"),)), Segment(".")


def _above(place: PartVersion) -> Segment:
    return Segment(format_one_line(place.below[-1]), "title") if place.below else Segment("the top level")


def _describe_values(before: str, after: str) -> tuple[Segment, ...]:
    """Return a value before and after, on one line."""
    parts: list[Segment] = [Segment(": ")]
    if before:
        parts += [Segment(format_one_line(before), "removed"), Segment(" → " if after else "")]
    if after:
        parts.append(Segment(format_one_line(after), "added"))
    if not before and not after:
        parts.append(Segment("empty"))
    return tuple(parts)


def _rows(before: str, after: str) -> tuple[DiffRow, ...]:
    """Return the rows of two texts that differ, at most 40 of them."""
    found: list[DiffRow] = []
    more = 0
    for step in diff_units(before, after):
        for row in _of_step(before, after, step):
            if len(found) < _ROWS:
                found.append(row)
            else:
                more += 1
    if more:
        found.append(DiffRow("…", (Segment(f"{more:,} more line{'s' * (more != 1)}"),)))
    return tuple(found)


def _of_step(before: str, after: str, step: DiffStep) -> Iterator[DiffRow]:
    if step.words and _keeps_words(before, step):
        yield DiffRow("~", tuple(_diff_segments(before, after, step)))
        return
    for line in before[step.start : step.end].split("\n"):
        if line.strip(BLANKS):
            yield DiffRow("-", (Segment(_cut(line), "removed"),))
    for line in after[step.new_start : step.new_end].split("\n"):
        if line.strip(BLANKS):
            yield DiffRow("+", (Segment(_cut(line), "added"),))


def _keeps_words(before: str, step: DiffStep) -> bool:
    """Return True if any word of a paragraph stayed."""
    bounds = [step.start, *(at for edit in step.words for at in edit[:2]), step.end]
    return any(_WORD.search(before, one, other) for one, other in zip(bounds[::2], bounds[1::2], strict=True))


def _cut(line: str) -> str:
    return _replace_white_space(line if len(line) <= _LINE else line[:_LINE] + "…")


def _diff_segments(before: str, after: str, step: DiffStep) -> Iterator[Segment]:
    """Yield a paragraph with the words that went and came, and a little of what stands around them."""
    at = step.start
    edits = expand_to_word_boundaries(before, after, step)
    for number, edit in enumerate(edits):
        yield Segment(_around(before[at : edit.start], number == 0, False))
        old, new = before[edit.start : edit.end], after[edit.new_start : edit.new_end]
        if collapse_blanks(old) == collapse_blanks(new):
            yield Segment(_spaced(new))
        else:
            if old.strip(BLANKS):
                yield Segment(_spaced(old), "removed")
            if new.strip(BLANKS):
                yield Segment(_spaced(new), "added")
        at = edit.end
    yield Segment(_around(before[at : step.end].rstrip("\n"), False, True))


def _spaced(text: str) -> str:
    return _replace_white_space(
        collapse_blanks(text[: 4 * _LINE])[:_LINE] if len(text) > _LINE else text.replace("\n", " ")
    )


def _around(text: str, is_first: bool, is_last: bool) -> str:
    """Return what stands between words that differ, without its middle where that is long."""
    words = text.replace("\n", " ")
    if is_first and len(words) > _AROUND:
        words = "… " + words[-_AROUND:].partition(" ")[2]
    elif is_last and len(words) > _AROUND:
        words = words[:_AROUND].rpartition(" ")[0] + " …"
    elif len(words) > 2 * _AROUND + 3:
        words = words[:_AROUND].rpartition(" ")[0] + " … " + words[-_AROUND:].partition(" ")[2]
    return replace_invisible(words)


Block = TypeVar("Block")


def truncate_to_budget(
    blocks: Iterable[tuple[Callable[[], Block], int]], most: int, size_of: Callable[[Block], int]
) -> tuple[list[Block], int]:
    """Return the first blocks of at most `most` characters in all, and the number of changes left out.

    A block is made when it is called for, comes with the number of changes that it tells, and is not cut.
    """
    kept: list[Block] = []
    size = more = 0
    for make, count in blocks:
        if size <= most:
            block = make()
            size += size_of(block)
            if size <= most:
                kept.append(block)
                continue
        more += count
    return kept, more
