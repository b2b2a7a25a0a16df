"""The view of changes on a page: documents, their sections, and rows of text for one or two columns.

A page has at most 120 sections and about 400,000 characters. A change has at most about 40,000 removed and
added characters, and as many unchanged ones. Omitted text is counted, and the
next page begins where this page ends.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, NamedTuple

from workspace.diff.changes import ChangeKind
from workspace.diff.descriptions import describe_change, describe_document, format_one_line, replace_invisible
from workspace.diff.text import diff_units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from docyard.web.diff.html_comparison import RenderedVersions
    from docyard.web.diff.section_renderer import SectionRenderer
    from workspace.diff.changes import DocumentChange, SectionChange
    from workspace.diff.descriptions import Segment
    from workspace.diff.text import DiffStep
    from workspace.proposals.review.changes import CommitChanges

MAX_CHANGE_CHARS = 40_000
"""The maximum number of removed and added characters of one change, and of its unchanged characters."""

_CONTEXT_LINES = 2  # unchanged lines around a change
_MIN_FOLDED_LINES = 4  # fewer unchanged lines are not folded


class TextRun(NamedTuple):
    """A run of text that is unchanged, removed or added."""

    text: str
    style: Literal["same", "removed", "added"] = "same"


class DiffRow(NamedTuple):
    """Old and new lines side by side.

    `kind` is `same`, `folded` (unchanged lines that are not near a change), `words` (one paragraph with
    changed words), or `lines` (removed lines, added lines, or both). `inline` has the text in one column,
    except for the kind `lines`.
    """

    kind: Literal["same", "folded", "words", "lines"]
    old: tuple[TextRun, ...] = ()
    new: tuple[TextRun, ...] = ()
    inline: tuple[TextRun, ...] = ()

    @property
    def line_count(self) -> int:
        """Return the number of lines in the new text."""
        return sum(run.text.count("\n") for run in self.new) + 1

    @property
    def is_table(self) -> bool:
        """Return True if all lines are rows of a table, which are too long for half of the width."""
        texts = ["".join(run.text for run in runs) for runs in (self.old, self.new)]
        lines = [line.strip() for text in texts for line in text.split("\n")]
        return any(lines) and all(line[:1] in ("", "|") for line in lines)


class DiffRows(NamedTuple):
    """The rows of a change, and the number of omitted characters after them in both texts."""

    rows: tuple[DiffRow, ...] = ()
    omitted_chars: int = 0

    @property
    def is_one_sided(self) -> bool:
        """Return True if all text was removed, or all was added, so that one column is enough."""
        return all(row.kind == "lines" and not (row.old and row.new) for row in self.rows)


def build_rows(old_text: str, new_text: str, max_chars: int = MAX_CHANGE_CHARS) -> DiffRows:
    """Return the differences of two texts as rows.

    The rows have at most about `max_chars` removed and added characters, and as many unchanged ones.
    """
    rows: list[DiffRow] = []
    remaining_chars, position = max_chars, 0
    for step in diff_units(old_text, new_text):
        rows += _format_unchanged(old_text[position : step.start], is_first=position == 0)
        step_chars = step.end - step.start + step.new_end - step.new_start
        if step_chars > remaining_chars:
            if step.word_edits and remaining_chars < max_chars:
                remaining_chars = 0  # the cut paragraph would look removed and added as a whole
            rows += _format_truncated(old_text, new_text, step, remaining_chars)
            lengths = step.end - step.start, step.new_end - step.new_start
            shown_chars = sum(min(length, remaining_chars // 2) for length in lengths)
            remaining_text_chars = len(old_text) - step.end + len(new_text) - step.new_end
            return _limit_unchanged(rows, max_chars, step_chars - shown_chars + remaining_text_chars)
        rows += _format_step(old_text, new_text, step)
        remaining_chars, position = remaining_chars - step_chars, step.end
    rows += _format_unchanged(old_text[position:], is_last=True)
    return _limit_unchanged(rows, max_chars)


def _limit_unchanged(rows: Sequence[DiffRow], max_chars: int, omitted_chars: int = 0) -> DiffRows:
    """Return rows with at most `max_chars` unchanged characters.

    `omitted_chars` characters were omitted before, and are added to the number in the result.
    """
    limited_rows: list[DiffRow] = []
    for row in rows:
        if row.kind not in ("same", "folded"):
            limited_rows.append(row)
            continue
        text = row.new[0].text
        shown_text = (
            text if len(text) <= max_chars else text[:max_chars].rpartition("\n")[0] or text[:max_chars]
        )
        omitted_chars, max_chars = omitted_chars + len(text) - len(shown_text), max_chars - len(shown_text)
        if shown_text:
            runs = (TextRun(shown_text),)
            limited_rows.append(row._replace(old=runs, new=runs, inline=runs))
    return DiffRows(tuple(limited_rows), omitted_chars)


def _format_step(old_text: str, new_text: str, step: DiffStep) -> Iterator[DiffRow]:
    old, new = old_text[step.start : step.end], new_text[step.new_start : step.new_end]
    if not step.word_edits:
        row = DiffRow("lines", _format_lines(old, "removed"), _format_lines(new, "added"))
        if row.old or row.new:
            yield row
        return
    old_runs: list[TextRun] = []
    new_runs: list[TextRun] = []
    inline_runs: list[TextRun] = []
    position = step.start
    for edit in step.word_edits:
        unchanged_run = TextRun(replace_invisible(old_text[position : edit.start]))
        removed_run = TextRun(replace_invisible(old_text[edit.start : edit.end]), "removed")
        added_run = TextRun(replace_invisible(new_text[edit.new_start : edit.new_end]), "added")
        old_runs += [unchanged_run, removed_run]
        new_runs += [unchanged_run, added_run]
        inline_runs += [unchanged_run, removed_run, added_run]
        position = edit.end
    last_run = TextRun(replace_invisible(old_text[position : step.end].rstrip("\n")))
    columns = (
        tuple(run for run in [*runs, last_run] if run.text) for runs in (old_runs, new_runs, inline_runs)
    )
    yield DiffRow("words", *columns)


def _format_truncated(
    old_text: str, new_text: str, step: DiffStep, remaining_chars: int
) -> Iterator[DiffRow]:
    """Yield the beginning of a step that exceeds the limit."""
    old = old_text[step.start : min(step.end, step.start + remaining_chars // 2)]
    new = new_text[step.new_start : min(step.new_end, step.new_start + remaining_chars // 2)]
    row = DiffRow("lines", _format_lines(old, "removed"), _format_lines(new, "added"))
    if row.old or row.new:
        yield row


def _format_lines(text: str, style: Literal["removed", "added"]) -> tuple[TextRun, ...]:
    lines = text.strip("\n")
    return (TextRun(replace_invisible(lines), style),) if lines.strip() else ()


def _format_unchanged(text: str, *, is_first: bool = False, is_last: bool = False) -> Iterator[DiffRow]:
    """Yield unchanged lines; lines that are not near a change are folded."""
    lines = text.strip("\n").split("\n")
    if not any(map(str.strip, lines)):
        return
    folded_start = 0 if is_first else _CONTEXT_LINES
    folded_end = len(lines) if is_last else len(lines) - _CONTEXT_LINES
    if folded_end - folded_start < _MIN_FOLDED_LINES:
        folded_start = folded_end = len(lines)
    for kind, part_lines in (
        ("same", lines[:folded_start]),
        ("folded", lines[folded_start:folded_end]),
        ("same", lines[folded_end:]),
    ):
        if any(map(str.strip, part_lines)):
            runs = (TextRun(replace_invisible("\n".join(part_lines).strip("\n"))),)
            yield DiffRow("folded" if kind == "folded" else "same", runs, runs, runs)


MAX_SECTIONS = 30
"""The maximum number of sections on one page."""

MAX_FILES = 100
"""The maximum number of listed files that are not documents."""

_MAX_PAGE_CHARS = 30_000
_MAX_INLINE_CHARS = 120  # a longer value is shown in rows, not in a sentence

_KINDS_WITH_ROWS = frozenset(
    {ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.CHANGED, ChangeKind.TASK_ADDED, ChangeKind.TASK_REMOVED}
)

_CHECKBOXES = {ChangeKind.TASK_COMPLETED: "☑", ChangeKind.TASK_REOPENED: "☐"}


class ChangeView(NamedTuple):
    """One change: a sentence (empty if the rows show the full change), and rows.

    For a task that was completed or reopened, `checkbox` is the character before the sentence.
    """

    kind: ChangeKind
    sentence: tuple[Segment, ...]
    rows: DiffRows
    checkbox: str = ""


class SectionView(NamedTuple):
    """The changes of a section of a document; the address is empty for front matter.

    `id` is the id of its HTML element. `parent_titles` are the titles of the parent sections. `kind_labels`
    are the labels of the kinds of changes. `is_in_new_version` is true if the new version has the section.
    `rendered_versions` is shown in place of the rows; it is None if the page shows the source.
    """

    id: str
    address: str
    heading: str
    parent_titles: tuple[str, ...]
    kind_labels: tuple[str, ...]
    changes: tuple[ChangeView, ...]
    is_in_new_version: bool
    rendered_versions: RenderedVersions | None = None


class DocumentView(NamedTuple):
    """The changes of a document that are on this page. `id` is the id of the document's HTML element."""

    id: str
    kind: str
    path: str
    old_path: str | None
    title: str
    sentence: tuple[Segment, ...]
    sections: tuple[SectionView, ...]


