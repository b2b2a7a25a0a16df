"""Dependencies of tasks after their sections or documents were moved or removed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.repositories import Repo, create_repository
from workspace.edits.documents import MoveDocument, RemoveDocument
from workspace.edits.operation import Operation
from workspace.edits.sections import MoveSection, RemoveSection
from workspace.edits.tasks import CompleteTask, RemoveTask
from workspace.edits.text import ReplaceText
from workspace.task_graph import TaskGraphs
from workspace.workspace import Workspace
from workspace.writing.plan import BatchMode, Plan

A = """# A

## One {#one}

- [ ] Parse {#parse}
  - Depends on: b.md#ship, `#test`

## Two {#two}

- [ ] Test {#test}
- [ ] Last
  - Depends on: #parse,
    b.md#ship
"""
B = "# B\n\n## Three {#three}\n\n- [ ] Ship {#ship}\n- [ ] Announce {#announce}\n  - Depends on: a.md#parse\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", {"a.md": A, "b.md": B, "c.md": "# C\n\ndepends on nothing\n"})


def run(repo: Repo, *operations: Operation) -> Plan:
    workspace = Workspace.open(repo.path, durable=False)
    result = workspace.write(
        operations, mode=BatchMode.ALL, tool="test", client="tester", base_commit=workspace.tip()
    )
    for step in result.plan.steps:
        if step.error is not None:
            raise step.error
    return result.plan


def read_dependencies(repo: Repo) -> dict[str, tuple[str, ...]]:
    """Return the dependencies of each task by its title."""
    workspace = Workspace.open(repo.path, durable=False)
    return {task.title: task.dependencies for task in TaskGraphs().get(workspace.snapshot()).tasks}


def test_moved_section_takes_dependencies_along(repo: Repo) -> None:
    [step] = run(repo, MoveSection(file="a.md", slug="one", to_file="b.md")).steps
    assert step.outcome is not None
    assert step.outcome.result["dependencies_rewritten"] == 4
    assert read_dependencies(repo) == {
        "Test": (),
        "Last": ("b.md#parse", "b.md#ship"),
        "Ship": (),
        "Announce": ("b.md#parse",),
        "Parse": ("b.md#ship", "a.md#test"),
    }
    text = (repo.path / "b.md").read_text()
    assert "- Depends on: #ship, `a.md#test`\n" in text
    assert "- Depends on: #parse\n" in text


def test_moved_document_takes_dependencies_along(repo: Repo) -> None:
    run(repo, MoveDocument(file="a.md", new_path="plans/x y.md"))
    assert "Depends on: plans/x y.md#parse" in (repo.path / "b.md").read_text()
    assert (repo.path / "plans/x y.md").read_text() == A


def test_several_moves_of_one_batch(repo: Repo) -> None:
    run(
        repo,
        MoveDocument(file="b.md", new_path="d.md"),
        MoveSection(file="a.md", slug="one", to_file="c.md"),
        MoveDocument(file="c.md", new_path="e.md"),
    )
    dependencies = read_dependencies(repo)
    assert dependencies["Parse"] == ("d.md#ship", "a.md#test")
    assert dependencies["Announce"] == ("e.md#parse",)
    assert dependencies["Last"] == ("e.md#parse", "d.md#ship")


@pytest.mark.parametrize(
    ("operation", "reference"),
    [
        (RemoveTask(file="a.md", slug="parse"), "a.md#parse"),
        (RemoveSection(file="a.md", slug="two"), "a.md#test"),
        (RemoveDocument(path="b.md"), "b.md#ship"),
    ],
)
def test_removal_names_the_tasks_that_others_depend_on(
    repo: Repo, operation: Operation, reference: str
) -> None:
    [step] = run(repo, operation).steps
    assert step.outcome is not None
    [hint] = [hint for hint in step.outcome.hints if "not there any more" in hint]
    assert f" on {reference}" in hint


def test_moved_task_whose_id_is_in_use_gets_another(repo: Repo) -> None:
    repo.commit(
        {"c.md": "# C\n\nSee [B](b.md).\n\n- [x] Other {#parse}\n- [ ] Waiter\n  - Depends on: #parse\n"}
    )
    [step] = run(repo, MoveSection(file="a.md", slug="one", to_file="c.md")).steps
    assert step.outcome is not None
    assert "new ids of moved tasks, because theirs were in use: c.md#parse-1" in step.outcome.hints
    dependencies = read_dependencies(repo)
    assert dependencies["Announce"] == ("c.md#parse-1",)
    assert dependencies["Last"] == ("c.md#parse-1", "b.md#ship")
    assert dependencies["Waiter"] == ("c.md#parse",)


def test_links_before_a_moved_task_do_not_hide_its_dependencies(repo: Repo) -> None:
    repo.commit(
        {"d.md": "# D\n\n## S {#s}\n\n[C](c.md)\n\n- [ ] T\n  - Depends on: #u\n\n## Rest\n\n- [ ] U {#u}\n"}
    )
    repo.commit({"deep/er/x.md": "# X\n"})
    run(repo, MoveSection(file="d.md", slug="s", to_file="deep/er/x.md"))
    assert read_dependencies(repo)["T"] == ("d.md#u",)


def test_path_with_a_comma_is_no_dependency(repo: Repo) -> None:
    before = read_dependencies(repo)
    [step] = run(repo, MoveDocument(file="b.md", new_path="b, c.md")).steps
    assert step.outcome is not None
    assert any("a.md#parse on b.md#ship" in hint for hint in step.outcome.hints)
    assert read_dependencies(repo)["Parse"] == before["Parse"]


def test_changed_id_names_the_tasks_that_depend_on_it(repo: Repo) -> None:
    [step] = run(repo, ReplaceText(file="a.md", old="{#parse}", new="{#parsed}")).steps
    assert step.outcome is not None
    assert any("b.md#announce on a.md#parse" in hint for hint in step.outcome.hints)


def test_completion_and_unrelated_removal_change_no_dependency(repo: Repo) -> None:
    before = read_dependencies(repo)
    complete = CompleteTask(file="a.md", slug="parse")
    steps = run(repo, complete, RemoveTask(file="b.md", slug="announce")).steps
    hints = [hint for step in steps if step.outcome is not None for hint in step.outcome.hints]
    assert hints == ["dependencies are still open: b.md#ship, a.md#test"]
    del before["Announce"]
    assert read_dependencies(repo) == before


IDS = ("t0", "t1", "t2", "t3", "t4", "t5")
PATHS = ("a.md", "b.md", "c.md")


@settings(max_examples=25)
@given(
    st.lists(st.lists(st.sampled_from(IDS), max_size=3), min_size=6, max_size=6),
    st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from(PATHS)), max_size=5),
)
def test_moves_preserve_the_graph(dependencies: list[list[str]], moves: list[tuple[str, str]]) -> None:
    """Six sections with a task each are moved between documents; each task still waits for the same tasks."""
    homes = {id: PATHS[number % 3] for number, id in enumerate(IDS)}

    def write_section(id: str, names: list[str]) -> str:
        entries = ", ".join(
            f"#{name}" if homes[name] == homes[id] else f"{homes[name]}#{name}" for name in names
        )
        field = f"  - Depends on: {entries}\n" if names else ""
        return f"## S {id} {{#s-{id}}}\n\n- [ ] {id} {{#{id}}}\n{field}\n"

    texts = dict.fromkeys(PATHS, "")
    for id, names in zip(IDS, dependencies, strict=True):
        texts[homes[id]] += write_section(id, names)
    expected = {id: set(names) for id, names in zip(IDS, dependencies, strict=True)}
    with tempfile.TemporaryDirectory() as folder:
        repo = create_repository(
            Path(folder) / "docs", {path: f"# {path}\n\nText.\n\n{text}" for path, text in texts.items()}
        )
        for id, path in moves:
            if homes[id] != path:
                run(repo, MoveSection(file=homes[id], slug=f"s-{id}", to_file=path))
                homes[id] = path
        graph = TaskGraphs().get(Workspace.open(repo.path, durable=False).snapshot())
        for task in graph.tasks:
            assert task.path == homes[task.title]
            assert not graph.list_missing_dependencies(task)
            assert {name.rpartition("#")[2] for name in task.dependencies} == expected[task.title]
