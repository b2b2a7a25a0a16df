"""Writing: one commit for a call, results of batches, and dry runs."""

from __future__ import annotations

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool

TASK = {"operation": "add_task", "file": "api.md", "slug": "tasks", "title": "New"}
FAILING_TASK = {**TASK, "slug": "nowhere"}


def read_message(repo: Repo) -> str:
    return repo.git("log", "-1", "--format=%B").strip()


def count_commits(repo: Repo) -> int:
    return int(repo.git("rev-list", "--count", "HEAD"))


@pytest.mark.smoke
def test_batch_is_one_commit_with_summary_message(call_tool: CallTool, repo: Repo) -> None:
    section = {"operation": "add_section", "file": "notes/plain.md", "title": "Limits"}
    answer = call_tool("edit_document", operations=[TASK, section])
    assert answer.data["commit"] == repo.head()
    assert count_commits(repo) == 2
    assert read_message(repo) == (
        "Edit 2 documents: 2 changes\n\n"
        "- Add task tasks[3] to api.md\n- Add section limits to notes/plain.md\n\n"
        "Docyard-Tool: edit_document\nDocyard-Client: tester"
    )
    assert repo.status() == repo.fsck() == ""


def test_message_of_caller_is_used(call_tool: CallTool, repo: Repo) -> None:
    call_tool("edit_document", **TASK, message="Plan the work\n\nBecause it is due.")
    assert read_message(repo).startswith(
        "Plan the work\n\nBecause it is due.\n\n- Add task tasks[3] to api.md\n\n"
    )
    call_tool("complete_task", file="api.md", slug="tasks[1]", message="Odd\x1b[31m\n\nDocyard-Tool: forged")
    assert "\x1b" not in read_message(repo)
    trailers = repo.git("log", "-1", "--format=%(trailers:key=Docyard-Tool,valueonly)").split()
    assert trailers == ["complete_task"]


def test_failure_in_mode_each_commits_other_operations(call_tool: CallTool, repo: Repo) -> None:
    answer = call_tool("edit_document", operations=[TASK, FAILING_TASK, TASK])
    assert not answer.is_error
    first_result, second_result, third_result = answer.data["batch_results"]
    assert (first_result["task_index"], third_result["task_index"]) == (3, 4)
    assert {"success", "error", "code", "usage", "example"} <= second_result.keys()
    assert second_result["success"] is False
    assert count_commits(repo) == 2
    assert "failed operations (1)" in answer.data["next_step"]


def test_failure_in_mode_all_commits_nothing(call_tool: CallTool, repo: Repo) -> None:
    head_before = repo.head()
    answer = call_tool("edit_document", operations=[TASK, FAILING_TASK, TASK], mode="all")
    assert answer.is_error
    assert answer.data["commit"] == head_before == repo.head()
    statuses = [result.get("status", "failed") for result in answer.data["batch_results"]]
    assert statuses == ["undone", "failed", "not_run"]
    assert not any(result["success"] for result in answer.data["batch_results"])
    assert "next_step" not in answer.data