class DiffPage(NamedTuple):
    """A page of changes: it begins after the first `offset` of `total` changed sections.

    A document without changed sections counts as one section. `next_offset` is the offset of the next page;
    None on the last page. `files` lists changed files that are not documents, and `omitted_file_count` is
    the number of further such files. `reason` explains why documents are shown without their sections.
    """

    documents: tuple[DocumentView, ...]
    total: int
    offset: int
    next_offset: int | None
    files: tuple[str, ...]
    omitted_file_count: int
    reason: str | None


def format_element_id(path: str, address: str | None = None) -> str:
    """Return the id of the HTML element with the changes of a document, or of one of its sections."""
    name = path if address is None else f"{path}\n{address}"
    return "change-" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def build_diff(
    changes: CommitChanges,
    *,
    path: str | None = None,
    offset: int = 0,
    max_sections: int = MAX_SECTIONS,
    max_change_chars: int = MAX_CHANGE_CHARS,
    id_prefix: str = "",
    renderer: SectionRenderer | None = None,
) -> DiffPage:
    """Return a page of changes with at most `max_sections` sections: of all documents, or of one path.

    `max_change_chars` limits each change as in `build_rows`. `id_prefix` distinguishes the elements of two
    diffs on one page. With a `renderer`, sections have both rendered versions, if they are within its limits.
    If an author withdrew changes, an address may have an `offset` after the last section: the first page is
    returned.
    """
    documents = [
        (document, _group_by_section(document))
        for document in changes.documents
        if path is None or path in (document.path, document.old_path)
    ]
    if offset >= sum(max(1, len(groups)) for _, groups in documents):
        offset = 0
    files = [file for file in changes.files if path in (None, file)]
    views: list[DocumentView] = []
    section_index = section_count = page_chars = 0
    next_offset: int | None = None
    for document, groups in documents:
        group_count = max(1, len(groups))
        if next_offset is not None or section_index + group_count <= offset:
            section_index += group_count
            continue
        first_group_index = max(0, offset - section_index)
        sections: list[SectionView] = []
        for index, group in enumerate(groups[first_group_index:], section_index + first_group_index):
            if section_count >= max_sections or page_chars >= _MAX_PAGE_CHARS:
                next_offset = index
                break
            versions = renderer.render(document, group) if renderer is not None else None
            view = _build_section_view(document, group, max_change_chars, versions)
            sections.append(view)
            section_count += 1
            page_chars += _count_chars(view) if versions is None else _count_compared_chars(group)
        if sections or not groups:
            section_count += not groups
            views.append(_prefix_ids(id_prefix, _build_document_view(document, tuple(sections))))
        section_index += group_count
        if next_offset is None and section_count >= max_sections:
            next_offset = section_index
    if next_offset is not None and next_offset >= section_index:
        next_offset = None
    file_names = tuple(format_one_line(file, 1000) for file in files[:MAX_FILES])
    omitted_file_count = max(0, len(files) - MAX_FILES)
    return DiffPage(
        tuple(views), section_index, offset, next_offset, file_names, omitted_file_count, changes.reason
    )


