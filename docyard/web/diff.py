"""Changes as a page shows them: documents, their sections, and in these the rows of text that differ.

Everything is bounded: a page has 120 sections and about 400,000 characters, one change 40,000. What is left
out is counted, and the next page begins where this one ends.

How one text became another, in rows for two columns or one.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, NamedTuple

from workspace.diff.changes import ChangeKind
from workspace.diff.descriptions import describe_change, describe_document, format_one_line, replace_invisible
from workspace.diff.text import diff_units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.diff.changes import DocumentChange, SectionChange
    from workspace.diff.descriptions import Segment
    from workspace.diff.text import DiffStep
    from workspace.proposals.review.changes import CommitChanges

MOST = 40_000
"""Characters that the rows of one change hold of what differs, in both texts, and again of what does not."""

_NEAR = 2  # lines that are shown beside what differs
_FOLDED = 4  # lines at least that are worth folding


class TextRun(NamedTuple):
    """Some words of a text: they stand in both, went, or came."""

    text: str
    style: Literal["same", "removed", "added"] = "same"


class DiffRow(NamedTuple):
    """Lines side by side; `both` has them in one column, where they are one paragraph with other words.

    A `kind` is `same`, `folded` (the same, and far from what differs), `words`, or `lines` for lines that
    went, came, or both.
    """

    kind: Literal["same", "folded", "words", "lines"]
    old: tuple[TextRun, ...] = ()
    new: tuple[TextRun, ...] = ()
    both: tuple[TextRun, ...] = ()

    @property
    def lines(self) -> int:
        """How many lines it has on the right."""
        return sum(piece.text.count("\n") for piece in self.new) + 1


class DiffRows(NamedTuple):
    """The rows of a change, and the characters of both texts that are left out behind them."""

    rows: tuple[DiffRow, ...] = ()
    more: int = 0

    @property
    def is_one_sided(self) -> bool:
        """Return True if all of it went, or all of it came: one column has room for that."""
        return all(row.kind == "lines" and not (row.old and row.new) for row in self.rows)


def build_rows(before: str, after: str, most: int = MOST) -> DiffRows:
    """Return the rows of two texts, in order, of at most about so many characters."""
    found: list[DiffRow] = []
    left, at = most, 0
    for step in diff_units(before, after):
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


def _bounded(rows: Sequence[DiffRow], most: int, more: int = 0) -> DiffRows:
    """Return rows whose texts that stayed have at most so many characters; the others are counted."""
    found: list[DiffRow] = []
    for row in rows:
        if row.kind not in ("same", "folded"):
            found.append(row)
            continue
        text = row.new[0].text
        kept = text if len(text) <= most else text[:most].rpartition("\n")[0] or text[:most]
        more, most = more + len(text) - len(kept), most - len(kept)
        if kept:
            pieces = (TextRun(kept),)
            found.append(row._replace(old=pieces, new=pieces, both=pieces))
    return DiffRows(tuple(found), more)


def _of_step(before: str, after: str, step: DiffStep) -> Iterator[DiffRow]:
    old, new = before[step.start : step.end], after[step.new_start : step.new_end]
    if not step.words:
        row = DiffRow("lines", _whole(old, "removed"), _whole(new, "added"))
        if row.old or row.new:
            yield row
        return
    olds: list[TextRun] = []
    news: list[TextRun] = []
    both: list[TextRun] = []
    at = step.start
    for edit in step.words:
        same = TextRun(replace_invisible(before[at : edit.start]))
        went = TextRun(replace_invisible(before[edit.start : edit.end]), "removed")
        came = TextRun(replace_invisible(after[edit.new_start : edit.new_end]), "added")
        olds += [same, went]
        news += [same, came]
        both += [same, went, came]
        at = edit.end
    rest = TextRun(replace_invisible(before[at : step.end].rstrip("\n")))
    texts = (tuple(piece for piece in [*some, rest] if piece.text) for some in (olds, news, both))
    yield DiffRow("words", *texts)


def _cut(before: str, after: str, step: DiffStep, left: int) -> Iterator[DiffRow]:
    """Yield the beginning of a step for which there is no room."""
    old = before[step.start : min(step.end, step.start + left // 2)]
    new = after[step.new_start : min(step.new_end, step.new_start + left // 2)]
    row = DiffRow("lines", _whole(old, "removed"), _whole(new, "added"))
    if row.old or row.new:
        yield row


def _whole(text: str, style: Literal["removed", "added"]) -> tuple[TextRun, ...]:
    lines = text.strip("\n")
    return (TextRun(replace_invisible(lines), style),) if lines.strip() else ()


def _same(text: str, *, is_first: bool = False, is_last: bool = False) -> Iterator[DiffRow]:
    """Yield lines that stayed: those near to what differs, and between them the others, folded."""
    lines = text.strip("\n").split("\n")
    if not any(map(str.strip, lines)):
        return
    first = 0 if is_first else _NEAR
    last = len(lines) if is_last else len(lines) - _NEAR
    if last - first < _FOLDED:
        first = last = len(lines)
    for kind, some in (("same", lines[:first]), ("folded", lines[first:last]), ("same", lines[last:])):
        if any(map(str.strip, some)):
            pieces = (TextRun(replace_invisible("\n".join(some).strip("\n"))),)
            yield DiffRow("folded" if kind == "folded" else "same", pieces, pieces, pieces)


View = Literal["side", "inline"]
MOST_SECTIONS = 120
"""Of one page."""

MOST_FILES = 200
"""Other files that are named."""

_MOST = 400_000  # characters of one page
_SHORT = 120  # characters of a value for which a sentence has room

_IN_ROWS = frozenset(
    {ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.CHANGED, ChangeKind.TASK_ADDED, ChangeKind.TASK_REMOVED}
)

_MARKS = {ChangeKind.TASK_COMPLETED: "☑", ChangeKind.TASK_REOPENED: "☐"}


class ChangeView(NamedTuple):
    """One thing that happened: a sentence (or none, where the rows say it), and rows.

    `mark` is what stands before the sentence, a box for a task that was ticked or reopened.
    """

    kind: ChangeKind
    sentence: tuple[Segment, ...]
    rows: DiffRows
    mark: str = ""


class SectionView(NamedTuple):
    """What happened in a section of a document; the address is empty for front matter.

    `id` names its place on the page. `above` are the titles of the sections that it stands below.
    `is_there` is whether the newer version has the section.
    """

    id: str
    address: str
    heading: str
    above: tuple[str, ...]
    kinds: tuple[str, ...]
    changes: tuple[ChangeView, ...]
    is_there: bool


class DocumentView(NamedTuple):
    """What happened in a document, or the part of it that this page has."""

    id: str
    kind: str
    path: str
    old_path: str | None
    title: str
    sentence: tuple[Segment, ...]
    sections: tuple[SectionView, ...]


class DiffPage(NamedTuple):
    """A page of changes: `total` sections there are in all, of which it begins behind the first `offset`.

    `next` is the offset of the page that follows; None at the end. `files` are no documents, `more_files` are
    not named. `reason` says why documents are told without their sections.
    """

    documents: tuple[DocumentView, ...]
    total: int
    offset: int
    next: int | None
    files: tuple[str, ...]
    more_files: int
    reason: str | None


def format_element_id(path: str, address: str | None = None) -> str:
    """Return the id of the element of a page that shows a document's changes, or those of a section of it."""
    named = path if address is None else f"{path}\n{address}"
    return "change-" + hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def build_diff(
    changes: CommitChanges,
    *,
    path: str | None = None,
    offset: int = 0,
    most: int = MOST_SECTIONS,
    longest: int = MOST,
    id_prefix: str = "",
) -> DiffPage:
    """Return a page of changes, of at most so many sections: of all documents, or of that of a path.

    Of each change at most about `longest` characters are shown. `id_prefix` tells elements of two diffs on
    one page apart.
    """
    documents = [one for one in changes.documents if path is None or path in (one.path, one.old_path)]
    files = [file for file in changes.files if path in (None, file)]
    shown: list[DocumentView] = []
    number = used = size = 0
    next_at: int | None = None
    for document in documents:
        groups = _sections(document)
        count = max(1, len(groups))
        if next_at is not None or number + count <= offset:
            number += count
            continue
        first = max(0, offset - number)
        sections: list[SectionView] = []
        for place, group in enumerate(groups[first:], number + first):
            if used >= most or size >= _MOST:
                next_at = place
                break
            found = _section(document, group, longest)
            sections.append(found)
            used, size = used + 1, size + _size(found)
        if sections or not groups:
            used += not groups
            shown.append(_with_prefix(id_prefix, _document(document, tuple(sections))))
        number += count
        if next_at is None and used >= most:
            next_at = number
    if next_at is not None and next_at >= number:
        next_at = None
    names = tuple(format_one_line(file, 1000) for file in files[:MOST_FILES])
    more = max(0, len(files) - MOST_FILES)
    return DiffPage(tuple(shown), number, offset, next_at, names, more, changes.reason)


