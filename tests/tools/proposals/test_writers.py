"""Writes to a proposal, and direct writes that become one because the policy requires review."""

from __future__ import annotations

import json
from typing import Any

import pytest

from index.service import SearchIndex
from tests.repositories import Repo
from tests.tools.conftest import CallTool, make_client
from tests.tools.proposals.conftest import approve_as_person, call_next_step, check_success, create_proposal
from tools.dispatcher import ToolDispatcher
from tools.tool import NextStep, call
from tools.toolsets import DEFAULT_TOOLSETS, all_tools
from workspace.workspace import Workspace

SECTION = {"operation": "add_section", "file": "api.md", "title": "Quotas", "content": "A leaky bucket."}
SPEC = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
WRITES: dict[str, dict[str, Any]] = {
    "create_document": {"doc_type": "document", "title": "New", "initial_content": "Words."},
    "edit_document": SECTION,
    "remove_document": {"path": "notes/plain.md"},
    "complete_task": {"file": "api.md", "slug": "tasks[1]"},
    "reopen_task": {"file": "api.md", "slug": "tasks[0]"},
    "tag_document": {"file": "api.md", "tags": ["quota"]},
    "plan_task": {"file": "api.md", "slug": "tasks[2]", "blocked": "waiting for the design"},
    "restore_document": {"file": "notes/plain.md", "ref": "HEAD~1"},
}


def test_every_writing_tool_accepts_a_proposal() -> None:
    writing_tool_names = {
        tool.name
        for tool in all_tools()
        if tool.writes and "operations" in tool.arguments.model_fields and tool.toolset != "comments"
    }
    assert writing_tool_names == set(WRITES)
    assert all(
        "proposal" in tool.arguments.model_fields for tool in all_tools() if tool.name in writing_tool_names
    )


def test_writes_to_proposal_do_not_change_target(call_tool: CallTool, repo: Repo, proposal: str) -> None:
    head_before = repo.commit({"notes/plain.md": "# Plain\n\nOther words.\n"})
    proposal = create_proposal(call_tool, "After that")
    call_tool("view_document", file="notes/plain.md", slug="_preamble")
    # The restored document comes first, as it is removed later.
    for tool in sorted(WRITES, key=lambda name: name != "restore_document"):
        answer = call_tool(tool, **WRITES[tool], proposal=proposal)
        assert check_success(answer)["proposal"] == proposal
        assert "overlaps" not in answer.data
        tip = answer.data["commit"]
        assert repo.git("rev-parse", f"proposals/{proposal}-after-that").strip() == tip
        assert f"Docyard-Proposal: {proposal}" in repo.git("log", "-1", "--format=%B", tip)
        assert proposal in answer.data["next_step"]
    assert repo.head() == head_before
    assert repo.status() == repo.fsck() == ""


def test_next_step_of_write_names_the_proposal(call_tool: CallTool, repo: Repo, proposal: str) -> None:
    head_before = repo.head()
    answer = call_tool(
        "edit_document", operation="add_section", file="api.md", title="Empty", proposal=proposal
    )
    result = call_next_step(call_tool, answer)  # "Write it with edit_document {…}"
    assert result.data["proposal"] == proposal
    view = call_next_step(call_tool, result)
    assert view.data["commit"] == result.data["commit"]
    assert repo.head() == head_before


def test_usage_call_returns_calls_with_the_proposal(call_tool: CallTool, proposal: str) -> None:
    for tool in WRITES:
        answer = call_tool(tool, proposal=proposal)
        assert not answer.is_error, (tool, answer.data)
    step = call_tool("create_document", proposal=proposal).data["next_step"]
    assert json.dumps(proposal) in step


def test_next_steps_name_proposal_in_field_of_each_tool() -> None:
    fields = {"view_document": "ref", "edit_document": "proposal", "create_document": "proposal"}
    view, edit = call("view_document", file="a {.md"), call("edit_document", file="a.md")
    step = NextStep("Read ", view, ", or ", edit, "; else ", call("create_document"))
    assert step.for_proposal("k7m2q9xa").text(fields) == (
        'Read view_document {"file": "a {.md", "ref": "k7m2q9xa"}, or edit_document {"file": "a.md", '
        '"proposal": "k7m2q9xa"}; else create_document {}'
    )
    step = NextStep("Complete tasks[2]").for_proposal("k7m2q9xa")
    assert step.text(fields) == "Complete tasks[2], with proposal k7m2q9xa"
    step = NextStep('Finish: view_document {"file": "x"}, with ', call("git_log")).for_proposal("k7m2q9xa")
    assert step.text(fields) == 'Finish: view_document {"file": "x"}, with git_log {}'


