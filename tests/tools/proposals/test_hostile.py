"""Calls on a proposal with invalid values in every field: each call returns an answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tests.tools.proposals.conftest import check_success
from tests.tools.test_hostile_arguments import VALUES, check_answer
from tools.proposals import update_proposal, view_proposal

SECTION_FIELDS = {
    "operation": "add_section",
    "file": "api.md",
    "title": "Quotas",
    "content": "A leaky bucket.",
}
ACTION_FIELDS: list[dict[str, Any]] = [
    {"action": "comment", "text": "Hm.", "file": "api.md", "slug": "quotas", "quote": "leaky"},
    {"action": "refresh", "resolutions": [{"file": "api.md", "kind": "text", "choice": "ours"}]},
    {"action": "request_changes", "text": "Why?"},
    {"action": "edit", "title": "Quotas"},
    {"action": "approve"},
]


@pytest.mark.property
def test_any_value_in_any_proposal_field_returns_answer(
    call_tool: CallTool, repo: Repo, proposal: str
) -> None:
    head_before = repo.head()
    tip = check_success(call_tool("edit_document", **SECTION_FIELDS, proposal=proposal))["commit"]
    commits = {"commit": tip, "target_commit": head_before}
    for tool, calls in ((update_proposal.TOOL, ACTION_FIELDS), (view_proposal.TOOL, [{}])):
        for fields in calls:
            for field in tool.arguments.model_fields if tool is view_proposal.TOOL else fields:
                for value in VALUES[:: 1 if tool is view_proposal.TOOL else 3]:
                    check_answer(call_tool(tool.name, **{"proposal": proposal, **fields, field: value}), tool)
    for name in ("file", "kind", "where", "part", "choice", "content"):
        for value in VALUES:
            resolution = {"file": "api.md", "kind": "text", "where": "quotas", "choice": "ours", name: value}
            arguments = {"resolutions": [resolution], **commits}
            check_answer(call_tool("update_proposal", proposal=proposal, **arguments), update_proposal.TOOL)
    for field in commits:
        for value in VALUES[::3]:
            arguments = {"resolutions": [{"file": "api.md", "choice": "ours"}], **commits, field: value}
            check_answer(call_tool("update_proposal", proposal=proposal, **arguments), update_proposal.TOOL)
    assert (repo.head(), repo.fsck()) == (head_before, "")
    assert not call_tool("view_proposal", proposal=proposal).is_error