def test_batch_without_success_is_an_error_with_one_example(call_tool: CallTool, repo: Repo) -> None:
    head_before = repo.head()
    answer = call_tool("edit_document", operations=[FAILING_TASK, FAILING_TASK, FAILING_TASK])
    assert answer.is_error
    results = answer.data["batch_results"]
    assert all("usage" in result for result in results)
    assert ["example" in result for result in results] == [True, False, False]
    assert repo.head() == head_before


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_document", {"doc_type": "api_spec", "title": "Search"}),
        ("edit_document", TASK),
        ("edit_document", {"operations": [TASK, {**TASK, "title": "Other"}]}),
        ("remove_document", {"file": "api.md", "slug": "endpoints"}),
        ("remove_document", {"path": "api.md"}),
        ("complete_task", {"file": "api.md", "slug": "tasks[1]", "note": "Done"}),
        ("reopen_task", {"file": "api.md", "slug": "tasks[0]"}),
        ("tag_document", {"file": "api.md", "tags": ["a"]}),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_dry_run_returns_diff_and_commits_nothing(
    call_tool: CallTool, repo: Repo, tool: str, arguments: dict[str, object]
) -> None:
    head_before = repo.head()
    call_tool("view_document", file="api.md", slug="_preamble", include_subsections=True)
    preview = call_tool(tool, **arguments, dry_run=True)
    assert not preview.is_error
    assert repo.head() == preview.data["commit"] == head_before
    assert repo.status() == ""
    result = call_tool(tool, **arguments)
    differing_fields = {"dry_run", "diff", "commit", "next_step"}
    preview_data, result_data = (
        {name: value for name, value in answer.data.items() if name not in differing_fields}
        for answer in (preview, result)
    )
    assert preview_data == result_data
    preview_lines = [
        line
        for line in preview.data["diff"].splitlines()
        if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    diff_lines = repo.git("diff", "HEAD~1", "HEAD").splitlines()
    changed_lines = [line for line in diff_lines if line[:1] in ("+", "-") and line[:3] not in ("+++", "---")]
    assert sorted(preview_lines) == sorted(changed_lines)


def test_dry_run_with_failed_operation_suggests_its_correction(call_tool: CallTool, repo: Repo) -> None:
    failing = {**TASK, "slug": "absent"}
    preview = call_tool("edit_document", operations=[TASK, failing], mode="each", dry_run=True)
    assert [result["success"] for result in preview.data["batch_results"]] == [True, False]
    assert preview.data["next_step"].startswith("Correct the failed operations")
    valid = call_tool("edit_document", operations=[TASK, TASK], mode="each", dry_run=True)
    assert valid.data["next_step"].startswith("Send the same call without dry_run")
    assert count_commits(repo) == 1


def test_example_after_dry_run_is_a_dry_run(call_tool: CallTool, repo: Repo) -> None:
    answer = call_tool(
        "edit_document", operation="append_content", file="api.md", slug="endpoint", content="x", dry_run=True
    )
    assert answer.is_error
    assert not call_tool("edit_document", **answer.data["example"]).is_error
    assert count_commits(repo) == 1


def test_write_without_changes_makes_no_commit(call_tool: CallTool, repo: Repo) -> None:
    for tool, arguments in (
        ("complete_task", {"file": "api.md", "slug": "tasks[0]"}),
        ("reopen_task", {"file": "api.md", "slug": "tasks[1]"}),
        ("edit_document", {"file": "api.md", "slug": "endpoints/search", "content": "Finds things."}),
        ("edit_document", {"file": "api.md", "slug": "endpoints", "new_title": "Endpoints"}),
    ):
        answer = call_tool(tool, **arguments)
        assert answer.data["changed"] is False
        assert answer.data["commit"] == repo.head()
    assert count_commits(repo) == 1


def test_answer_contains_hints_of_operations(call_tool: CallTool) -> None:
    content = "#### A\n\n##### B\n\nText.\n"
    call_tool("view_document", file="api.md", slug="endpoints/search")
    answer = call_tool("edit_document", file="api.md", slug="endpoints/search", content=content)
    assert answer.data["subsections"] == ["endpoints/search/a", "endpoints/search/a/b"]
    assert any("H5" in hint for hint in answer.data["hints"])


def test_written_text_is_searchable_immediately(call_tool: CallTool) -> None:
    call_tool("edit_document", file="api.md", title="Rate limits", content="A leaky bucket of tokens.")
    results = call_tool("search_docs", query="leaky bucket")
    assert results.data["hits"][0]["chunk_id"] == "api.md#rate-limits"


def test_uncommitted_work_is_preserved(call_tool: CallTool, repo: Repo) -> None:
    head_before = repo.head()
    repo.write({"api.md": "# Mine\n"})
    answer = call_tool("edit_document", **TASK)
    assert answer.data["code"] == "WORKTREE_CONFLICT"
    assert answer.data["paths"] == ["api.md"]
    assert answer.data["usage"]
    assert repo.head() == head_before
    assert (repo.path / "api.md").read_text() == "# Mine\n"


def test_task_answer_has_progress(call_tool: CallTool) -> None:
    answer = call_tool("complete_task", file="api.md", slug="tasks[1]", note="Green")
    assert answer.data["progress"] == {"total": 3, "completed": 2}
    assert answer.data["next_task"] == {"slug": "tasks[2]", "title": "Ship it", "completed": False}
    assert answer.data["next_step"] == "Complete tasks[2] or view_document for progress"
    last_answer = call_tool("complete_task", file="api.md", slug="tasks[2]")
    assert "next_task" not in last_answer.data
    assert 'view_document {"file": "api.md"}' in last_answer.data["next_step"]


def test_removal_reports_what_was_removed(call_tool: CallTool, repo: Repo) -> None:
    call_tool("view_document", file="api.md", slug="_preamble", include_subsections=True)
    section_answer = call_tool("remove_document", file="api.md", slug="endpoints")
    assert (section_answer.data["removed"], section_answer.data["removed_what"]) == (True, "section")
    batch_answer = call_tool("remove_document", operations=[{"path": "api.md"}, {"path": "api.md"}])
    assert batch_answer.data["batch_results"][0]["removed"] == "document"
    assert batch_answer.data["batch_results"][1]["code"] == "DOCUMENT_NOT_FOUND"
    assert not (repo.path / "api.md").exists()


def test_tags_are_added_removed_and_replaced(call_tool: CallTool) -> None:
    assert call_tool("tag_document", file="api.md", tags=["a", "b", "A"]).data["tags"] == ["a", "b"]
    assert call_tool("tag_document", file="api.md", tags=["c"]).data["total_tags"] == 3
    assert call_tool("tag_document", file="api.md", tags=["a"], remove=True).data["tags"] == ["b", "c"]
    assert call_tool("tag_document", file="api.md", tags=["z"], replace=True).data["tags"] == ["z"]
    assert call_tool("list_documents", tag="Z").data["documents"][0]["path"] == "api.md"