def test_missing_or_ended_proposal_returns_error(call_tool: CallTool, repo: Repo, proposal: str) -> None:
    answer = call_tool("edit_document", **SECTION, proposal="zzzzzzzz")
    assert answer.data["code"] == "PROPOSAL_NOT_FOUND"
    assert proposal in answer.data["candidates"]
    example = answer.data["example"]
    assert example["proposal"] == proposal
    assert example["dry_run"] is True
    refs_before = repo.git("for-each-ref")
    assert not call_tool("edit_document", **example).is_error
    assert repo.git("for-each-ref") == refs_before
    check_success(call_tool("update_proposal", proposal=proposal, action="close"))
    answer = call_tool("edit_document", **SECTION, proposal=proposal)
    assert (answer.data["code"], answer.data["state"]) == ("PROPOSAL_ENDED", "closed")


def test_error_in_proposal_has_working_example(call_tool: CallTool, repo: Repo, proposal: str) -> None:
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    head_before = repo.head()
    edit = {"operation": "append_content", "file": "api.md", "slug": "quota", "content": "x"}
    answer = call_tool("edit_document", **edit, proposal=proposal)
    assert answer.data["code"] == "SECTION_NOT_FOUND"
    assert answer.data["example"]["slug"] == "quotas"  # a section that only the proposal has
    unknown_section_answer = call_tool("edit_document", **{**edit, "slug": "zzzz"}, proposal=proposal)
    assert f'"ref": "{proposal}"' in unknown_section_answer.data["fix"]
    assert check_success(call_tool("edit_document", **answer.data["example"]))["proposal"] == proposal
    assert repo.head() == head_before


@pytest.mark.parametrize("is_batch", [False, True])
def test_direct_write_to_protected_path_becomes_proposal(
    call_tool: CallTool, repo: Repo, is_batch: bool
) -> None:
    head_before = repo.head()
    fields: dict[str, Any] = {"operations": [SPEC, SECTION]} if is_batch else SPEC
    answer = call_tool("edit_document", **fields)
    data = check_success(answer)
    assert data["protected"] == ["specs/limits.md"]
    assert "main has not changed" in data["note"]
    assert repo.head() == head_before
    assert repo.git("rev-parse", data["branch"]).strip() == data["commit"]
    changed_paths = repo.git("diff", "--name-only", head_before, data["commit"]).split()
    assert changed_paths == (["api.md", "specs/limits.md"] if is_batch else ["specs/limits.md"])
    assert call_next_step(call_tool, answer).data["state"] == "open"


def test_write_to_unprotected_path_is_committed_directly(call_tool: CallTool, repo: Repo) -> None:
    data = check_success(call_tool("edit_document", **SECTION))
    assert "proposal" not in data
    assert data["commit"] == repo.head()


def test_dry_run_reports_redirect_to_proposal(call_tool: CallTool, repo: Repo) -> None:
    refs_before = repo.git("for-each-ref")
    data = check_success(call_tool("edit_document", **SPEC, dry_run=True))
    assert data["protected"] == ["specs/limits.md"]
    assert "becomes a proposal" in data["note"]
    assert "+Or less." in data["diff"]
    assert repo.git("for-each-ref") == refs_before
    assert "protected" not in check_success(call_tool("edit_document", **SECTION, dry_run=True))


def test_removals_and_moves_are_protected(call_tool: CallTool, repo: Repo) -> None:
    head_before = repo.head()
    call_tool("view_document", file="specs/limits.md", slug="_preamble", include_subsections=True)
    for tool, fields in (
        ("remove_document", {"path": "specs/limits.md"}),
        ("edit_document", {"operation": "move_document", "file": "specs/limits.md", "new_path": "free.md"}),
        ("edit_document", {"operation": "move_document", "file": "api.md", "new_path": "specs/api.md"}),
    ):
        assert check_success(call_tool(tool, **fields))["proposal"]
    assert repo.head() == head_before


def test_retry_of_redirected_write_returns_merged_proposal(
    call_tool: CallTool, repo: Repo, workspace: Workspace
) -> None:
    first_result = check_success(call_tool("edit_document", **SPEC, idempotency_key="key"))
    retry = check_success(call_tool("edit_document", **SPEC, idempotency_key="key"))
    assert retry["repeated"] is True
    assert (retry["proposal"], retry["commit"]) == (first_result["proposal"], first_result["commit"])
    assert len(call_tool("view_proposal").data["proposals"]) == 1
    refusal = call_tool("edit_document", **{**SPEC, "content": "Other."}, idempotency_key="key")
    assert refusal.data["code"] == "IDEMPOTENCY_KEY_REUSED"
    approve_as_person(workspace, first_result["proposal"])
    repo.git("merge", "-q", "--no-edit", first_result["branch"])
    retry_after_merge = check_success(call_tool("edit_document", **SPEC, idempotency_key="key"))
    assert (retry_after_merge["proposal"], retry_after_merge["repeated"]) == (first_result["proposal"], True)
    assert repo.git("show", "HEAD:specs/limits.md").count("Or less.") == 1


