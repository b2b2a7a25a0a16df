"""Tasks, drift and traces through a real server: at the tip, at a ref, in a proposal, and after its merge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.server import Server, serve_repository
from tests.repositories import Repo, create_bare_repository, create_repository

pytestmark = pytest.mark.process

PLAN = """# Plan

## Login {#login}

- Covers: `src/login.py`

For REQ-1.

- [ ] Form (REQ-1) {#form}
- [ ] Test of REQ-1 {#test}
  - Depends on: #form

## Later {#later}

- [ ] Announce {#announce}
  - Depends on: #test
"""
FILES = {
    "plan.md": PLAN,
    "requirements.md": "# Requirements\n\n- REQ-1 A user signs in\n- REQ-2 A user signs out\n",
    "other.md": "# Other\n\nText.\n",
    "src/login.py": "1\n",
}


@pytest.fixture(params=[create_repository, create_bare_repository], ids=["checked-out", "bare"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    create: Callable[..., Repo] = request.param
    return create(tmp_path / "repo", FILES)


@pytest.fixture
def server(repo: Repo, home: Path) -> Iterator[Server]:
    toolsets = ("--toolsets", "documents,tasks,planning,proposals")
    with serve_repository(repo.path, home, *toolsets) as server:
        yield server


def call(server: Server, tool: str, **arguments: Any) -> dict[str, Any]:
    response = server.call(tool, **arguments)
    assert not response.is_error, response.data
    return response.data


def list_states(server: Server, ref: str | None = None) -> dict[str, tuple[str, list[str]]]:
    """Return the state of each open task by its id, and the addresses for which it waits."""
    tasks = call(server, "list_tasks", **({"ref": ref} if ref else {}))["tasks"]
    return {task["id"]: (task["state"], task.get("waits_for", [])) for task in tasks}


def list_places(server: Server, ref: str | None = None) -> dict[str, list[str]]:
    """Return the files of each stage of REQ-1."""
    data = call(server, "view_trace", id="REQ-1", **({"ref": ref} if ref else {}))
    stages = ("required", "designed", "tasked", "done", "tested")
    return {stage: [place["file"] for place in data[stage]] for stage in stages}


def test_both_sides_of_a_structural_merge_keep_tasks_and_traces(server: Server, repo: Repo) -> None:
    start = call(server, "list_tasks")["commit"]
    id = call(server, "create_proposal", title="Move the plan", description="Closer.")["proposal"]
    call(
        server, "edit_document", proposal=id, operation="move_document", file="plan.md", new_path="plans/a.md"
    )
    moved = {"proposal": id, "file": "plans/a.md"}
    call(server, "edit_document", **moved, operation="rename_section", slug="later", new_title="Afterwards")
    call(server, "plan_task", **moved, slug="announce", blocked="no press yet")
    # The other side: a task is done, and another is added with a dependency.
    target = {"file": "plan.md"}
    call(server, "complete_task", **target, slug="form")
    call(server, "edit_document", **target, operation="add_task", slug="later", title="Celebrate REQ-2")
    call(server, "plan_task", **target, slug="later[1]", depends_on=["#announce"])

    assert list_states(server, start) == {
        "form": ("ready", []),
        "test": ("waiting", ["plan.md#login[0]"]),
        "announce": ("waiting", ["plan.md#login[1]"]),
    }
    assert list_states(server, id) == {
        "form": ("ready", []),
        "test": ("waiting", ["plans/a.md#login[0]"]),
        "announce": ("blocked", ["plans/a.md#login[1]"]),
    }
    assert list_places(server, id) == {
        "required": ["requirements.md"],
        "designed": ["plans/a.md"],
        "tasked": ["plans/a.md", "plans/a.md"],
        "done": [],
        "tested": [],
    }
    call(server, "update_proposal", proposal=id, action="merge")
    tasks = {task["title"]: task for task in call(server, "list_tasks")["tasks"]}
    assert {title: task["state"] for title, task in tasks.items()} == {
        "Test of REQ-1": "ready",
        "Announce": "blocked",
        "Celebrate REQ-2": "waiting",
    }
    assert tasks["Celebrate REQ-2"]["waits_for"] == ["plans/a.md#later[0]"]
    assert "unknown_dependencies" not in str(tasks)
    assert list_places(server)["done"] == ["plans/a.md"]
    assert repo.fsck() == ""


def test_drift_of_a_proposal_and_after_its_merge(server: Server, repo: Repo) -> None:
    assert call(server, "view_drift")["drift"] == []
    id = call(server, "create_proposal", title="Move the login", description="Closer.")["proposal"]
    call(server, "view_document", file="plan.md", ref=id)
    call(
        server,
        "edit_document",
        proposal=id,
        operation="move_section",
        file="plan.md",
        slug="login",
        to_file="other.md",
    )
    change = commit_code(repo, "2\n")
    [entry] = call(server, "view_drift")["drift"]
    assert (entry["file"], [item["commit"] for item in entry["changes"]]) == ("plan.md", [change])
    assert call(server, "view_drift", ref=id)["drift"] == []
    call(server, "update_proposal", proposal=id, action="merge")
    [entry] = call(server, "view_drift")["drift"]
    assert (entry["file"], entry["slug"], entry["changes_total"]) == ("other.md", "login", 1)
    call(server, "view_document", file="other.md", slug="login")
    call(
        server,
        "edit_document",
        operation="append_content",
        file="other.md",
        slug="login",
        content="- Checked: today",
    )
    assert call(server, "view_drift")["drift"] == []


def commit_code(repo: Repo, text: str) -> str:
    """Commit a file of code as another clone does, and return the commit's id."""
    is_bare = repo.git("rev-parse", "--is-bare-repository").strip() == "true"
    if not is_bare:
        return repo.commit({"src/login.py": text})
    clone = Repo(repo.path.with_name("clone"))
    repo.git("clone", "-q", str(repo.path), str(clone.path))
    clone.git("config", "user.name", "Ada")
    clone.git("config", "user.email", "ada@example.org")
    commit = clone.commit({"src/login.py": text})
    clone.git("push", "-q", "origin", "main")
    return commit


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        (
            "plan_task",
            {"file": "plan.md", "slug": "form", "depends_on": ["#announce"]},
            "CIRCULAR_DEPENDENCY",
        ),
        ("plan_task", {"file": "plan.md", "slug": "form", "depends_on": ["#form"]}, "CIRCULAR_DEPENDENCY"),
        ("plan_task", {"file": "plan.md", "slug": "form", "depends_on": ["lost.md#x"]}, "DOCUMENT_NOT_FOUND"),
        ("claim_task", {"file": "plan.md", "slug": "test"}, "TASK_NOT_READY"),
        ("claim_task", {"file": "plan.md", "slug": "form", "action": "renew", "secret": "x"}, "TASK_CLAIMED"),
        ("claim_task", {"file": "plan.md", "slug": "form", "hours": 10_000}, "INVALID_ARGUMENTS"),
        ("view_trace", {"id": "REQ-9"}, "IDENTIFIER_NOT_FOUND"),
        ("view_trace", {"missing": "everything"}, "INVALID_ARGUMENTS"),
        ("view_drift", {"path": "../x"}, "INVALID_PATH"),
        ("view_drift", {"ref": "lost"}, "REF_NOT_FOUND"),
        ("list_tasks", {"cursor": "x"}, "INVALID_CURSOR"),
    ],
)
def test_bad_input_is_refused_with_a_fix(
    server: Server, repo: Repo, tool: str, arguments: dict[str, Any], code: str
) -> None:
    head = repo.git("rev-parse", "main")
    response = server.call(tool, **arguments)
    assert response.is_error
    assert (response.data["code"], bool(response.data["fix"])) == (code, True)
    assert repo.git("rev-parse", "main") == head
