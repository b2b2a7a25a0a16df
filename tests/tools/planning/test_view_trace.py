"""view_trace: the matrix, one identifier, pages, refs and what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.cli.main import main
from index.artifacts.artifact import open_artifact
from index.artifacts.search_index import ArtifactSearchIndex
from index.service import SearchIndex
from tests.repositories import Repo, create_repository
from tests.tools.conftest import CallTool, make_client, parse_next_call
from tests.tools.planning.conftest import read_pages
from tests.workspace.test_trace import FILES
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "docs", FILES)


@pytest.fixture
def dispatcher(repo: Repo) -> ToolDispatcher:
    workspace = Workspace.open(repo.path, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), ("planning", "documents"), False)


def test_matrix_counts_places_and_names_missing_stages(call_tool: CallTool) -> None:
    answer = call_tool("view_trace")
    assert answer.data["total"] == 3
    assert answer.data["traces"][1] == {
        "id": "REQ-2",
        "title": "Logout",
        "required_at": "requirements/auth.md#req-1",
        "required": 1,
        "designed": 1,
        "tasked": 2,
        "done": 1,
        "tested": 1,
        "missing": ["done"],
    }
    assert parse_next_call(answer) == ("view_trace", {"id": "REQ-1"})


def test_one_identifier_has_its_places(call_tool: CallTool) -> None:
    data = call_tool("view_trace", id=" req-1 ").data
    assert data["required"] == [
        {"file": "requirements/auth.md", "line": 3, "slug": "req-1", "title": "Sessions end"}
    ]
    assert data["tested"] == [{"file": "tests/test_auth.py", "line": 1}]
    assert data["missing"] == []


def test_identifier_without_task_suggests_one_that_is_then_found(call_tool: CallTool) -> None:
    answer = call_tool("view_trace", id="REQ-3")
    assert answer.data["missing"] == ["designed", "tasked", "done", "tested"]
    tool, arguments = parse_next_call(answer)
    assert not call_tool(tool, **arguments).is_error
    answer = call_tool("view_trace", id="REQ-3")
    assert answer.data["missing"] == ["designed", "done", "tested"]


def test_missing_stage_and_pages_select_identifiers(call_tool: CallTool, repo: Repo) -> None:
    def list_ids(**arguments: object) -> list[str]:
        return [entry["id"] for entry in call_tool("view_trace", **arguments).data["traces"]]

    assert list_ids(missing="tested") == ["REQ-3"]
    assert list_ids(missing="done") == ["REQ-2", "REQ-3"]
    page = call_tool("view_trace", limit=2).data
    assert list_ids(limit=2, cursor=page["next_cursor"]) == ["REQ-3"]
    before = repo.head()
    repo.commit({"requirements/auth.md": "# None\n"})
    assert list_ids() == []
    assert list_ids(ref=before) == ["REQ-1", "REQ-2", "REQ-3"]


def test_tests_are_unknown_in_an_artifact(repo: Repo, tmp_path: Path) -> None:
    assert main(["build", str(repo.path), "--out", str(tmp_path / "site")]) == 0
    index = ArtifactSearchIndex(open_artifact(tmp_path / "site"))
    call_tool = make_client(ToolDispatcher(index.workspace, index, ("planning",), False))
    traces = call_tool("view_trace").data["traces"]
    assert [(trace["missing"], trace["unknown"]) for trace in traces] == [
        ([], ["tested"]),
        (["done"], ["tested"]),
        (["designed", "tasked", "done"], ["tested"]),
    ]
    assert call_tool("view_trace", id="REQ-1").data["unknown"] == ["tested"]
    answer = call_tool("view_trace", missing="tested").data
    assert answer["traces"] == []
    assert "contains no test files" in answer["next_step"]


@pytest.mark.parametrize(
    ("name", "fix"), [("REQ-33", "REQ-3"), ("XYZ-1", "REQ"), ("", "REQ"), ("\u202e\x00" * 500, "REQ")]
)
def test_unknown_identifier_names_the_nearest_or_the_prefixes(
    call_tool: CallTool, name: str, fix: str
) -> None:
    answer = call_tool("view_trace", id=name)
    assert answer.data["code"] == "IDENTIFIER_NOT_FOUND"
    assert fix in answer.data["fix"]
    assert "\u202e" not in str(answer.data)


def test_ten_thousand_identifiers_are_returned_in_pages(call_tool: CallTool, repo: Repo) -> None:
    items = "".join(f"- REQ-{number} Requirement {number}\n" for number in range(10_000))
    repo.commit({"requirements/auth.md": f"# All\n\n{items}"})
    entries = read_pages(call_tool, "view_trace", "traces", limit=500)
    assert [entry["id"] for entry in entries] == [f"REQ-{number}" for number in range(10_000)]


def test_pages_within_few_tokens_contain_each_identifier(call_tool: CallTool, repo: Repo) -> None:
    items = "".join(f"- REQ-{number} {'words ' * number}\n" for number in range(40))
    repo.commit({"requirements/auth.md": f"# All\n\n{items}"})
    entries = read_pages(call_tool, "view_trace", "traces", max_tokens=300)
    assert [entry["id"] for entry in entries] == [f"REQ-{number}" for number in range(40)]
