"""How one text became another, in rows for two columns or one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from workspace.diff.descriptions import shown
from workspace.diff.text import steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.diff.text import Step

MOST = 40_000
"""Characters that the rows of one change hold of what differs, in both texts, and again of what does not."""

_NEAR = 2  # lines that are shown beside what differs
_FOLDED = 4  # lines at least that are worth folding


class Piece(NamedTuple):
    """Some words of a text: they stand in both, went, or came."""

    text: str
    style: Literal["same", "removed", "added"] = "same"


class Row(NamedTuple):
    """Lines side by side; `both` has them in one column, where they are one paragraph with other words.

    A `kind` is `same`, `folded` (the same, and far from what differs), `words`, or `lines` for lines that
    went, came, or both.
    """

    kind: Literal["same", "folded", "words", "lines"]
    old: tuple[Piece, ...] = ()
    new: tuple[Piece, ...] = ()
    both: tuple[Piece, ...] = ()

    @property
    def lines(self) -> int:
        """How many lines it has on the right."""
        return sum(piece.text.count("\n") for piece in self.new) + 1


class Rows(NamedTuple):
    """The rows of a change, and the characters of both texts that are left out behind them."""

    rows: tuple[Row, ...] = ()
    more: int = 0

    @property
    def is_one_sided(self) -> bool:
        """Whether all of it went, or all of it came: one column has room for that."""
        return all(row.kind == "lines" and not (row.old and row.new) for row in self.rows)


def rows_of(before: str, after: str, most: int = MOST) -> Rows:
    """The rows of two texts, in order, of at most about so many characters."""
    found: list[Row] = []
    left, at = most, 0
    for step in steps(before, after):
        found += _same(before[at : step.start], is_first=at == 0)
        size = step.end - step.start + step.new_end - step.new_start
        if size > left:
            found += _cut(before, after, step, left)
            lengths = step.end - step.start, step.new_end - step.new_start
            kept = sum(min(length, left // 2) for length in lengths)
            rest = len(before) - step.end + len(after) - step.new_end
            return _bounded(found, most, size - kept + rest)
        found += _of_step(before, after, step)
        left, at = left - size, step.end
    found += _same(before[at:], is_last=True)
    return _bounded(found, most)


def _bounded(rows: Sequence[Row], most: int, more: int = 0) -> Rows:
    """Rows whose texts that stayed have at most so many characters; the others are counted."""
    found: list[Row] = []
    for row in rows:
        if row.kind not in ("same", "folded"):
            found.append(row)
            continue
        text = row.new[0].text
        kept = text if len(text) <= most else text[:most].rpartition("\n")[0] or text[:most]
        more, most = more + len(text) - len(kept), most - len(kept)
        if kept:
            pieces = (Piece(kept),)
            found.append(row._replace(old=pieces, new=pieces, both=pieces))
    return Rows(tuple(found), more)


def _of_step(before: str, after: str, step: Step) -> Iterator[Row]:
    old, new = before[step.start : step.end], after[step.new_start : step.new_end]
    if not step.words:
        row = Row("lines", _whole(old, "removed"), _whole(new, "added"))
        if row.old or row.new:
            yield row
        return
    olds: list[Piece] = []
    news: list[Piece] = []
    both: list[Piece] = []
    at = step.start
    for edit in step.words:
        same = Piece(shown(before[at : edit.start]))
        went = Piece(shown(before[edit.start : edit.end]), "removed")
        came = Piece(shown(after[edit.new_start : edit.new_end]), "added")
        olds += [same, went]
        news += [same, came]
        both += [same, went, came]
        at = edit.end
    rest = Piece(shown(before[at : step.end].rstrip("\n")))
    texts = (tuple(piece for piece in [*some, rest] if piece.text) for some in (olds, news, both))
    yield Row("words", *texts)


def _cut(before: str, after: str, step: Step, left: int) -> Iterator[Row]:
    """The beginning of a step for which there is no room."""
    old = before[step.start : min(step.end, step.start + left // 2)]
    new = after[step.new_start : min(step.new_end, step.new_start + left // 2)]
    row = Row("lines", _whole(old, "removed"), _whole(new, "added"))
    if row.old or row.new:
        yield row


def _whole(text: str, style: Literal["removed", "added"]) -> tuple[Piece, ...]:
    lines = text.strip("\n")
    return (Piece(shown(lines), style),) if lines.strip() else ()


def _same(text: str, *, is_first: bool = False, is_last: bool = False) -> Iterator[Row]:
    """Lines that stayed: those near to what differs, and between them the others, folded."""
    lines = text.strip("\n").split("\n")
    if not any(map(str.strip, lines)):
        return
    first = 0 if is_first else _NEAR
    last = len(lines) if is_last else len(lines) - _NEAR
    if last - first < _FOLDED:
        first = last = len(lines)
    for kind, some in (("same", lines[:first]), ("folded", lines[first:last]), ("same", lines[last:])):
        if any(map(str.strip, some)):
            pieces = (Piece(shown("\n".join(some).strip("\n"))),)
            yield Row("folded" if kind == "folded" else "same", pieces, pieces, pieces)