def test_answer_without_proposal_tools_names_commands(repo: Repo) -> None:
    workspace = Workspace.open(repo.path, durable=False)
    call_tool = make_client(ToolDispatcher(workspace, SearchIndex(workspace), DEFAULT_TOOLSETS, False))
    answer = call_tool("edit_document", **SPEC)
    assert f"docyard proposals submit {answer.data['proposal']}" in answer.data["next_step"]
    call_next_step(call_tool, answer)


def test_write_to_proposal_reports_overlaps(call_tool: CallTool, proposal: str) -> None:
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    check_success(call_tool("complete_task", file="api.md", slug="tasks[1]", proposal=proposal))
    other_proposal = create_proposal(call_tool, "Other")
    data = check_success(call_tool("complete_task", file="api.md", slug="tasks[1]", proposal=other_proposal))
    assert data["overlaps"] == [{"proposal": proposal, "title": "Rate limits", "addresses": ["api.md#tasks"]}]
    assert "overlaps" not in check_success(call_tool("tag_document", file="api.md", tags=["x"]))


def test_title_of_direct_write_is_not_cut(call_tool: CallTool) -> None:
    title = "How many calls a client may make in a second, and the response to calls over the limit"
    change = {"operation": "add_section", "file": "specs/limits.md", "title": title, "content": "Ten."}
    proposal = check_success(call_tool("edit_document", **change))["proposal"]
    data = check_success(call_tool("view_proposal", proposal=proposal))
    assert len(data["title"]) > 72
    assert "…" not in data["title"] + data.get("description", "")


def test_error_for_a_document_of_a_proposal_names_the_proposal(call_tool: CallTool) -> None:
    new_document = {
        "doc_type": "document",
        "title": "New",
        "path": "specs/new.md",
        "initial_content": "Words.",
    }
    proposal = check_success(call_tool("create_document", **new_document))["proposal"]
    for tool, fields, field in (
        ("edit_document", {"operation": "add_section", "file": "specs/new.md", "title": "More"}, "proposal"),
        ("view_document", {"file": "specs/new.md"}, "ref"),
        ("get_doc", {"chunk_id": "specs/new.md#new"}, "ref"),
    ):
        answer = call_tool(tool, **fields)
        assert answer.is_error
        assert answer.data["proposals"] == [proposal], tool
        assert f"'{field}': '{proposal}'" in answer.data["fix"]
        assert answer.data["example"] == {**fields, field: proposal}
    missing = {"operation": "add_section", "file": "specs/new.md", "title": "More"}
    present = {"operation": "add_section", "file": "specs/limits.md", "title": "More"}
    for operations in ([missing], [missing, present]):
        answer = call_tool("edit_document", operations=operations, dry_run=True)
        entry = answer.data["batch_results"][0]
        assert entry["proposals"] == [proposal]
        assert f"'proposal': '{proposal}'" in entry["fix"]
        assert all("proposals" not in other for other in answer.data["batch_results"][1:])
    reads = [{"file": "specs/new.md"}, {"file": "specs/new.md", "ref": "main"}, {"file": "specs/limits.md"}]
    entries = call_tool("view_document", operations=reads).data["batch_results"]
    assert [entry.get("proposals") for entry in entries] == [[proposal], None, None]
    assert not call_tool("view_document", **{**reads[0], "ref": entries[0]["proposals"][0]}).is_error
    assert call_tool("smart_read", file_path="specs/new.md").data["proposals"] == [proposal]
    example = call_tool("view_document", file="specs/new.md").data["example"]
    assert not call_tool("view_document", **example).is_error
    assert "proposals" not in call_tool("view_document", file="specs/none.md").data
    assert "proposals" not in call_tool("view_document", file="specs/new.md", ref="main").data
    call_tool("update_proposal", proposal=proposal, action="close")
    assert "proposals" not in call_tool("view_document", file="specs/new.md").data


def test_second_direct_write_names_the_same_draft(call_tool: CallTool, repo: Repo) -> None:
    first = check_success(call_tool("edit_document", **SPEC))
    second = check_success(call_tool("edit_document", **{**SPEC, "content": "At night, more."}))
    assert second["proposal"] == first["proposal"]
    assert "committed to the proposal" in first["note"]
    title = check_success(call_tool("view_proposal", proposal=first["proposal"]))["title"]
    assert f"added to your draft proposal {first['proposal']} '{title}' instead" in second["note"]
    assert "for other work, give new_proposal" in first["note"]
    other = check_success(call_tool("edit_document", **SPEC, new_proposal={"title": "Other work"}))
    assert other["proposal"] != first["proposal"]
    assert second["branch"] == first["branch"]
    assert first["proposal"] in str(second["next_step"])
    assert "overlaps" not in second
    call_tool("update_proposal", proposal=first["proposal"], action="submit")
    third = check_success(call_tool("edit_document", **{**SPEC, "content": "Ten in all."}))
    assert third["proposal"] != first["proposal"]
