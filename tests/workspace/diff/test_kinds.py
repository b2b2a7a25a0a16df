"""Kinds of changes: each operation has the expected kinds, and no difference is unreported."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.workspace.diff.test_cases import summarize_change
from tests.workspace.documents import documents, revise_document
from workspace.diff.changes import ChangeKind
from workspace.diff.documents import compare_documents
from workspace.diff.formats import format_data, format_lines, format_markdown
from workspace.diff.text import decode_trimmed, read_raw_text
from workspace.diff.trees import compare_document
from workspace.document.addresses import format_task_address
from workspace.document.document import Document
from workspace.edits.metadata import SetMetadata
from workspace.edits.operation import DocumentOperation
from workspace.edits.sections import AddSection, RemoveSection, RenameSection
from workspace.edits.tasks import AddTask, CompleteTask, MoveTask, RemoveTask, ReopenTask, UpdateTask
from workspace.edits.text import AppendContent, UpdateContent
from workspace.markdown.lines import BOM

FILE = "doc.md"
TEXT = (
    "---\ntype: document\nowner: ada\n---\n\n# Title\n\nIntroduction.\n\n## One\n\nThe first text.\n\n"
    "### Deep\n\nThe second text.\n\n## Tasks\n\nBefore them.\n\n- [ ] Write it\n  - Criteria: short\n"
    "- [x] Ship it\n- [ ] Party\n\n## Last\n\nThe third text.\n"
)
# The note that counts omitted changes is added to the limit of characters.
MAX_NOTE_LENGTH = 60
TEXT_KINDS = (ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.CHANGED)
DOCUMENT = Document.parse(TEXT.encode(), FILE)
_WORD = re.compile(r"[^ \t\r\n]+")


@loop_over(
    ("operation", "expected"),
    [
        (AddSection(file=FILE, title="Fresh", content="New."), ["added fresh"]),
        (AddSection(file=FILE, title="Fresh", parent_slug="one", content="New."), ["added one/fresh"]),
        (RemoveSection(file=FILE, slug="one"), ["removed one", "removed one/deep"]),
        (RenameSection(file=FILE, slug="one", new_title="Uno"), ["renamed one"]),
        (RenameSection(file=FILE, slug="_preamble", new_title="Name"), ["renamed _preamble"]),
        (UpdateContent(file=FILE, slug="last", content="Wholly other words."), ["changed last"]),
        (AppendContent(file=FILE, slug="one", content="More."), ["changed one"]),
        (AddTask(file=FILE, slug="tasks", title="Rest"), ["task_added tasks[3]"]),
        (RemoveTask(file=FILE, slug="tasks[1]"), ["task_removed tasks[1]"]),
        (CompleteTask(file=FILE, slug="tasks[0]"), ["task_completed tasks[0]"]),
        (
            CompleteTask(file=FILE, slug="tasks[0]", note="Done"),
            ["task_completed tasks[0]", "task_changed tasks[0] (note)"],
        ),
        (ReopenTask(file=FILE, slug="tasks[1]"), ["task_reopened tasks[1]"]),
        (UpdateTask(file=FILE, slug="tasks[2]", title="Sleep"), ["task_changed tasks[2] (title)"]),
        (UpdateTask(file=FILE, slug="tasks[0]", criteria="long"), ["task_changed tasks[0] (criteria)"]),
        (UpdateTask(file=FILE, slug="tasks[0]", assignee="ada"), ["task_changed tasks[0] (assignee)"]),
        (MoveTask(file=FILE, slug="tasks[2]", before="tasks[0]"), ["task_moved tasks[2] -> tasks[0]"]),
        (MoveTask(file=FILE, slug="tasks[2]", to_slug="last"), ["task_moved tasks[2] -> last[0]"]),
        (
            SetMetadata(file=FILE, metadata={"owner": "bob", "state": "new"}),
            ["metadata owner", "metadata state"],
        ),
    ],
    ids=str,
)
def test_operation_has_the_expected_change_kind(operation: DocumentOperation, expected: list[str]) -> None:
    assert [
        summarize_change(change)
        for change in compare_documents(DOCUMENT, revise_document(DOCUMENT, operation))
    ] == expected


@settings(max_examples=scale_examples(50))
@given(documents)
def test_equal_documents_have_no_changes(document: Document) -> None:
    assert compare_documents(document, Document.parse(document.data, FILE)) == ()


@settings(max_examples=scale_examples(50))
@given(documents, documents)
def test_every_difference_is_reported_once_and_shown(old: Document, new: Document) -> None:
    change = compare_document(old, new)
    assert (change is None) == (old.data == new.data)
    if change is None:
        return
    changes = [
        (section_change.kind, section_change.before, section_change.after, section_change.field)
        for section_change in change.section_changes
    ]
    assert len(set(changes)) == len(changes)
    if split_words(old.data.removeprefix(BOM)) != split_words(new.data.removeprefix(BOM)):
        assert changes
    for max_characters in (0, 300, 100_000):
        assert len(format_markdown([change], max_characters)) <= max_characters + MAX_NOTE_LENGTH
        format_lines([change], max_characters)
        documents_data = format_data([change], max_characters)["documents"]
        assert len(str(documents_data)) <= 2 * max_characters + MAX_NOTE_LENGTH


@example(
    Document.parse("\u00a0\n# Errors\n# Errors\n- [ ] Write it".encode(), FILE),
    Document.parse("# Errors\n- [ ] Write it\u00a0\n# Errors\n".encode(), FILE),
)
@settings(max_examples=scale_examples(50))
@given(documents, documents)
def test_unreported_text_is_in_both_versions(old: Document, new: Document) -> None:
    check_unreported_text_is_equal(old, new)


@settings(max_examples=scale_examples(50))
@given(documents, st.data())
def test_reordered_sections_lose_no_text(old: Document, data: st.DataObject) -> None:
    sources = [old.source(section) for section in old.sections]
    check_unreported_text_is_equal(old, Document.parse(b"".join(data.draw(st.permutations(sources))), FILE))


def split_words(data: bytes) -> list[str]:
    """Return the words of a text: everything except spaces, tabs and line ends."""
    return _WORD.findall(decode_trimmed(data))


def check_unreported_text_is_equal(old: Document, new: Document) -> None:
    changes = [change for change in compare_documents(old, new) if change.kind is not ChangeKind.METADATA]
    text_changes = {change for change in changes if change.kind in TEXT_KINDS and change.field is None}
    old_addresses = {change.before.address for change in changes if change.before}
    new_addresses = {change.after.address for change in changes if change.after}
    assert count_unreported_sections(old, old_addresses) == count_unreported_sections(new, new_addresses)
    old_text_sections = {item.before.address for item in text_changes if item.before}
    new_text_sections = {item.after.address for item in text_changes if item.after}
    assert count_unreported_tasks(old, old_addresses, old_text_sections) == count_unreported_tasks(
        new, new_addresses, new_text_sections
    )


def count_unreported_sections(document: Document, reported_addresses: set[str]) -> Counter[tuple[str, ...]]:
    """Count the unreported sections by their title and words, without their tasks."""
    counts: Counter[tuple[str, ...]] = Counter()
    for section in document.sections:
        if section.key not in reported_addresses:
            task_ranges = [(task.start, task.end) for task in document.tasks(section)]
            words = split_words(read_raw_text(document, section, task_ranges))
            counts["" if section.is_preamble else section.title, *words] += 1
    return counts


def count_unreported_tasks(
    document: Document, reported_addresses: set[str], text_sections: set[str]
) -> Counter[tuple[str, bool]]:
    """Count the unreported tasks by their title and state, without those in reported texts."""
    counts: Counter[tuple[str, bool]] = Counter()
    for section in document.sections:
        for task in document.tasks(section):
            if (
                section.key not in text_sections
                and format_task_address(section.key, task) not in reported_addresses
            ):
                counts[task.title, task.is_done] += 1
    return counts
