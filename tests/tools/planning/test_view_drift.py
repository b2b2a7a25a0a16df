"""view_drift: sections with later commits of their code, pages and refs."""

from __future__ import annotations

from pathlib import Path

import pytest

from index.service import SearchIndex
from tests.repositories import Repo, create_repository
from tests.tools.conftest import CallTool, parse_next_call
from tests.tools.planning.conftest import read_pages
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace


def build_guide(name: str) -> str:
    return f"# {name}\n\n## Use {{#use}}\n\n- Covers: `src/{name}/**`\n\nText.\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    files = {"docs/a.md": build_guide("a"), "docs/b.md": build_guide("b"), "plain.md": "# Plain\n"}
    return create_repository(tmp_path / "docs", {**files, "src/a/x.py": "1\n", "src/b/x.py": "1\n"})


@pytest.fixture
def dispatcher(repo: Repo) -> ToolDispatcher:
    workspace = Workspace.open(repo.path, durable=False)
    return ToolDispatcher(workspace, SearchIndex(workspace), ("planning", "documents", "tasks"), False)


def test_section_is_listed_with_the_later_commits(call_tool: CallTool, repo: Repo) -> None:
    text_commit = repo.head()
    repo.commit({f"src/a/{number}.py": "1\n" for number in range(7)}, "Add seven files")
    commit = repo.commit({"src/a/x.py": "2\n"}, "Change x")
    answer = call_tool("view_drift")
    [entry] = answer.data["drift"]
    assert {name: entry[name] for name in ("file", "slug", "title", "covers", "text_commit")} == {
        "file": "docs/a.md",
        "slug": "use",
        "title": "Use",
        "covers": ["src/a/**"],
        "text_commit": text_commit,
    }
    newest, oldest = entry["changes"]
    assert (newest["commit"], newest["by"], newest["subject"]) == (commit, "Ada", "Change x")
    assert newest["files"] == ["src/a/x.py"]
    assert (len(oldest["files"]), oldest["files_total"]) == (5, 7)
    assert (answer.data["total"], answer.data["covered"]) == (1, 2)
    tool, arguments = parse_next_call(answer)
    assert (tool, arguments) == ("view_document", {"file": "docs/a.md", "slug": "use"})


def test_edit_of_the_section_ends_its_drift(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"src/a/x.py": "2\n"})
    call_tool("view_document", file="docs/a.md", slug="use")
    call_tool(
        "edit_document",
        operation="update_content",
        file="docs/a.md",
        slug="use",
        content="- Covers: `src/a/**`",
    )
    answer = call_tool("view_drift")
    assert answer.data["drift"] == []
    assert "No covered code has changed" in str(answer.data["next_step"])


def test_moves_and_tools_for_tasks_do_not_end_the_drift(call_tool: CallTool, repo: Repo) -> None:
    tasks = "- [ ] Write {#write}\n- [ ] Read [b](b.md) {#read}\n  - Depends on: docs/b.md#check\n"
    guide = "# B\n\n## Parent {#parent}\n\nText.\n\n- [x] Check {#check}\n"
    (repo.path / "crlf.md").write_bytes(b"# C\r\n\r\n## Parent {#c}\r\n\r\nText.\r\n")
    repo.commit({"docs/a.md": f"{build_guide('a')}\n{tasks}", "docs/b.md": guide})
    repo.commit({"src/a/x.py": "2\n"})

    def count_drifts_after(tool: str, **arguments: object) -> int:
        for entry in call_tool("view_drift").data["drift"]:
            call_tool("view_document", file=entry["file"], slug=entry["slug"])
        assert not call_tool(tool, **arguments).is_error
        return len(call_tool("view_drift").data["drift"])

    def edit(operation: str, **arguments: object) -> int:
        return count_drifts_after("edit_document", operation=operation, **arguments)

    assert count_drifts_after("plan_task", file="docs/a.md", slug="write", depends_on=["#read"]) == 1
    assert count_drifts_after("claim_task", file="docs/a.md", slug="read") == 1
    assert count_drifts_after("complete_task", file="docs/a.md", slug="read", note="Done") == 1
    assert edit("move_document", file="docs/b.md", new_path="other/b.md") == 1
    assert edit("move_document", file="docs/a.md", new_path="a.md") == 1
    assert edit("move_section", file="a.md", slug="use", to_file="other/b.md", parent_slug="parent") == 1
    assert edit("move_section", file="other/b.md", slug="use", to_file="crlf.md") == 1


def test_path_ref_and_pages_select_sections(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"src/a/x.py": "2\n"})
    before = repo.commit({"src/b/x.py": "2\n"})
    repo.commit({"docs/a.md": build_guide("a") + "\nMore.\n"})

    def list_files(**arguments: object) -> list[str]:
        return [entry["file"] for entry in call_tool("view_drift", **arguments).data["drift"]]

    assert list_files() == ["docs/b.md"]
    assert list_files(ref=before) == ["docs/a.md", "docs/b.md"]
    assert list_files(ref=before, path="docs/a.md") == ["docs/a.md"]
    page = call_tool("view_drift", ref=before, limit=1).data
    assert [entry["file"] for entry in page["drift"]] == ["docs/a.md"]
    assert list_files(ref=before, limit=1, cursor=page["next_cursor"]) == ["docs/b.md"]


def test_unknown_folder_and_stale_cursor_are_refused(call_tool: CallTool, repo: Repo) -> None:
    assert call_tool("view_drift", path="dcs").data["code"] == "DOCUMENT_NOT_FOUND"
    repo.commit({"src/a/x.py": "2\n", "src/b/x.py": "2\n"})
    cursor = call_tool("view_drift", limit=1).data["next_cursor"]
    repo.commit({"src/a/x.py": "3\n"})
    assert call_tool("view_drift", limit=1, cursor=cursor).data["code"] == "CURSOR_STALE"


def test_glob_of_every_file_lists_a_limited_number_of_commits(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"all.md": "# All\n\n- Covers: `**`\n"})
    for number in range(8):
        repo.commit({"src/a/x.py": f"{number + 10}\n"})
    [entry] = call_tool("view_drift", path="all.md").data["drift"]
    assert (len(entry["changes"]), entry["changes_total"]) == (5, 8)
    [entry] = call_tool("view_drift", path="all.md", commits=50).data["drift"]
    assert len(entry["changes"]) == 8


def test_workspace_without_coverage_explains_it(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"docs/a.md": "# A\n", "docs/b.md": "# B\n"})
    answer = call_tool("view_drift")
    assert (answer.data["drift"], answer.data["covered"]) == ([], 0)
    assert "Covers:" in str(answer.data["next_step"])


def test_pages_within_few_tokens_contain_each_section(call_tool: CallTool, repo: Repo) -> None:
    sections = "".join(f"## S{number}\n\n- Covers: `src/a/**`\n\n" for number in range(20))
    repo.commit({"docs/a.md": f"# A\n\n{sections}"})
    repo.commit({f"src/a/{number}.py": "2\n" for number in range(9)}, "A long subject " * 20)
    entries = read_pages(call_tool, "view_drift", "drift", max_tokens=400)
    assert [entry["slug"] for entry in entries] == [f"s{number}" for number in range(20)]
