"""The graph of tasks: states, order, circles, and what is read again after a commit."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repositories import create_repository
from workspace.document.document import Document
from workspace.snapshot.snapshot import Snapshot
from workspace.task_graph import (
    TaskEntry,
    TaskGraph,
    TaskGraphs,
    TaskLocation,
    TaskState,
    find_circle,
    select_tasks,
)
from workspace.workspace import Workspace

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
PLAN = """---
type: plan
---
# Plan

## Tasks

- [x] Choose a name {#name}
- [ ] Build the parser {#parser}
  - Assignee: Ana
  - Depends on: #name
- [ ] Release {#release}
  - Depends on: #parser, docs/guide.md#guide, lost.md#gone
- [ ] Announce
  - Blocked: waiting for the press
  - Depends on: `#release`
"""
GUIDE = "# Guide\n\n- [ ] Write the guide {#guide}\n  - [ ] First part\n  - [x] Second part\n"


def make_task(number: int, requirements: list[int], *, is_done: bool = False) -> TaskEntry:
    return TaskEntry(
        path="a.md",
        address=f"a.md#tasks[{number}]",
        id=str(number),
        parent=None,
        title=f"Task {number}",
        line=number + 1,
        is_done=is_done,
        owner=None,
        blocked=None,
        claim=None,
        dependencies=tuple(f"a.md#{requirement}" for requirement in requirements),
        document_type=None,
    )


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    repo = create_repository(
        tmp_path / "docs", {"plan.md": PLAN, "docs/guide.md": GUIDE, "other.md": "# O\n"}
    )
    return Workspace.open(repo.path).snapshot()


def test_states_and_reasons(snapshot: Snapshot) -> None:
    graph = TaskGraphs().get(snapshot)
    states = {task.title: graph.get_state(task, NOW) for task in graph.tasks}
    assert states == {
        "Write the guide": TaskState.WAITING,
        "First part": TaskState.READY,
        "Second part": TaskState.DONE,
        "Choose a name": TaskState.DONE,
        "Build the parser": TaskState.READY,
        "Release": TaskState.WAITING,
        "Announce": TaskState.BLOCKED,
    }
    release = graph.find("plan.md#release")
    assert release is not None
    assert [task.title for task in graph.list_open_requirements(release)] == [
        "Build the parser",
        "Write the guide",
    ]
    assert graph.list_missing_dependencies(release) == ("lost.md#gone",)


def test_tasks_for_which_most_tasks_wait_come_first(snapshot: Snapshot) -> None:
    graph = TaskGraphs().get(snapshot)
    assert [(task.title, graph.count_waiting(task)) for task in select_tasks(graph, NOW)] == [
        ("First part", 3),
        ("Write the guide", 2),
        ("Build the parser", 2),
        ("Release", 1),
        ("Announce", 0),
    ]


@pytest.mark.parametrize(
    ("filters", "titles"),
    [
        ({"ready": True}, ["First part", "Build the parser"]),
        ({"blocked": True}, ["Write the guide", "Release", "Announce"]),
        ({"blocked": False}, ["First part", "Build the parser"]),
        ({"owner": "ana"}, ["Build the parser"]),
        ({"document_type": "plan", "ready": True}, ["Build the parser"]),
        ({"paths": {"docs/guide.md"}}, ["First part", "Write the guide"]),
        ({"owner": "ana", "blocked": True}, []),
    ],
)
def test_filters(snapshot: Snapshot, filters: dict[str, object], titles: list[str]) -> None:
    graph = TaskGraphs().get(snapshot)
    assert [task.title for task in select_tasks(graph, NOW, **filters)] == titles  # type: ignore[arg-type]


def test_only_changed_documents_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = create_repository(tmp_path / "docs", {"plan.md": PLAN, "docs/guide.md": GUIDE})
    workspace, graphs = Workspace.open(repo.path), TaskGraphs()
    first = graphs.get(workspace.snapshot())
    assert graphs.get(workspace.snapshot()) is first
    repo.commit({"docs/guide.md": GUIDE.replace("[ ] First", "[x] First")})
    read_paths: list[str] = []
    read_document = Snapshot.document

    def record(self: Snapshot, path: str) -> Document:
        read_paths.append(path)
        return read_document(self, path)

    monkeypatch.setattr(Snapshot, "document", record)
    second = graphs.get(workspace.snapshot())
    assert read_paths == ["docs/guide.md"]
    assert [task.title for task in select_tasks(second, NOW, ready=True)] == [
        "Write the guide",
        "Build the parser",
    ]


def test_unreadable_document_is_named(tmp_path: Path) -> None:
    files = {
        "docyard.toml": "[limits]\ndocument_bytes = 1000\n",
        "long.md": "- [ ] a task\n" * 200,
        "a.md": GUIDE,
    }
    graph = TaskGraphs().get(Workspace.open(create_repository(tmp_path / "docs", files).path).snapshot())
    assert graph.unreadable_paths == ("long.md",)
    assert len(graph.tasks) == 3


def test_empty_workspace_has_no_tasks(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "docs", {})
    assert TaskGraphs().get(Workspace.open(repo.path).snapshot()).tasks == []


@st.composite
def graphs(draw: st.DrawFn) -> TaskGraph:
    count = draw(st.integers(1, 8))
    numbers = st.lists(st.integers(0, count - 1), max_size=3)
    return TaskGraph(
        [make_task(number, draw(numbers), is_done=draw(st.booleans())) for number in range(count)]
    )


def reach(graph: TaskGraph, position: int) -> set[int]:
    """Return the positions of all tasks that a task requires, directly or not."""
    reached: set[int] = set()
    remaining = [*graph.requirements[position]]
    while remaining:
        requirement = remaining.pop()
        if requirement not in reached:
            reached.add(requirement)
            remaining += graph.requirements[requirement]
    return reached


@given(graphs())
def test_waiting_tasks_and_circles_equal_those_of_a_search(graph: TaskGraph) -> None:
    reached = [reach(graph, position) for position in range(len(graph.tasks))]
    for position, task in enumerate(graph.tasks):
        waiting = [
            other
            for other, item in enumerate(graph.tasks)
            if position in reached[other] and not item.is_done and other != position
        ]
        assert graph.count_waiting(task) == len(waiting)
    in_circles = {position for position in range(len(graph.tasks)) if position in reached[position]}
    assert {
        position
        for circle in graph.circles
        for position in range(len(graph.tasks))
        if graph.tasks[position] in circle
    } <= in_circles
    assert bool(graph.circles) == bool(in_circles)
    for circle in graph.circles:
        positions = [int(task.id or "") for task in circle]
        for first, second in zip(positions, [*positions[1:], positions[0]], strict=True):
            assert second in graph.requirements[first]


def test_long_chain_of_tasks(tmp_path: Path) -> None:
    count = 20_000
    graph = TaskGraph([make_task(number, [number + 1]) for number in range(count)])
    assert graph.count_waiting(graph.tasks[-1]) == count - 1
    assert graph.circles == []
    closed = TaskGraph([make_task(number, [(number + 1) % count]) for number in range(count)])
    assert [len(circle) for circle in closed.circles] == [count]


def test_first_task_with_an_id_counts() -> None:
    graph = TaskGraph([make_task(0, []), make_task(0, [])._replace(address="a.md#tasks[1]", title="Second")])
    found = graph.find("a.md#0")
    assert found is not None
    assert found.title == "Task 0"


def test_circle_is_found_through_documents_and_sub_tasks() -> None:
    documents = {
        "a.md": Document.parse(
            b"- [ ] Top {#top}\n  - [ ] Below {#below}\n    - Depends on: b.md#b\n", "a.md"
        ),
        "b.md": Document.parse(b"- [ ] B {#b}\n", "b.md"),
    }
    found = documents["b.md"].find_task("b")
    assert found is not None
    start = TaskLocation("b.md", *found)
    circle = find_circle(documents.get, start, ["a.md#top"])
    assert circle is not None
    assert [location.reference for location in circle] == ["b.md#b", "a.md#top", "a.md#below", "b.md#b"]
    assert find_circle(documents.get, start, ["a.md#missing", "c.md#x", "nonsense"]) is None
