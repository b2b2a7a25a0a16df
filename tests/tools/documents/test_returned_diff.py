"""The diff in the answer of a writing tool: `return` selects it."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import CallTool

pytestmark = pytest.mark.smoke

TASK = {"operation": "add_task", "file": "api.md", "slug": "tasks", "title": "Measure"}


def test_short_diff_names_the_section_and_has_changed_lines_only(call_tool: CallTool) -> None:
    assert call_tool("edit_document", **TASK).data["diff"] == "@@ api.md#tasks\n+- [ ] Measure\n"


def test_short_diff_marks_carriage_returns(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"crlf.md": "# A\r\n\r\n## B\r\n\r\nText.\r\n"})
    data = call_tool(
        "edit_document", operation="append_content", file="crlf.md", slug="b", content="More."
    ).data
    assert data["diff"] == "@@ crlf.md#b\n+␍\n+More.␍\n"


def test_short_diff_names_removed_documents_without_their_text(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"old.md": "# Old\n\nText.\n"})
    call_tool("view_document", file="old.md", slug="_preamble")
    assert call_tool("remove_document", path="old.md").data["diff"] == "old.md (removed)\n"


def test_short_diff_of_front_matter_names_the_document(call_tool: CallTool) -> None:
    data = call_tool("tag_document", file="api.md", tags=["v2"]).data
    assert data["diff"].startswith("@@ api.md\n")


def test_long_change_has_no_short_diff(call_tool: CallTool) -> None:
    content = "\n\n".join(f"Paragraph {number}." for number in range(100))
    edit = {"operation": "add_section", "file": "api.md", "title": "Long", "content": content}
    data = call_tool("edit_document", **edit).data
    assert ("diff" in data, data["diff_omitted"]) == (False, True)


@loop_over(("requested", "has_diff"), [("none", False), ("full", True)])
def test_return_selects_the_diff(call_tool: CallTool, requested: str, has_diff: bool) -> None:
    data = call_tool("edit_document", **{**TASK, "title": requested, "return": requested}).data
    assert ("diff" in data) is has_diff
    if has_diff:
        assert data["diff"].startswith("--- a/api.md\n+++ b/api.md\n@@ ")


def test_unknown_return_value_is_refused(call_tool: CallTool, repo: Repo) -> None:
    answer = call_tool("edit_document", **TASK, **{"return": "some"})
    assert (answer.is_error, answer.data["field"]) == (True, "return")
    assert repo.git("rev-list", "--count", "HEAD").strip() == "1"


def test_dry_run_has_full_diff_unless_none_is_requested(call_tool: CallTool) -> None:
    assert call_tool("edit_document", **TASK, dry_run=True).data["diff"].startswith("--- a/api.md")
    assert "diff" not in call_tool("edit_document", **TASK, dry_run=True, **{"return": "none"}).data


def test_call_without_change_has_no_diff(call_tool: CallTool) -> None:
    assert "diff" not in call_tool("complete_task", file="api.md", slug="tasks[0]").data


def test_batch_has_one_diff_and_hints_on_the_entries(call_tool: CallTool, repo: Repo) -> None:
    operations = [
        {"operation": "rename_section", "file": "api.md", "slug": "tasks", "new_title": "Work"},
        {"operation": "add_section", "file": "notes/plain.md", "title": "More"},
    ]
    data = call_tool("edit_document", operations=operations).data
    renamed, added = data["batch_results"]
    assert (renamed["file"], added["file"]) == ("api.md", "notes/plain.md")
    assert renamed["hints"] == ["the address stays 'tasks', so no link breaks"]
    assert added["anchors_added"] == ["more"]
    assert "hints" not in data
    assert "next_step" not in renamed
    assert data["diff"].count("@@ ") == 2


def test_renamed_document_has_a_diff_of_its_changed_lines(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"faq.md": "# FAQ\n\n## How?\n\nSo.\n"})
    data = call_tool("edit_document", operation="move_document", file="faq.md", to_title="Questions").data
    assert data["diff"] == "faq.md -> questions.md\n@@ questions.md#_preamble\n-# FAQ\n+# Questions\n"


def test_large_new_document_is_named_without_its_text(call_tool: CallTool) -> None:
    content = "\n\n".join(f"Paragraph {number}." for number in range(30))
    data = call_tool("create_document", doc_type="document", title="Long", initial_content=content).data
    assert data["diff"] == "long.md (created)\n"


def test_new_document_lists_its_empty_sections_and_tasks(call_tool: CallTool) -> None:
    content = "## Act\n\nRun it.\n\n## Tasks\n\n- [ ] Rehearse\n"
    data = call_tool("create_document", doc_type="runbook", title="Deploy", initial_content=content).data
    assert "act" not in data["empty_sections"]
    assert "verify" in data["empty_sections"]
    assert data["tasks"] == {"total": 1, "completed": 0}
    assert data["front_matter"] == {"type": "runbook"}


def test_removed_section_is_named_by_its_old_address(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"a.md": "# A\n\n## Old\n\nText.\n\n## Next\n\nMore.\n"})
    call_tool("view_document", file="a.md", slug="old")
    data = call_tool("remove_document", file="a.md", slug="old").data
    assert data["diff"] == "@@ a.md#old\n-## Old\n-\n-Text.\n-\n"


def test_unrelated_removal_and_creation_are_not_shown_as_rename(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"owl.md": "---\ntype: document\n---\n\n# Owl\n\nAbout owls.\n"})
    call_tool("view_document", file="owl.md", slug="_preamble")
    operations = [
        {"operation": "remove_document", "path": "owl.md"},
        {
            "operation": "create_document",
            "doc_type": "document",
            "title": "Zebra",
            "initial_content": "Text.",
        },
    ]
    diff = call_tool("edit_document", operations=operations, mode="all").data["diff"]
    assert diff.startswith("owl.md (removed)\n@@ zebra.md\n")
