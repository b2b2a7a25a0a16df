"""Retries with a key after their proposal has ended, or its branch or text was deleted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tests.tools.proposals.conftest import check_success, follow_next_step

WRITE = {"operation": "append_content", "file": "api.md", "slug": "endpoints", "content": "More."}
SPEC = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
OPEN = {"title": "Rate limits", "description": "Because."}


def refs(repo: Repo) -> str:
    return repo.git("for-each-ref")


@pytest.mark.parametrize("end", ["merge", "close"])
@pytest.mark.parametrize("has_branch", [True, False], ids=["branch", "gone"])
def test_retry_of_write_to_ended_proposal_returns_first_answer(
    call_tool: CallTool, repo: Repo, proposal: str, end: str, has_branch: bool
) -> None:
    call = {**WRITE, "proposal": proposal, "idempotency_key": "K"}
    first = check_success(call_tool("edit_document", **call))
    check_success(call_tool("update_proposal", proposal=proposal, action=end))
    if not has_branch:
        repo.git("branch", "-q", "-D", f"proposals/{proposal}-rate-limits")
    before = refs(repo)
    answer = call_tool("edit_document", **call)
    if end == "close" and not has_branch:  # no record of the call remains
        assert answer.data["code"] == "PROPOSAL_ENDED"
        return
    again = check_success(answer)
    assert (again["repeated"], again["commit"], again["proposal"]) == (True, first["commit"], proposal)
    assert "specs" not in again["next_step"]
    assert follow_next_step(call_tool, answer).data["state"] == {"merge": "merged", "close": "closed"}[end]
    for other in ({"idempotency_key": "L"}, {"dry_run": True}):
        assert call_tool("edit_document", **{**call, **other}).data["code"] == "PROPOSAL_ENDED"
    assert call_tool("edit_document", **{**call, "content": "X."}).data["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert refs(repo) == before


def test_retry_of_batch_to_merged_proposal_returns_first_answer(call_tool: CallTool, proposal: str) -> None:
    items = [WRITE, {**WRITE, "slug": "nowhere"}]
    call = {"operations": items, "mode": "each", "proposal": proposal, "idempotency_key": "K"}
    first = check_success(call_tool("edit_document", **call))
    check_success(call_tool("update_proposal", proposal=proposal, action="merge"))
    again = call_tool("edit_document", **call)
    assert [batch_result["success"] for batch_result in check_success(again)["batch_results"]] == [
        True,
        False,
    ]
    assert again.data["commit"] == first["commit"]
    follow_next_step(call_tool, again)


def test_retry_of_comment_succeeds_after_text_changed(call_tool: CallTool, repo: Repo, proposal: str) -> None:
    check_success(call_tool("edit_document", **WRITE, proposal=proposal))
    place = {"file": "./api.md#endpoints", "quote": "More."}
    remark: dict[str, Any] = {"proposal": proposal, "action": "comment", "text": "How much?", **place}
    first = check_success(call_tool("update_proposal", **remark, idempotency_key="K"))
    call_tool("view_document", file="api.md", slug="_preamble", include_subsections=True, ref=proposal)
    check_success(call_tool("remove_document", path="api.md", proposal=proposal))
    again = check_success(call_tool("update_proposal", **remark, idempotency_key="K"))
    assert (again["changed"], again["comment"]) == (False, first["comment"])
    for other in (
        {"text": "Why?"},
        {"quote": "Finds"},
        {"file": "notes/plain.md"},
        {"reply_to": first["comment"]},
        {"file": None, "quote": None},
    ):
        refused = call_tool("update_proposal", **{**remark, **other}, idempotency_key="K")
        assert refused.data["code"] == "IDEMPOTENCY_KEY_REUSED", other
    assert check_success(
        call_tool("update_proposal", proposal=proposal, action="close", idempotency_key="L")
    )["changed"]
    branch = f"proposals/{proposal}-rate-limits"
    repo.git("branch", "-q", "-D", branch)
    assert (
        check_success(call_tool("update_proposal", **remark, idempotency_key="K"))["comment"]
        == first["comment"]
    )
    assert call_tool("update_proposal", **remark, idempotency_key="M").data["code"] == "PROPOSAL_ENDED"


def test_retry_does_not_reopen_ended_proposal(call_tool: CallTool, repo: Repo) -> None:
    first = check_success(call_tool("create_proposal", **OPEN, idempotency_key="K"))
    check_success(call_tool("update_proposal", proposal=first["proposal"], action="close"))
    again = call_tool("create_proposal", **OPEN, idempotency_key="K")
    assert (check_success(again)["proposal"], again.data["state"]) == (first["proposal"], "closed")
    assert follow_next_step(call_tool, again).data["state"] == "closed"
    repo.git("branch", "-q", "-D", first["branch"])
    assert check_success(call_tool("create_proposal", **OPEN, idempotency_key="K"))["commit"] == repo.head()


def test_answers_have_commit_after_branch_deletion(call_tool: CallTool, repo: Repo) -> None:
    first = check_success(call_tool("create_proposal", **OPEN, idempotency_key="K"))
    repo.git("branch", "-q", "-D", first["branch"])
    fields: dict[str, Any] = {"proposal": first["proposal"]}
    again = call_tool("create_proposal", **OPEN, idempotency_key="K")
    assert follow_next_step(call_tool, again).data["state"] == "gone"
    lost = call_tool(
        "update_proposal", **fields, action="refresh", resolutions=[{"file": "a.md", "choice": "ours"}]
    )
    assert lost.data["commit"] == repo.head()
    for answer in (
        again,
        call_tool("update_proposal", **fields),
        call_tool("update_proposal", **fields, action="comment", text="Where?"),
        call_tool("update_proposal", **fields, action="edit", title="Gone"),
        call_tool("update_proposal", **fields, action="close"),
    ):
        assert check_success(answer)["commit"] == repo.head()


def test_merged_proposal_without_branch_is_at_its_merge(
    call_tool: CallTool, repo: Repo, proposal: str
) -> None:
    check_success(call_tool("edit_document", **WRITE, proposal=proposal))
    merged = check_success(call_tool("update_proposal", proposal=proposal, action="merge"))["commit"]
    repo.git("branch", "-q", "-D", f"proposals/{proposal}-rate-limits")
    repo.commit({"notes/plain.md": "# Plain\n\nLater.\n"})
    assert check_success(call_tool("update_proposal", proposal=proposal))["commit"] == merged != repo.head()


def test_key_of_direct_write_opens_no_proposal(call_tool: CallTool, repo: Repo) -> None:
    first = check_success(call_tool("edit_document", **WRITE, idempotency_key="K"))
    before = refs(repo)
    refused = call_tool("create_proposal", **OPEN, idempotency_key="K")
    assert (refused.data["code"], refused.data["used_in"]) == ("IDEMPOTENCY_KEY_REUSED", first["commit"])
    assert refs(repo) == before
    again = check_success(call_tool("edit_document", **WRITE, idempotency_key="K"))
    assert (again["repeated"], again["commit"]) == (True, first["commit"])
    assert "proposal" not in again


def test_key_of_proposal_in_another_clone_preserves_direct_write(call_tool: CallTool, repo: Repo) -> None:
    opened = check_success(call_tool("create_proposal", **OPEN, idempotency_key="K"))
    discussion = repo.git("rev-parse", "docyard/discussion").strip()
    for branch in ("docyard/discussion", opened["branch"]):
        repo.git("branch", "-q", "-D", branch)
    first = check_success(call_tool("edit_document", **WRITE, idempotency_key="K"))
    repo.git("branch", "docyard/discussion", discussion)
    repo.git("branch", opened["branch"])
    again = check_success(call_tool("edit_document", **WRITE, idempotency_key="K"))
    assert (again["repeated"], again["commit"]) == (True, first["commit"])
    assert "proposal" not in again


def test_retry_of_redirected_write_with_deleted_branch_is_reported(call_tool: CallTool, repo: Repo) -> None:
    first = check_success(call_tool("edit_document", **SPEC, idempotency_key="K"))
    repo.git("branch", "-q", "-D", first["branch"])
    for _ in ("open", "closed"):
        lost = call_tool("edit_document", **SPEC, idempotency_key="K")
        assert (lost.data["code"], lost.data["state"]) == ("PROPOSAL_ENDED", "gone")
        assert lost.data["proposal"] == first["proposal"]
        check_success(call_tool("update_proposal", proposal=first["proposal"], action="close"))
    repo.git("branch", first["branch"], first["commit"])
    assert check_success(call_tool("edit_document", **SPEC, idempotency_key="K"))["commit"] == first["commit"]
