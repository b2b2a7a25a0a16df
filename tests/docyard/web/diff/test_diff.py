"""Changes on pages: rows contain both texts, limits are reported, and pages cover all sections."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from docyard.web.diff.diff import (
    MAX_CHANGE_CHARS,
    MAX_FILES,
    MAX_SECTIONS,
    DiffRow,
    build_diff,
    build_rows,
    format_element_id,
)
from tests.example_counts import scale_examples
from tests.loops import loop_over
from workspace.diff.trees import compare_document
from workspace.document.document import Document
from workspace.proposals.review.changes import CommitChanges

UNCHANGED_LINES = "".join(f"Line {number} of the text.\n\n" for number in range(30))
LINE_LISTS = st.lists(
    st.sampled_from(["One two three.", "One two four.", "- item", "| a | b |", "", "x " * 40])
)


def parse_document(text: str, path: str = "a.md") -> Document:
    return Document.parse(text.encode(), path=path)


def build_changes(old: str, new: str, files: tuple[str, ...] = ()) -> CommitChanges:
    change = compare_document(parse_document(old), parse_document(new))
    return CommitChanges("a" * 40, "b" * 40, (change,) if change else (), files)


def join_side(rows: tuple[DiffRow, ...], style: str) -> str:
    """Return the text of one side of the rows: the old side for the style "removed", else the new side."""
    field = "old" if style == "removed" else "new"
    return "\n".join("".join(piece.text for piece in getattr(row, field)) for row in rows)


@loop_over(
    ("before", "after", "kinds"),
    [
        ("", "New.\n", ["lines"]),
        ("Old.\n", "", ["lines"]),
        ("One two three.\n", "One two four.\n", ["words"]),
        ("```\na\n```\n", "```\nb\n```\n", ["same", "lines", "same"]),
        (UNCHANGED_LINES + "End here.\n", UNCHANGED_LINES + "End there.\n", ["folded", "same", "words"]),
        ("Begin.\n\n" + UNCHANGED_LINES, "Began so.\n\n" + UNCHANGED_LINES, ["words", "same", "folded"]),
        ("Same.\n", "Same.\n", ["same"]),
    ],
    ids=["added", "removed", "words", "code", "folded-above", "folded-below", "same"],
)
def test_rows_have_the_expected_kinds(before: str, after: str, kinds: list[str]) -> None:
    assert [row.kind for row in build_rows(before, after).rows] == kinds


@given(LINE_LISTS, LINE_LISTS)
@settings(max_examples=scale_examples(60), deadline=None)
def test_rows_contain_both_texts(old: list[str], new: list[str]) -> None:
    before, after = "\n".join(old), "\n".join(new)
    change = build_rows(before, after)
    assert change.omitted_chars == 0
    assert join_side(change.rows, "removed").split() == before.split()
    assert join_side(change.rows, "added").split() == after.split()


def test_long_change_is_truncated_and_counted() -> None:
    change = build_rows("", "word " * MAX_CHANGE_CHARS)
    assert change.omitted_chars > 0
    assert sum(len(piece.text) for row in change.rows for piece in row.new) <= MAX_CHANGE_CHARS


def test_invisible_characters_are_replaced() -> None:
    [row] = build_rows("", "ab\u202ecd\u200b\n").rows
    assert row.new[0].text == "ab\ufffdcd\ufffd"


def test_pages_cover_every_section_once() -> None:
    old = "# T\n\n" + "".join(f"## S{n}\n\nOld.\n\n" for n in range(MAX_SECTIONS * 2 + 5))
    changes = build_changes(old, old.replace("Old.", "New words."))
    headings, offset, page_count = [], 0, 0
    while True:
        diff = build_diff(changes, offset=offset)
        headings += [section.heading for document in diff.documents for section in document.sections]
        page_count += 1
        if diff.next_offset is None:
            break
        offset = diff.next_offset
    assert headings == [f"S{n}" for n in range(MAX_SECTIONS * 2 + 5)]
    assert (page_count, diff.total) == (3, MAX_SECTIONS * 2 + 5)
    first_page = build_diff(changes)
    assert build_diff(changes, offset=10_000) == build_diff(changes, offset=first_page.total) == first_page
    assert first_page.documents


def test_files_are_counted_and_filtered() -> None:
    files = tuple(f"f{number:04}.png" for number in range(MAX_FILES + 3))
    diff = build_diff(build_changes("a\n", "b\n", files))
    assert (len(diff.files), diff.omitted_file_count) == (MAX_FILES, 3)
    filtered_diff = build_diff(build_changes("a\n", "b\n", files), path="f0001.png")
    assert (filtered_diff.documents, filtered_diff.files) == ((), ("f0001.png",))


def test_task_and_metadata_changes_are_sentences() -> None:
    old = "---\nstatus: draft\n---\n# T\n\n## Do\n\n- [ ] One\n- [x] Two\n"
    new = "---\nstatus: done\n---\n# T\n\n## Do\n\n- [x] One\n- [ ] Two\n"
    [document] = build_diff(build_changes(old, new)).documents
    front_matter, section = document.sections
    assert (front_matter.heading, front_matter.address) == ("Front matter", "")
    assert "".join(part.text for part in front_matter.changes[0].sentence) == "status: draft → done"
    sentences = [
        (change.checkbox, "".join(part.text for part in change.sentence)) for change in section.changes
    ]
    assert sentences == [("☑", "Task completed: One."), ("☐", "Task reopened: Two.")]
    assert section.kind_labels == ("tasks",)


def test_documents_and_sections_have_distinct_ids() -> None:
    element_ids = {
        format_element_id("a.md"),
        format_element_id("a.md", ""),
        format_element_id("a.md", "b"),
        format_element_id("a.md\nb"),
    }
    assert len(element_ids) == 3  # a path has no line ends, so the last two cannot both exist


def test_unchanged_text_is_limited_and_omissions_are_counted() -> None:
    lines = "A line that stays.\n\n" * 500
    change = build_rows(f"{lines}Begin.\n", f"{lines}Began.\n", 1_000)
    unchanged_chars = sum(len(row.new[0].text) for row in change.rows if row.kind in ("same", "folded"))
    assert unchanged_chars <= 1_000
    assert abs(unchanged_chars + change.omitted_chars - len(lines)) < 10  # without blank lines at the ends
    assert change.rows[-1].kind == "words"
    replacement = build_rows("Old.\n", "word " * 1_000, 1_000)
    shown_chars = sum(len(piece.text) for row in replacement.rows for piece in row.old + row.new)
    assert replacement.omitted_chars == len("Old.") + 5_000 - shown_chars


def test_changed_paragraph_that_exceeds_the_limit_is_omitted_after_others() -> None:
    old = "One word.\n\nA long sentence with one more word in it.\n"
    new = old.replace("word", "term")
    change = build_rows(old, new, 40)
    assert [(row.kind, "".join(run.text for run in row.new)) for row in change.rows] == [
        ("words", "One term.")
    ]
    assert change.omitted_chars == 2 * len("A long sentence with one more word in it.\n")
    assert [row.kind for row in build_rows(old, new, 10).rows] == ["lines"]


def test_rows_of_tables_are_distinguished_from_other_text() -> None:
    table = "| a | b |\n|---|---|\n| one | 1 |\n| two | 2 |\n"
    rows = build_rows(f"An old text.\n\n{table}", f"A new text.\n\n{table.replace('2', '3')}").rows
    assert [(row.kind, row.is_table) for row in rows] == [
        ("words", False),
        ("same", True),
        ("words", True),
    ]
