"""Dependencies of tasks that a merge broke, in the answer of the tool and in the output of the command."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.cli.main import main
from index.service import SearchIndex
from tests.repositories import Repo, create_repository
from tests.tools.conftest import CallTool, make_client
from tools.dispatcher import ToolDispatcher
from tools.toolsets import TOOLSETS
from workspace.workspace import Workspace

FILES = {
    "plans/p.md": "# P\n\n## Tasks {#tasks}\n\n- [ ] A {#a}\n- [ ] B {#b}\n",
    "q.md": "# Q\n",
    "old.md": "# Old\n\n- [ ] Known\n  - Depends on: lost.md#gone\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", FILES)


@pytest.fixture
def client(repo: Repo) -> CallTool:
    workspace = Workspace.open(repo.path, durable=False)
    return make_client(ToolDispatcher(workspace, SearchIndex(workspace), TOOLSETS, False))


def propose_move(client: CallTool) -> str:
    """Return the id of a proposal that moves the tasks to another document."""
    proposal = str(client("create_proposal", title="Move", description="Tidy.").data["proposal"])
    client("view_document", file="plans/p.md", slug="tasks")
    moved = client("edit_document", file="plans/p.md", slug="tasks", to_file="q.md", proposal=proposal)
    assert not moved.is_error, moved.data
    return proposal


def add_task(repo: Repo, references: str) -> None:
    """Commit a task with dependencies to the target, and change a document that had a wrong one."""
    text = f"# New\n\n- [ ] New\n  - Depends on: {references}\n- [x] Done\n  - Depends on: plans/p.md#a\n"
    repo.commit({"new.md": text, "old.md": FILES["old.md"] + "\nMore.\n"})


def test_merge_names_dependencies_that_it_broke(client: CallTool, repo: Repo) -> None:
    proposal = propose_move(client)
    add_task(repo, "plans/p.md#b, never.md#there")
    data = client("update_proposal", proposal=proposal, action="merge").data
    [hint] = data["hints"]
    assert hint.startswith("tasks depend on 'plans/p.md#b', which the merge moved or removed")
    assert "hints" not in client("update_proposal", proposal=proposal, action="merge").data


def test_merge_without_broken_dependencies_has_no_hint(client: CallTool, repo: Repo) -> None:
    proposal = propose_move(client)
    add_task(repo, "never.md#there")
    assert "hints" not in client("update_proposal", proposal=proposal, action="merge").data


def test_merge_command_prints_broken_dependencies(
    client: CallTool, repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    proposal = propose_move(client)
    add_task(repo, "plans/p.md#b")
    assert main(["proposals", "merge", proposal, "-C", str(repo.path)]) == 0
    assert "note: tasks depend on 'plans/p.md#b'" in capsys.readouterr().err
