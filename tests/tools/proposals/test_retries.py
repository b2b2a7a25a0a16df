"""Retries with a key after their proposal has ended, or its branch or text was deleted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import CallTool
from tests.tools.proposals.conftest import call_next_step, check_success

WRITE = {"operation": "append_content", "file": "api.md", "slug": "endpoints", "content": "More."}
SPEC = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
CREATE_FIELDS = {"title": "Rate limits", "description": "Because."}


def list_refs(repo: Repo) -> str:
    return repo.git("for-each-ref")


@pytest.mark.parametrize("ending_action", ["merge", "close"])
@pytest.mark.parametrize("has_branch", [True, False], ids=["branch", "deleted branch"])
def test_retry_of_write_to_ended_proposal_returns_first_answer(
    call_tool: CallTool, repo: Repo, proposal: str, ending_action: str, has_branch: bool
) -> None:
    call = {**WRITE, "proposal": proposal, "idempotency_key": "K"}
    first_result = check_success(call_tool("edit_document", **call))
    check_success(call_tool("update_proposal", proposal=proposal, action=ending_action))
    if not has_branch:
        repo.git("branch", "-q", "-D", f"proposals/{proposal}-rate-limits")
    refs_before = list_refs(repo)
    answer = call_tool("edit_document", **call)
    if ending_action == "close" and not has_branch:  # no record of the write remains
        assert answer.data["code"] == "PROPOSAL_ENDED"
        return
    retry = check_success(answer)
    assert (retry["repeated"], retry["commit"], retry["proposal"]) == (True, first_result["commit"], proposal)
    assert "specs" not in retry["next_step"]
    assert (
        call_next_step(call_tool, answer).data["state"]
        == {"merge": "merged", "close": "closed"}[ending_action]
    )
    for changed_fields in ({"idempotency_key": "L"}, {"dry_run": True}):
        assert call_tool("edit_document", **{**call, **changed_fields}).data["code"] == "PROPOSAL_ENDED"
    assert call_tool("edit_document", **{**call, "content": "X."}).data["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert list_refs(repo) == refs_before


def test_retry_of_batch_to_merged_proposal_returns_first_answer(call_tool: CallTool, proposal: str) -> None:
    operations = [WRITE, {**WRITE, "slug": "nowhere"}]
    call = {"operations": operations, "mode": "each", "proposal": proposal, "idempotency_key": "K"}
    first_result = check_success(call_tool("edit_document", **call))
    check_success(call_tool("update_proposal", proposal=proposal, action="merge"))
    retry = call_tool("edit_document", **call)
    assert [result["success"] for result in check_success(retry)["batch_results"]] == [True, False]
    assert retry.data["commit"] == first_result["commit"]
    call_next_step(call_tool, retry)


def test_retry_of_comment_succeeds_after_text_changed(call_tool: CallTool, repo: Repo, proposal: str) -> None:
    check_success(call_tool("edit_document", **WRITE, proposal=proposal))
    location = {"file": "./api.md#endpoints", "quote": "More."}
    comment_fields: dict[str, Any] = {
        "proposal": proposal,
        "action": "comment",
        "text": "How much?",
        **location,
    }
    first_result = check_success(call_tool("update_proposal", **comment_fields, idempotency_key="K"))
    call_tool("view_document", file="api.md", slug="_preamble", include_subsections=True, ref=proposal)
    check_success(call_tool("remove_document", path="api.md", proposal=proposal))
    retry = check_success(call_tool("update_proposal", **comment_fields, idempotency_key="K"))
    assert (retry["changed"], retry["comment"]) == (False, first_result["comment"])
    for changed_fields in (
        {"text": "Why?"},
        {"quote": "Finds"},
        {"file": "notes/plain.md"},
        {"reply_to": first_result["comment"]},
        {"file": None, "quote": None},
    ):
        refusal = call_tool("update_proposal", **{**comment_fields, **changed_fields}, idempotency_key="K")
        assert refusal.data["code"] == "IDEMPOTENCY_KEY_REUSED", changed_fields
    assert check_success(
        call_tool("update_proposal", proposal=proposal, action="close", idempotency_key="L")
    )["changed"]
    branch = f"proposals/{proposal}-rate-limits"
    repo.git("branch", "-q", "-D", branch)
    assert (
        check_success(call_tool("update_proposal", **comment_fields, idempotency_key="K"))["comment"]
        == first_result["comment"]
    )
    assert (
        call_tool("update_proposal", **comment_fields, idempotency_key="M").data["code"] == "PROPOSAL_ENDED"
    )


def test_retry_does_not_reopen_ended_proposal(call_tool: CallTool, repo: Repo) -> None:
    first_result = check_success(call_tool("create_proposal", **CREATE_FIELDS, idempotency_key="K"))
    check_success(call_tool("update_proposal", proposal=first_result["proposal"], action="close"))
    retry = call_tool("create_proposal", **CREATE_FIELDS, idempotency_key="K")
    assert (check_success(retry)["proposal"], retry.data["state"]) == (first_result["proposal"], "closed")
    assert call_next_step(call_tool, retry).data["state"] == "closed"
    repo.git("branch", "-q", "-D", first_result["branch"])
    assert (
        check_success(call_tool("create_proposal", **CREATE_FIELDS, idempotency_key="K"))["commit"]
        == repo.head()
    )


def test_answers_have_commit_after_branch_deletion(call_tool: CallTool, repo: Repo) -> None:
    first_result = check_success(call_tool("create_proposal", **CREATE_FIELDS, idempotency_key="K"))
    repo.git("branch", "-q", "-D", first_result["branch"])
    fields: dict[str, Any] = {"proposal": first_result["proposal"]}
    retry = call_tool("create_proposal", **CREATE_FIELDS, idempotency_key="K")
    assert call_next_step(call_tool, retry).data["state"] == "gone"
    refusal = call_tool(
        "update_proposal", **fields, action="refresh", resolutions=[{"file": "a.md", "choice": "ours"}]
    )
    assert refusal.data["commit"] == repo.head()
    for answer in (
        retry,
        call_tool("update_proposal", **fields),
        call_tool("update_proposal", **fields, action="comment", text="Where?"),
        call_tool("update_proposal", **fields, action="edit", title="Gone"),
        call_tool("update_proposal", **fields, action="close"),
    ):
        assert check_success(answer)["commit"] == repo.head()


def test_merged_proposal_without_branch_is_read_at_merge_commit(
    call_tool: CallTool, repo: Repo, proposal: str
) -> None:
    check_success(call_tool("edit_document", **WRITE, proposal=proposal))
    merge_commit = check_success(call_tool("update_proposal", proposal=proposal, action="merge"))["commit"]
    repo.git("branch", "-q", "-D", f"proposals/{proposal}-rate-limits")
    repo.commit({"notes/plain.md": "# Plain\n\nLater.\n"})
    assert (
        check_success(call_tool("update_proposal", proposal=proposal))["commit"]
        == merge_commit
        != repo.head()
    )


def test_key_of_direct_write_opens_no_proposal(call_tool: CallTool, repo: Repo) -> None:
    first_result = check_success(call_tool("edit_document", **WRITE, idempotency_key="K"))
    refs_before = list_refs(repo)
    refusal = call_tool("create_proposal", **CREATE_FIELDS, idempotency_key="K")
    assert (refusal.data["code"], refusal.data["used_in"]) == (
        "IDEMPOTENCY_KEY_REUSED",
        first_result["commit"],
    )
    assert list_refs(repo) == refs_before
    retry = check_success(call_tool("edit_document", **WRITE, idempotency_key="K"))
    assert (retry["repeated"], retry["commit"]) == (True, first_result["commit"])
    assert "proposal" not in retry


def test_key_of_proposal_in_another_clone_preserves_direct_write(call_tool: CallTool, repo: Repo) -> None:
    proposal = check_success(call_tool("create_proposal", **CREATE_FIELDS, idempotency_key="K"))
    discussion_commit = repo.git("rev-parse", "docyard/discussion").strip()
    for branch in ("docyard/discussion", proposal["branch"]):
        repo.git("branch", "-q", "-D", branch)
    first_result = check_success(call_tool("edit_document", **WRITE, idempotency_key="K"))
    repo.git("branch", "docyard/discussion", discussion_commit)
    repo.git("branch", proposal["branch"])
    retry = check_success(call_tool("edit_document", **WRITE, idempotency_key="K"))
    assert (retry["repeated"], retry["commit"]) == (True, first_result["commit"])
    assert "proposal" not in retry


def test_retry_of_redirected_write_with_deleted_branch_is_reported(call_tool: CallTool, repo: Repo) -> None:
    first_result = check_success(call_tool("edit_document", **SPEC, idempotency_key="K"))
    repo.git("branch", "-q", "-D", first_result["branch"])
    for _ in range(2):  # before and after the proposal is closed
        refusal = call_tool("edit_document", **SPEC, idempotency_key="K")
        assert (refusal.data["code"], refusal.data["state"]) == ("PROPOSAL_ENDED", "gone")
        assert refusal.data["proposal"] == first_result["proposal"]
        check_success(call_tool("update_proposal", proposal=first_result["proposal"], action="close"))
    repo.git("branch", first_result["branch"], first_result["commit"])
    assert (
        check_success(call_tool("edit_document", **SPEC, idempotency_key="K"))["commit"]
        == first_result["commit"]
    )