def _sections(document: DocumentChange) -> list[list[SectionChange]]:
    """Return the changes of a document, those of one section together."""
    found: dict[str, list[SectionChange]] = {}
    for change in document.sections:
        found.setdefault(change.section, []).append(change)
    return list(found.values())


def _document(document: DocumentChange, sections: tuple[SectionView, ...]) -> DocumentView:
    return DocumentView(
        format_element_id(document.path),
        document.kind.value,
        document.path,
        document.old_path if document.old_path != document.path else None,
        format_one_line(document.title),
        describe_document(document),
        sections,
    )


def _with_prefix(prefix: str, document: DocumentView) -> DocumentView:
    sections = tuple(section._replace(id=prefix + section.id) for section in document.sections)
    return document._replace(id=prefix + document.id, sections=sections)


def _section(document: DocumentChange, group: Sequence[SectionChange], longest: int) -> SectionView:
    first = group[0]
    is_task = first.kind.startswith("task_")
    above = first.place.below[:-1] if is_task else first.place.below
    return SectionView(
        format_element_id(document.path, first.section),
        first.section,
        format_one_line(first.heading) if first.section else "Front matter",
        tuple(format_one_line(title) for title in above),
        tuple(dict.fromkeys(_kind(change.kind) for change in group)),
        tuple(_change(change, document.path, longest) for change in group),
        any(change.after is not None and change.after.path == document.path for change in group) or is_task,
    )


