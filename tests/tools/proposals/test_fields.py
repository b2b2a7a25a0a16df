"""Lenient parsing of the proposal fields, in single calls and batches; ids in histories and completions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tests.tools.proposals.conftest import check_success, create_proposal
from tests.tools.proposals.test_writers import WRITES
from tools.completion import complete_ref
from tools.dispatcher import ToolDispatcher

SECTION = {"operation": "add_section", "file": "api.md", "title": "Quotas", "content": "A leaky bucket."}


@pytest.mark.parametrize("tool", sorted(WRITES))
def test_batches_accept_a_proposal(call_tool: CallTool, repo: Repo, tool: str) -> None:
    head_before = repo.commit({"notes/plain.md": "# Plain\n\nOther words.\n"})
    proposal = create_proposal(call_tool, "After that")
    call_tool("view_document", file="notes/plain.md", slug="_preamble", ref=proposal)
    fields = WRITES[tool]
    data = check_success(call_tool(tool, operations=json.dumps([fields]), proposal=f" {proposal} "))
    assert data["proposal"] == proposal
    [result] = data["batch_results"]
    assert result["success"] is True
    assert repo.git("rev-parse", f"proposals/{proposal}-after-that").strip() == data["commit"]
    nested_answer = call_tool(tool, operations=[{**fields, "proposal": proposal}])
    [refusal] = nested_answer.data["batch_results"]
    assert (refusal["code"], refusal["field"]) == (
        "INVALID_ARGUMENTS",
        "proposal",
    )  # the field belongs to the whole call
    assert repo.head() == head_before
    direct_answer = call_tool(tool, **fields, proposal=None)
    assert "proposal" not in check_success(direct_answer)
    assert repo.head() == direct_answer.data["commit"] != head_before


@pytest.mark.parametrize("proposal", [5, True, ["a"], {"id": "a"}])
def test_invalid_proposal_id_returns_error(call_tool: CallTool, proposal: object) -> None:
    for tool, fields in (
        *WRITES.items(),
        ("view_proposal", {}),
        ("update_proposal", {"action": "submit"}),
    ):
        answer = call_tool(tool, **{**fields, "proposal": proposal})
        assert (answer.data["code"], answer.data["field"]) == ("INVALID_ARGUMENTS", "proposal"), tool


def test_numbers_and_flags_as_text_and_null_are_accepted(call_tool: CallTool) -> None:
    fields: dict[str, Any] = {"submit": "true", "idempotency_key": None}
    first_proposal = check_success(call_tool("create_proposal", title="One", description="Why.", **fields))
    assert first_proposal["state"] == "open"
    create_proposal(call_tool, "Two")
    page = check_success(
        call_tool("view_proposal", limit="1", state=None, cursor=None, comments="false", file=None)
    )
    assert len(page["proposals"]) == 1
    view = check_success(
        call_tool(
            "view_proposal", proposal=first_proposal["proposal"], comments="true", limit="3", offset=None
        )
    )
    assert view["comments"] == []
    comment_fields = {
        "proposal": first_proposal["proposal"],
        "action": "comment",
        "text": "Hm.",
        "file": None,
        "reply_to": None,
    }
    assert check_success(call_tool("update_proposal", **comment_fields, resolutions=None, commit=None))[
        "comment"
    ]
    answer = call_tool(
        "update_proposal", proposal=first_proposal["proposal"], action="refresh", resolutions="[]"
    )
    assert not answer.is_error, answer.data


@pytest.mark.parametrize(
    ("tool", "field", "nearest"),
    [
        ("create_proposal", "titel", "title"),
        ("view_proposal", "proposals", "proposal"),
        ("update_proposal", "acton", "action"),
        ("edit_document", "propsal", "proposal"),
    ],
)
def test_unknown_field_returns_nearest_name(call_tool: CallTool, tool: str, field: str, nearest: str) -> None:
    answer = call_tool(tool, **{field: "x"})
    assert (answer.data["code"], answer.data["field"]) == ("INVALID_ARGUMENTS", field)
    assert nearest in answer.data["fix"]


def test_section_history_names_the_proposal(call_tool: CallTool, proposal: str) -> None:
    check_success(call_tool("edit_document", **SECTION, proposal=proposal))
    check_success(call_tool("update_proposal", proposal=proposal, action="merge"))
    [change] = call_tool("view_history", file="api.md", slug="quotas").data["history"]
    assert (change["proposal"], change["client"]) == (proposal, "tester")


def test_ref_completion_includes_proposal_ids(
    call_tool: CallTool, dispatcher: ToolDispatcher, proposal: str
) -> None:
    candidates = complete_ref(dispatcher.context(), proposal[:3], {}).values
    assert candidates[:2] == (proposal, f"proposals/{proposal}-rate-limits")
