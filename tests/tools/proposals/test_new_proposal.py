"""`new_proposal` in a writing tool: the call opens the proposal that it writes to."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tools.toolsets import all_tools
from tools.writer import WriteFields

TASK = {"operation": "add_task", "file": "api.md", "slug": "tasks", "title": "Measure"}
NEW_PROPOSAL = {"title": "Measure latency", "description": "Clients ask."}


def count_proposals(call_tool: CallTool) -> int:
    return int(call_tool("view_proposal").data["total"])


@pytest.mark.smoke
def test_every_writer_of_documents_has_the_field() -> None:
    # A claim counts at the tip of the branch only, and the tools for comments edit with edit_document.
    writing_tools = [
        tool
        for tool in all_tools()
        if tool.writes and tool.toolset not in ("proposals", "comments") and tool.name != "claim_task"
    ]
    assert all(issubclass(tool.arguments, WriteFields) for tool in writing_tools)


@loop_over(("submit", "state"), [(False, "draft"), (True, "open")])
def test_write_opens_a_proposal_with_title_and_description(
    call_tool: CallTool, repo: Repo, submit: bool, state: str
) -> None:
    head_before = repo.head()
    data = call_tool("edit_document", **TASK, new_proposal={**NEW_PROPOSAL, "submit": submit}).data
    assert (data["state"], repo.head()) == (state, head_before)
    view = call_tool("view_proposal", proposal=data["proposal"]).data
    assert (view["title"], view["description"], view["state"]) == (
        NEW_PROPOSAL["title"],
        NEW_PROPOSAL["description"],
        state,
    )
    assert "Measure" in repo.git("show", f"{data['branch']}:api.md")


def test_batch_with_one_failure_opens_proposal_with_other_operations(call_tool: CallTool) -> None:
    operations = [TASK, {**TASK, "slug": "missing"}, {**TASK, "title": "Other"}]
    data = call_tool("edit_document", operations=operations, new_proposal=NEW_PROPOSAL).data
    assert [entry["success"] for entry in data["batch_results"]] == [True, False, True]
    assert data["proposal"]


@loop_over("operation", [{**TASK, "slug": "missing"}, {"operation": "nothing", "file": "api.md"}])
def test_failed_write_opens_no_proposal(
    call_tool: CallTool, repo: Repo, operation: dict[str, object]
) -> None:
    assert call_tool("edit_document", **operation, new_proposal=NEW_PROPOSAL).is_error
    assert count_proposals(call_tool) == 0
    assert repo.git("for-each-ref", "refs/heads/proposals").strip() == ""


def test_dry_run_opens_no_proposal_and_has_a_note(call_tool: CallTool) -> None:
    data = call_tool("edit_document", **TASK, new_proposal=NEW_PROPOSAL, dry_run=True).data
    assert data["note"] == "without dry_run, this opens the proposal"
    assert count_proposals(call_tool) == 0


@loop_over(
    ("fields", "message"),
    [
        ({"new_proposal": {"titel": "A"}}, "in 'new_proposal': unknown field 'titel'"),
        ({"new_proposal": {}}, "in 'new_proposal': 'title' is missing"),
        ({"new_proposal": {"title": " "}}, "in 'new_proposal': the title is empty"),
        (
            {"new_proposal": NEW_PROPOSAL, "proposal": "k7777777"},
            "both 'proposal' (an open one) and 'new_proposal'",
        ),
        ({"new_proposal": "yes"}, "'new_proposal': input should be a valid dictionary"),
    ],
)
def test_invalid_new_proposal_is_refused(
    call_tool: CallTool, fields: dict[str, object], message: str
) -> None:
    answer = call_tool("edit_document", **TASK, **fields)
    assert answer.is_error
    assert answer.data["error"].startswith(message)
    assert answer.data["field"] == "new_proposal"
    assert count_proposals(call_tool) == 0


def test_retry_with_the_same_key_opens_one_proposal(call_tool: CallTool) -> None:
    call = {**TASK, "new_proposal": {**NEW_PROPOSAL, "submit": True}, "idempotency_key": "key"}
    first_answer, retry = call_tool("edit_document", **call), call_tool("edit_document", **call)
    assert retry.data["repeated"] is True
    assert retry.data["proposal"] == first_answer.data["proposal"]
    assert count_proposals(call_tool) == 1


@loop_over(
    "fields",
    [
        {"new_proposal": {**NEW_PROPOSAL, "title": ""}},
        {"new_proposal": "x"},
        {"new_proposal": NEW_PROPOSAL, "slug": "missing"},
        {"new_proposal": NEW_PROPOSAL, "file": "missing.md"},
    ],
)
def test_example_after_an_error_opens_a_proposal_too(
    call_tool: CallTool, repo: Repo, fields: dict[str, object]
) -> None:
    head_before = repo.head()
    example = call_tool("edit_document", **{**TASK, **fields}).data["example"]
    assert example["new_proposal"]["title"]
    answer = call_tool("edit_document", **example)
    assert not answer.is_error, answer.data
    assert (repo.head(), bool(answer.data["proposal"])) == (head_before, True)
