"""Parallel actions between two reads of one call: the answer describes the effect of this call only."""

from __future__ import annotations

import pytest

from index.service import SearchIndex
from tests.call_hooks import run_after_call
from tests.repositories import Repo
from tests.tools.conftest import CallTool, make_client
from tests.tools.proposals.conftest import check_success
from tools.dispatcher import ToolDispatcher
from workspace.proposals.actions.actions import ProposalActions
from workspace.proposals.actions.repository import ProposalRepository

WRITE = {"operation": "append_content", "file": "api.md", "slug": "endpoints", "content": "More."}


def test_searchable_write_is_not_reported_pending_after_other_commits(
    call_tool: CallTool, repo: Repo, dispatcher: ToolDispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_after_call(
        monkeypatch,
        SearchIndex,
        "update_to_tip",
        lambda: repo.commit({"notes/plain.md": "# Plain\n\nLater.\n"}),
    )
    assert "hints" not in check_success(call_tool("edit_document", **WRITE))
    monkeypatch.setattr(SearchIndex, "update_to_tip", lambda index: repo.git("rev-parse", "HEAD~3").strip())
    assert "not searchable yet" in check_success(call_tool("edit_document", **WRITE))["hints"][0]


def test_answer_has_id_of_own_comment_despite_equal_parallel_comment(
    call_tool: CallTool, dispatcher: ToolDispatcher, proposal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    comment = {"proposal": proposal, "action": "comment", "text": "Good."}
    other_client = make_client(dispatcher)
    other_ids: list[str] = []
    run_after_call(
        monkeypatch,
        ProposalRepository,
        "append",
        lambda: other_ids.append(check_success(other_client("update_proposal", **comment))["comment"]),
    )
    first_result = check_success(call_tool("update_proposal", **comment, idempotency_key="K"))
    retry = check_success(call_tool("update_proposal", **comment, idempotency_key="K"))
    assert first_result["comment"] == retry["comment"] != other_ids[0]


def test_retry_returns_result_if_proposal_ends_meanwhile(
    call_tool: CallTool, dispatcher: ToolDispatcher, proposal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = {**WRITE, "proposal": proposal, "idempotency_key": "K"}
    first_result = check_success(call_tool("edit_document", **call))
    other_client = make_client(dispatcher)
    merge = {"proposal": proposal, "action": "merge"}
    run_after_call(
        monkeypatch, ProposalActions, "find", lambda: check_success(other_client("update_proposal", **merge))
    )
    retry = check_success(call_tool("edit_document", **call))
    assert (retry["repeated"], retry["commit"]) == (True, first_result["commit"])


def test_redirected_write_to_immediately_closed_proposal_is_reported(
    call_tool: CallTool, dispatcher: ToolDispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_client = make_client(dispatcher)

    def close() -> None:
        [closed_proposal] = check_success(other_client("view_proposal"))["proposals"]
        check_success(other_client("update_proposal", proposal=closed_proposal["proposal"], action="close"))

    run_after_call(monkeypatch, ProposalActions, "propose", close)
    call = {**WRITE, "file": "specs/limits.md", "slug": "rate", "idempotency_key": "K"}
    first_result = check_success(call_tool("edit_document", **call))
    retry = check_success(call_tool("edit_document", **call))
    assert (retry["proposal"], retry["commit"]) == (first_result["proposal"], first_result["commit"])
    assert (retry["repeated"], "repeated" in first_result) == (True, False)