def list_other_documents(
    changes: CommitChanges, shown_documents: Sequence[DocumentView], max_documents: int
) -> tuple[DocumentView, ...]:
    """Return the documents that are not shown, without their sections: added ones, removed ones, others.

    A document without sections is described by a sentence, which names the sections of an added one.
    """
    shown_paths = {document.path for document in shown_documents}
    others = [document for document in changes.documents if document.path not in shown_paths]
    others.sort(key=lambda document: not document.is_addition_or_removal)
    return tuple(_build_document_view(document, ()) for document in others[:max_documents])


def count_sections(changes: CommitChanges) -> int:
    """Return the number of changed sections as `build_diff` counts them, and of other files."""
    groups = sum(max(1, len(_group_by_section(document))) for document in changes.documents)
    return groups + len(changes.files)


def _group_by_section(document: DocumentChange) -> list[list[SectionChange]]:
    """Return the changes of a document, grouped by section."""
    groups: dict[str, list[SectionChange]] = {}
    for change in document.section_changes:
        groups.setdefault(change.section_address, []).append(change)
    return list(groups.values())


def _build_document_view(document: DocumentChange, sections: tuple[SectionView, ...]) -> DocumentView:
    return DocumentView(
        format_element_id(document.path),
        document.kind.value,
        document.path,
        document.old_path if document.old_path != document.path else None,
        format_one_line(document.title),
        describe_document(document),
        sections,
    )