def _kind(kind: ChangeKind) -> str:
    """Return what a section is marked with; what happened to its tasks is one thing."""
    if kind.startswith("task_"):
        return "tasks"
    return "changed" if kind is ChangeKind.METADATA else kind.value


def _change(change: SectionChange, path: str, longest: int) -> ChangeView:
    before = change.before.text if change.before else ""
    after = change.after.text if change.after else ""
    has_rows = change.kind in _IN_ROWS or (change.kind is ChangeKind.TASK_CHANGED and change.field == "text")
    if change.kind is ChangeKind.METADATA:
        has_rows = max(len(before), len(after)) > _SHORT
    elif change.kind in (ChangeKind.TASK_ADDED, ChangeKind.TASK_REMOVED):
        has_rows = (before or after).count("\n") > 1
    rows = build_rows(before, after, longest) if has_rows else DiffRows()
    # The rows say what the texts are; without those the sentence costs nothing.
    sentence = describe_change(_without_texts(change) if has_rows else change, path).sentence
    if change.kind is ChangeKind.CHANGED and change.field != "heading" and rows.rows:
        sentence = ()
    return ChangeView(change.kind, sentence, rows, _MARKS.get(change.kind, ""))


def _without_texts(change: SectionChange) -> SectionChange:
    before, after = (place and place._replace(text="") for place in (change.before, change.after))
    return change._replace(before=before, after=after)


def _size(section: SectionView) -> int:
    return sum(len(text) for text in _texts(section))


def _texts(section: SectionView) -> Iterator[str]:
    for change in section.changes:
        for row in change.rows.rows:
            for piece in (*row.old, *row.new):
                yield piece.text
