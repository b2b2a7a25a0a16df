"""Change kinds: each operation is reported as its own kind of change, and as no other."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.example_counts import scale_examples
from tests.loops import loop_over
from tests.workspace.diff.test_cases import in_brief
from tests.workspace.documents import documents, revise_document
from workspace.diff.changes import ChangeKind
from workspace.diff.documents import compare_documents
from workspace.diff.formats import format_data, format_lines, format_markdown
from workspace.diff.text import decode_trimmed, read_raw_text
from workspace.diff.trees import compare_document
from workspace.document.addresses import format_task_address
from workspace.document.document import Document
from workspace.edits import (
    AddSection,
    AddTask,
    AppendContent,
    CompleteTask,
    MoveTask,
    RemoveSection,
    RemoveTask,
    RenameSection,
    ReopenTask,
    SetMetadata,
    UpdateContent,
    UpdateTask,
)
from workspace.edits.operation import DocumentOperation
from workspace.markdown.lines import BOM

FILE = "doc.md"
TEXT = (
    "---\ntype: document\nowner: ada\n---\n\n# Title\n\nIntroduction.\n\n## One\n\nThe first text.\n\n"
    "### Deep\n\nThe second text.\n\n## Tasks\n\nBefore them.\n\n- [ ] Write it\n  - Criteria: short\n"
    "- [x] Ship it\n- [ ] Party\n\n## Last\n\nThe third text.\n"
)
WHOLE = (ChangeKind.ADDED, ChangeKind.REMOVED, ChangeKind.CHANGED)
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
        in_brief(item) for item in compare_documents(DOCUMENT, revise_document(DOCUMENT, operation))
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
    reported = [(item.kind, item.before, item.after, item.field) for item in change.sections]
    assert len(set(reported)) == len(reported)
    if words_of(old.data.removeprefix(BOM)) != words_of(new.data.removeprefix(BOM)):
        assert reported
    for most in (0, 300, 100_000):
        assert len(format_markdown([change], most)) <= most + 60
        format_lines([change], most)
        assert len(str(format_data([change], most)["documents"])) <= 2 * most + 60


@example(
    Document.parse("\u00a0\n# Errors\n# Errors\n- [ ] Write it".encode(), FILE),
    Document.parse("# Errors\n- [ ] Write it\u00a0\n# Errors\n".encode(), FILE),
)
@settings(max_examples=scale_examples(50))
@given(documents, documents)
def test_unreported_text_is_in_both_versions(old: Document, new: Document) -> None:
    check_nothing_lost(old, new)


@settings(max_examples=scale_examples(50))
@given(documents, st.data())
def test_reordered_sections_lose_no_text(old: Document, data: st.DataObject) -> None:
    sources = [old.source(item) for item in old.sections]
    check_nothing_lost(old, Document.parse(b"".join(data.draw(st.permutations(sources))), FILE))


def words_of(data: bytes) -> list[str]:
    """Count the words of a text: everything but spaces, tabs and line ends."""
    return _WORD.findall(decode_trimmed(data))


def check_nothing_lost(old: Document, new: Document) -> None:
    reported = [item for item in compare_documents(old, new) if item.kind is not ChangeKind.METADATA]
    texts = {item for item in reported if item.kind in WHOLE and item.field is None}
    before = {item.before.address for item in reported if item.before}
    after = {item.after.address for item in reported if item.after}
    assert sections_but(old, before) == sections_but(new, after)
    whole = {item.before.address for item in texts if item.before}
    whole_now = {item.after.address for item in texts if item.after}
    assert tasks_but(old, before, whole) == tasks_but(new, after, whole_now)


def sections_but(document: Document, reported: set[str]) -> Counter[tuple[str, ...]]:
    """Count titles and words of the unreported sections, without their tasks."""
    found: Counter[tuple[str, ...]] = Counter()
    for item in document.sections:
        if item.key not in reported:
            holes = [(task.start, task.end) for task in document.tasks(item)]
            words = words_of(read_raw_text(document, item, holes))
            found["" if item.is_preamble else item.title, *words] += 1
    return found


def tasks_but(document: Document, reported: set[str], whole: set[str]) -> Counter[tuple[str, bool]]:
    """Count titles and boxes of unreported tasks, without those in reported texts."""
    found: Counter[tuple[str, bool]] = Counter()
    for item in document.sections:
        for task in document.tasks(item):
            if item.key not in whole and format_task_address(item, task) not in reported:
                found[task.title, task.is_done] += 1
    return found
