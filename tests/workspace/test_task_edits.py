"""What holds for every edit of a task, whatever document it stands in."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workspace.documents import FILE, STYLE, documents, revised
from workspace.addresses import resolve_task, task_address
from workspace.document import Document, Task
from workspace.edits import AddTask, MoveTask, RemoveTask
from workspace.edits.edit import StructureChanged
from workspace.errors import WorkspaceError
from workspace.lines import BOM

pytestmark = pytest.mark.smoke

_MARK = re.compile(rb"^[ \t]*(?:[-*+]|\d+[.)])?[ \t]*")

Words = tuple[str, bool, tuple[tuple[str, str], ...]]


def tasks_of(document: Document) -> list[str]:
    """The addresses of all tasks."""
    return [task_address(section, task) for section in document.sections for task in document.tasks(section)]


def words(document: Document, without: Task | None = None) -> list[Words]:
    """What every task says, but one and those below it."""
    return [
        (task.title, task.is_done, tuple((field.name, field.value) for field in task.fields))
        for task in document.all_tasks
        if without is None or not without.start <= task.start < without.end
    ]


def spoken(data: bytes) -> list[bytes]:
    """All that is not white space, in order."""
    return data.removeprefix(BOM).split()


def lines(data: bytes) -> Counter[bytes]:
    """The lines that say something, in any order, without their indentation and list marks."""
    found = (_MARK.sub(b"", line) for line in data.removeprefix(BOM).splitlines())
    return Counter(line for line in found if line)


task_lists = documents.filter(lambda document: bool(document.all_tasks))


@given(task_lists, st.data())
def test_removing_a_task_takes_its_lines_and_no_others(document: Document, data: st.DataObject) -> None:
    slug = data.draw(st.sampled_from(tasks_of(document)))
    _, task = resolve_task(document, slug)
    try:
        changed = revised(document, RemoveTask(file=FILE, slug=slug))
    except WorkspaceError:
        return
    assert words(changed) == words(document, task)
    left = document.data[: task.start] + document.data[task.end :]
    assert spoken(changed.data) == spoken(left)
    assert len(changed.data) <= len(left)


@given(task_lists, st.data())
def test_moving_a_task_keeps_every_word(document: Document, data: st.DataObject) -> None:
    slug, other = (data.draw(st.sampled_from(tasks_of(document))) for _ in range(2))
    places = [{"before": other}, {"to_slug": other}, {"to_slug": resolve_task(document, other)[0].key}]
    try:
        changed, edit = MoveTask(file=FILE, slug=slug, **data.draw(st.sampled_from(places))).revise(
            document, STYLE
        )
    except WorkspaceError:
        return
    assert Counter(words(changed)) == Counter(words(document))
    assert lines(changed.data) == lines(document.data)
    _, there = resolve_task(changed, str(edit.answer["task"]))
    assert there.title == resolve_task(document, slug)[1].title


@given(task_lists, st.data())
def test_adding_a_task_and_removing_it_gives_back_the_words(document: Document, data: st.DataObject) -> None:
    beside = data.draw(st.sampled_from(tasks_of(document)))
    section, _ = resolve_task(document, beside)
    try:
        add = AddTask(file=FILE, slug=section.key, title="One of its own", criteria="that it is gone")
        changed, edit = add.revise(document, STYLE)
        back = revised(changed, RemoveTask(file=FILE, slug=str(edit.answer["task"])))
    except StructureChanged:
        return
    assert spoken(back.data) == spoken(document.data)