def _prefix_ids(prefix: str, document: DocumentView) -> DocumentView:
    sections = tuple(section._replace(id=prefix + section.id) for section in document.sections)
    return document._replace(id=prefix + document.id, sections=sections)


def _build_section_view(
    document: DocumentChange,
    group: Sequence[SectionChange],
    max_change_chars: int,
    rendered_versions: RenderedVersions | None,
) -> SectionView:
    first_change = group[0]
    is_task = first_change.kind.startswith("task_")
    parent_titles = (
        first_change.location.parent_titles[:-1] if is_task else first_change.location.parent_titles
    )
    return SectionView(
        format_element_id(document.path, first_change.section_address),
        first_change.section_address,
        format_one_line(first_change.section_title) if first_change.section_address else "Front matter",
        tuple(format_one_line(title) for title in parent_titles),
        tuple(dict.fromkeys(_format_kind(change.kind) for change in group)),
        tuple(
            _build_change_view(
                change, document.path, max_change_chars, is_rendered=rendered_versions is not None
            )
            for change in group
        ),
        any(change.after is not None and change.after.path == document.path for change in group) or is_task,
        rendered_versions,
    )


def _format_kind(kind: ChangeKind) -> str:
    """Return the label of a change; all changes of tasks have one label."""
    if kind.startswith("task_"):
        return "tasks"
    return "changed" if kind is ChangeKind.METADATA else kind.value


def _build_change_view(
    change: SectionChange, path: str, max_change_chars: int, *, is_rendered: bool
) -> ChangeView:
    """Return a change; without rows if its section is rendered: long texts take long to compare."""
    old_text = change.before.text if change.before else ""
    new_text = change.after.text if change.after else ""
    has_rows = change.kind in _KINDS_WITH_ROWS or (
        change.kind is ChangeKind.TASK_CHANGED and change.field == "text"
    )
    if change.kind is ChangeKind.METADATA:
        has_rows = max(len(old_text), len(new_text)) > _MAX_INLINE_CHARS
    elif change.kind in (ChangeKind.TASK_ADDED, ChangeKind.TASK_REMOVED):
        has_rows = (old_text or new_text).count("\n") > 1
    rows = build_rows(old_text, new_text, max_change_chars) if has_rows and not is_rendered else DiffRows()
    # The rows or the rendered versions show the texts, so the sentence is built without them.
    sentence = describe_change(_remove_texts(change) if has_rows else change, path).sentence
    if change.kind is ChangeKind.CHANGED and change.field != "heading" and (rows.rows or is_rendered):
        sentence = ()
    if change.kind is ChangeKind.METADATA:
        sentence = sentence[1:]  # the heading of the section is "Front matter"
    return ChangeView(change.kind, sentence, rows, _CHECKBOXES.get(change.kind, ""))


def _remove_texts(change: SectionChange) -> SectionChange:
    before, after = (position and position._replace(text="") for position in (change.before, change.after))
    return change._replace(before=before, after=after)


def _count_chars(section: SectionView) -> int:
    return sum(len(text) for text in _iterate_texts(section))


def _count_compared_chars(changes: Sequence[SectionChange]) -> int:
    """Return the number of characters of both versions of changes."""
    versions = (version for change in changes for version in (change.before, change.after))
    return sum(len(version.text) for version in versions if version is not None)


def _iterate_texts(section: SectionView) -> Iterator[str]:
    for change in section.changes:
        for row in change.rows.rows:
            for run in (*row.old, *row.new):
                yield run.text
