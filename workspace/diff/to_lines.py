"""Changes as lines for a terminal: styled segments, whose look is up to who prints them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from workspace.diff.descriptions import Segment, document_sentence, one_line, told
from workspace.diff.rationing import rationed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from workspace.diff.changes import DocumentChange, SectionChange

Line = tuple[Segment, ...]


def as_lines(changes: Iterable[DocumentChange], most: int = 50_000) -> list[Line]:
    """Changes as lines of at most `most` characters in all, and one that counts what is left out.

    Styles are `address` (a path or an address), `title`, `removed`, `added` and `plain`.
    """
    kept, more = rationed(_blocks(changes), most, _size)
    lines = [line for block in kept for line in block]
    if more:
        lines.append((Segment(f"… and {more:,} more change{'s' * (more != 1)}"),))
    return lines


def plain_line(line: Line) -> str:
    """A line without colours: words that differ between marks, as `git diff --word-diff=plain` has them."""
    is_whole = len(line) > 1 and line[0].text.strip() in ("-", "+")
    return "".join(_plain(segment, is_whole) for segment in line)


def _plain(segment: Segment, is_whole: bool) -> str:
    if segment.style == "removed" and not is_whole:
        return f"[-{segment.text}-]"
    if segment.style == "added" and not is_whole:
        return f"{{+{segment.text}+}}"
    return segment.text


def _blocks(changes: Iterable[DocumentChange]) -> Iterator[tuple[Callable[[], list[Line]], int]]:
    """The lines that belong together, each with the number of changes that they tell."""
    for document in changes:
        head: tuple[Line, ...] = ((Segment(one_line(document.path, 1000), "address"),),)
        sentence = document_sentence(document)
        if sentence:
            counts = document.is_whole or not document.sections
            yield partial(list, (*head, (Segment("  "), *sentence))), int(counts)
            head = ()
        address = ""
        for change in () if document.is_whole else document.sections:
            yield partial(_block, head, change, document.path, change.section != address), 1
            head, address = (), change.section


def _block(head: Iterable[Line], change: SectionChange, path: str, is_first: bool) -> list[Line]:
    """A change, below the title of its section if it is the first one there."""
    lines = [*head]
    if is_first:
        title = Segment(one_line(change.heading), "title")
        lines.append((Segment("  "), title, Segment(" "), Segment(one_line(change.section), "address")))
    indent = "    " if change.section else "  "
    said = told(change, path)
    if said.sentence:
        lines.append((Segment(indent), *said.sentence))
    lines += [(Segment(f"{indent}{row.mark} "), *row.segments) for row in said.rows]
    return lines


def _size(block: list[Line]) -> int:
    return sum(len(segment.text) for line in block for segment in line)
