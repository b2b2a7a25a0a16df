"""Properties of every edit of a task, in any document."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workspace.documents import EDIT_CONTEXT, FILE, documents, revise_document
from workspace.document.addresses import InvalidAddress, format_task_address, resolve_task
from workspace.document.document import Document
from workspace.document.splices import StructureChanged
from workspace.document.tasks import Task
from workspace.edits.tasks import AddTask, MoveTask, RemoveTask, UpdateTask
from workspace.errors import WorkspaceError
from workspace.markdown.lines import BOM

pytestmark = pytest.mark.smoke

_LINE_PREFIX = re.compile(rb"^[ \t]*(?:[-*+]|\d+[.)])?[ \t]*")

TaskContent = tuple[str, bool, tuple[tuple[str, str], ...]]


def list_task_addresses(document: Document) -> list[str]:
    """Return the addresses of all tasks."""
    return [
        format_task_address(section.key, task)
        for section in document.sections
        for task in document.tasks(section)
    ]


def read_task_contents(document: Document, excluded_task: Task | None = None) -> list[TaskContent]:
    """Return the contents of every task, except `excluded_task` and its subtasks."""
    return [
        (task.title, task.is_done, tuple((field.name, field.value) for field in task.fields))
        for task in document.all_tasks
        if excluded_task is None or not excluded_task.start <= task.start < excluded_task.end
    ]


def read_words(data: bytes) -> list[bytes]:
    """Return the words of a text, in order."""
    return data.removeprefix(BOM).split()


def count_lines(data: bytes) -> Counter[bytes]:
    """Count the lines with text, without their indentation and list marks."""
    lines = (_LINE_PREFIX.sub(b"", line) for line in data.removeprefix(BOM).splitlines())
    return Counter(line for line in lines if line)


documents_with_tasks = documents.filter(lambda document: bool(document.all_tasks))


@given(documents_with_tasks, st.data())
def test_removing_a_task_removes_only_its_lines(document: Document, data: st.DataObject) -> None:
    slug = data.draw(st.sampled_from(list_task_addresses(document)))
    _, task = resolve_task(document, slug)
    try:
        new_document = revise_document(document, RemoveTask(file=FILE, slug=slug))
    except WorkspaceError:
        return
    assert read_task_contents(new_document) == read_task_contents(document, task)
    remaining = document.data[: task.start] + document.data[task.end :]
    assert read_words(new_document.data) == read_words(remaining)
    # In a document that mixes line endings, either may remain at the end.
    assert len(new_document.data.replace(b"\r\n", b"\n")) <= len(remaining.replace(b"\r\n", b"\n"))


@given(documents_with_tasks, st.data())
def test_moving_a_task_preserves_every_word(document: Document, data: st.DataObject) -> None:
    slug, other_slug = (data.draw(st.sampled_from(list_task_addresses(document))) for _ in range(2))
    targets = [
        {"before": other_slug},
        {"to_slug": other_slug},
        {"to_slug": resolve_task(document, other_slug)[0].key},
    ]
    try:
        new_document, edit = MoveTask(file=FILE, slug=slug, **data.draw(st.sampled_from(targets))).revise(
            document, EDIT_CONTEXT
        )
    except WorkspaceError:
        return
    assert Counter(read_task_contents(new_document)) == Counter(read_task_contents(document))
    assert count_lines(new_document.data) == count_lines(document.data)
    _, moved_task = resolve_task(new_document, str(edit.result["task"]))
    assert moved_task.title == resolve_task(document, slug)[1].title


@given(documents_with_tasks, st.data())
def test_removing_an_added_task_restores_the_words(document: Document, data: st.DataObject) -> None:
    neighbor = data.draw(st.sampled_from(list_task_addresses(document)))
    section, _ = resolve_task(document, neighbor)
    try:
        add = AddTask(file=FILE, slug=section.key, title="One of its own", criteria="it is removed")
        new_document, edit = add.revise(document, EDIT_CONTEXT)
        restored_document = revise_document(
            new_document, RemoveTask(file=FILE, slug=str(edit.result["task"]))
        )
    except StructureChanged:
        return
    assert read_words(restored_document.data) == read_words(document.data)


titles = st.sampled_from([None, "Another title", "[x] `b` c", "数据"])
values = st.sampled_from([None, "", "One line", "two  words\nover lines", "数据 `a`", "Note: no"])


@given(documents_with_tasks, titles, st.tuples(values, values, values), st.data())
def test_updating_a_task_changes_only_the_given_fields(
    document: Document, title: str | None, texts: tuple[str | None, ...], data: st.DataObject
) -> None:
    slug = data.draw(st.sampled_from(list_task_addresses(document)))
    _, task = resolve_task(document, slug)
    given_texts = dict(zip(("criteria", "note", "assignee"), texts, strict=True))
    update = UpdateTask(file=FILE, slug=slug, title=title, **given_texts)
    try:
        new_document = revise_document(document, update)
    except WorkspaceError:
        return
    _, new_task = resolve_task(new_document, slug)
    for name, text in given_texts.items():
        expected = task.field(name) if text is None else " ".join(text.split())
        assert (new_task.field(name) or "") == (expected or "")
    assert new_task.is_done == task.is_done
    assert title is not None or new_task.title == task.title
    position = document.all_tasks.index(task)
    old_contents, new_contents = read_task_contents(document), read_task_contents(new_document)
    assert (
        old_contents[:position] + old_contents[position + 1 :]
        == new_contents[:position] + new_contents[position + 1 :]
    )
    assert new_document.data.startswith(document.data[: task.start])
    assert new_document.data.endswith(document.data[task.end :])
    assert revise_document(new_document, update).data == new_document.data


regular_tasks: st.SearchStrategy[tuple[list[str], list[Any]]] = st.recursive(
    st.lists(st.sampled_from(["Criteria: it works", "a note"]), max_size=2, unique=True).map(
        lambda fields: (fields, [])
    ),
    lambda tasks: st.tuples(st.just([]), st.lists(tasks, min_size=1, max_size=3)),
    max_leaves=4,
)


def format_task(number: str, task: tuple[list[str], list[Any]], indent: str) -> list[str]:
    """Return the lines of a task, and of its fields or subtasks; the title contains `number`."""
    fields, subtasks = task
    lines = [f"{indent}- [ ] Task {number}", *(f"{indent}  - {field}" for field in fields)]
    for position, item in enumerate(subtasks):
        lines += format_task(f"{number}.{position}", item, indent + "  ")
    return lines


@st.composite
def regular_task_documents(draw: st.DrawFn) -> Document:
    """Draw sections with lists in one style, each of at least two tasks."""
    text = ["# Title", ""]
    for section in range(draw(st.integers(1, 3))):
        text += [f"## Section {section}", ""]
        for task_number, task in enumerate(draw(st.lists(regular_tasks, min_size=2, max_size=3))):
            text += format_task(f"{section}.{task_number}", task, "")
        text += [""]
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    return Document.parse(ending.join(text[: -1 if draw(st.booleans()) else None]).encode(), FILE)


@given(regular_task_documents(), st.data())
def test_moving_a_task_and_back_restores_every_byte(document: Document, data: st.DataObject) -> None:
    slug, other_slug = (data.draw(st.sampled_from(list_task_addresses(document))) for _ in range(2))
    section, task = resolve_task(document, slug)
    targets = [
        {"before": other_slug},
        {"to_slug": other_slug},
        {"to_slug": resolve_task(document, other_slug)[0].key},
    ]
    try:
        move = MoveTask(file=FILE, slug=slug, **data.draw(st.sampled_from(targets)))
        new_document, edit = move.revise(document, EDIT_CONTEXT)
    except InvalidAddress:  # the target is a subtask of the task
        return
    titles = {task.index: task.title for task in document.tasks(section)}
    parent_index, _, position = task.index.rpartition(".")
    next_title = titles.get(f"{parent_index}.{int(position) + 1}" if parent_index else str(int(position) + 1))
    new_addresses = dict(
        zip((item.title for item in new_document.all_tasks), list_task_addresses(new_document), strict=True)
    )
    owner_slug = new_addresses[titles[parent_index]] if parent_index else section.key
    target = {"before": new_addresses[next_title]} if next_title else {"to_slug": owner_slug}
    assert (
        revise_document(new_document, MoveTask(file=FILE, slug=str(edit.result["task"]), **target)).data
        == document.data
    )
