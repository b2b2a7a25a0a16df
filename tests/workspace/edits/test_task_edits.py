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
from workspace.edits import AddTask, MoveTask, RemoveTask, UpdateTask
from workspace.errors import WorkspaceError
from workspace.markdown.lines import BOM

pytestmark = pytest.mark.smoke

_MARK = re.compile(rb"^[ \t]*(?:[-*+]|\d+[.)])?[ \t]*")

Words = tuple[str, bool, tuple[tuple[str, str], ...]]


def list_addresses(document: Document) -> list[str]:
    """Return the addresses of all tasks."""
    return [
        format_task_address(section, task)
        for section in document.sections
        for task in document.tasks(section)
    ]


def words(document: Document, without: Task | None = None) -> list[Words]:
    """Return the contents of every task, except one and its subtasks."""
    return [
        (task.title, task.is_done, tuple((field.name, field.value) for field in task.fields))
        for task in document.all_tasks
        if without is None or not without.start <= task.start < without.end
    ]


def read_words(data: bytes) -> list[bytes]:
    """Return the words of a text, in order."""
    return data.removeprefix(BOM).split()


def lines(data: bytes) -> Counter[bytes]:
    """Count the lines with text, without their indentation and list marks."""
    found = (_MARK.sub(b"", line) for line in data.removeprefix(BOM).splitlines())
    return Counter(line for line in found if line)


task_lists = documents.filter(lambda document: bool(document.all_tasks))


@given(task_lists, st.data())
def test_removing_a_task_removes_only_its_lines(document: Document, data: st.DataObject) -> None:
    slug = data.draw(st.sampled_from(list_addresses(document)))
    _, task = resolve_task(document, slug)
    try:
        new_document = revise_document(document, RemoveTask(file=FILE, slug=slug))
    except WorkspaceError:
        return
    assert words(new_document) == words(document, task)
    left = document.data[: task.start] + document.data[task.end :]
    assert read_words(new_document.data) == read_words(left)
    # Of two kinds of line endings, either may remain at the end.
    assert len(new_document.data.replace(b"\r\n", b"\n")) <= len(left.replace(b"\r\n", b"\n"))


@given(task_lists, st.data())
def test_moving_a_task_preserves_every_word(document: Document, data: st.DataObject) -> None:
    slug, other = (data.draw(st.sampled_from(list_addresses(document))) for _ in range(2))
    places = [{"before": other}, {"to_slug": other}, {"to_slug": resolve_task(document, other)[0].key}]
    try:
        changed, edit = MoveTask(file=FILE, slug=slug, **data.draw(st.sampled_from(places))).revise(
            document, EDIT_CONTEXT
        )
    except WorkspaceError:
        return
    assert Counter(words(changed)) == Counter(words(document))
    assert lines(changed.data) == lines(document.data)
    _, there = resolve_task(changed, str(edit.result["task"]))
    assert there.title == resolve_task(document, slug)[1].title


@given(task_lists, st.data())
def test_removing_an_added_task_restores_the_words(document: Document, data: st.DataObject) -> None:
    neighbor = data.draw(st.sampled_from(list_addresses(document)))
    section, _ = resolve_task(document, neighbor)
    try:
        add = AddTask(file=FILE, slug=section.key, title="One of its own", criteria="it is removed")
        changed, edit = add.revise(document, EDIT_CONTEXT)
        back = revise_document(changed, RemoveTask(file=FILE, slug=str(edit.result["task"])))
    except StructureChanged:
        return
    assert read_words(back.data) == read_words(document.data)


titles = st.sampled_from([None, "Another title", "[x] `b` c", "数据"])
values = st.sampled_from([None, "", "One line", "two  words\nover lines", "数据 `a`", "Note: no"])


@given(task_lists, titles, st.tuples(values, values, values), st.data())
def test_updating_a_task_changes_only_the_given_fields(
    document: Document, title: str | None, texts: tuple[str | None, ...], data: st.DataObject
) -> None:
    slug = data.draw(st.sampled_from(list_addresses(document)))
    _, task = resolve_task(document, slug)
    given_texts = dict(zip(("criteria", "note", "assignee"), texts, strict=True))
    update = UpdateTask(file=FILE, slug=slug, title=title, **given_texts)
    try:
        new_document = revise_document(document, update)
    except WorkspaceError:
        return
    _, there = resolve_task(new_document, slug)
    for name, text in given_texts.items():
        wanted = task.field(name) if text is None else " ".join(text.split())
        assert (there.field(name) or "") == (wanted or "")
    assert there.is_done == task.is_done
    assert title is not None or there.title == task.title
    place = document.all_tasks.index(task)
    before, after = words(document), words(new_document)
    assert before[:place] + before[place + 1 :] == after[:place] + after[place + 1 :]
    assert new_document.data.startswith(document.data[: task.start])
    assert new_document.data.endswith(document.data[task.end :])
    assert revise_document(new_document, update).data == new_document.data


tidy_tasks: st.SearchStrategy[tuple[list[str], list[Any]]] = st.recursive(
    st.lists(st.sampled_from(["Criteria: it works", "a note"]), max_size=2, unique=True).map(
        lambda fields: (fields, [])
    ),
    lambda tasks: st.tuples(st.just([]), st.lists(tasks, min_size=1, max_size=3)),
    max_leaves=4,
)


def format_task(number: str, task: tuple[list[str], list[Any]], indent: str) -> list[str]:
    """Return the lines of a task, and of its fields or subtasks; its title is its number."""
    fields, below = task
    lines = [f"{indent}- [ ] Task {number}", *(f"{indent}  - {field}" for field in fields)]
    for place, item in enumerate(below):
        lines += format_task(f"{number}.{place}", item, indent + "  ")
    return lines


@st.composite
def tidy(draw: st.DrawFn) -> Document:
    """Draw sections with lists in one style, each of at least two tasks."""
    text = ["# Title", ""]
    for section in range(draw(st.integers(1, 3))):
        text += [f"## Section {section}", ""]
        for place, task in enumerate(draw(st.lists(tidy_tasks, min_size=2, max_size=3))):
            text += format_task(f"{section}.{place}", task, "")
        text += [""]
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    return Document.parse(ending.join(text[: -1 if draw(st.booleans()) else None]).encode(), FILE)


@given(tidy(), st.data())
def test_moving_a_task_and_back_restores_every_byte(document: Document, data: st.DataObject) -> None:
    slug, other = (data.draw(st.sampled_from(list_addresses(document))) for _ in range(2))
    section, task = resolve_task(document, slug)
    places = [{"before": other}, {"to_slug": other}, {"to_slug": resolve_task(document, other)[0].key}]
    try:
        move = MoveTask(file=FILE, slug=slug, **data.draw(st.sampled_from(places)))
        moved, edit = move.revise(document, EDIT_CONTEXT)
    except InvalidAddress:  # below itself
        return
    known = {item.index: item.title for item in document.tasks(section)}
    above, _, place = task.index.rpartition(".")
    following = known.get(f"{above}.{int(place) + 1}" if above else str(int(place) + 1))
    now = dict(zip((item.title for item in moved.all_tasks), list_addresses(moved), strict=True))
    owner = now[known[above]] if above else section.key
    back = {"before": now[following]} if following else {"to_slug": owner}
    assert (
        revise_document(moved, MoveTask(file=FILE, slug=str(edit.result["task"]), **back)).data
        == document.data
    )
