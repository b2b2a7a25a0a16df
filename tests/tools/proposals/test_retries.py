"""Calls with a key that are sent again when their proposal has ended, or its branch or its text is gone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.conftest import Ask
from tests.tools.proposals.conftest import done, followed

WRITE = {"operation": "append_content", "file": "api.md", "slug": "endpoints", "content": "More."}
SPEC = {"operation": "append_content", "file": "specs/limits.md", "slug": "rate", "content": "Or less."}
OPEN = {"title": "Rate limits", "description": "Because."}


def refs(repo: Repo) -> str:
    return repo.git("for-each-ref")


@pytest.mark.parametrize("end", ["merge", "close"])
@pytest.mark.parametrize("keeps_branch", [True, False], ids=["branch", "gone"])
def test_a_write_to_a_proposal_that_has_ended_is_answered_as_the_first_time(
    ask: Ask, repo: Repo, proposal: str, end: str, keeps_branch: bool
) -> None:
    call = {**WRITE, "proposal": proposal, "idempotency_key": "K"}
    first = done(ask("edit_document", **call))
    done(ask("update_proposal", proposal=proposal, action=end))
    if not keeps_branch:
        repo.git("branch", "-q", "-D", f"proposals/{proposal}-rate-limits")
    before = refs(repo)
    answer = ask("edit_document", **call)
    if end == "close" and not keeps_branch:  # nothing tells of it any more
        assert answer.data["code"] == "PROPOSAL_ENDED"
        return
    again = done(answer)
    assert (again["repeated"], again["commit"], again["proposal"]) == (True, first["commit"], proposal)
    assert "specs" not in again["next_step"]
    assert followed(ask, answer).data["state"] == {"merge": "merged", "close": "closed"}[end]
    for other in ({"idempotency_key": "L"}, {"dry_run": True}):
        assert ask("edit_document", **{**call, **other}).data["code"] == "PROPOSAL_ENDED"
    assert ask("edit_document", **{**call, "content": "X."}).data["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert refs(repo) == before


def test_a_batch_to_a_proposal_that_was_merged_is_told_again(ask: Ask, proposal: str) -> None:
    items = [WRITE, {**WRITE, "slug": "nowhere"}]
    call = {"operations": items, "mode": "each", "proposal": proposal, "idempotency_key": "K"}
    first = done(ask("edit_document", **call))
    done(ask("update_proposal", proposal=proposal, action="merge"))
    again = ask("edit_document", **call)
    assert [one["success"] for one in done(again)["batch_results"]] == [True, False]
    assert again.data["commit"] == first["commit"]
    followed(ask, again)


def test_a_comment_is_found_again_when_its_text_has_changed(ask: Ask, repo: Repo, proposal: str) -> None:
    done(ask("edit_document", **WRITE, proposal=proposal))
    place = {"file": "./api.md#endpoints", "quote": "More."}
    remark: dict[str, Any] = {"proposal": proposal, "action": "comment", "text": "How much?", **place}
    first = done(ask("update_proposal", **remark, idempotency_key="K"))
    ask("view_document", file="api.md", slug="_preamble", include_subsections=True, ref=proposal)
    done(ask("remove_document", path="api.md", proposal=proposal))
    again = done(ask("update_proposal", **remark, idempotency_key="K"))
    assert (again["changed"], again["comment"]) == (False, first["comment"])
    for other in (
        {"text": "Why?"},
        {"quote": "Finds"},
        {"file": "notes/plain.md"},
        {"reply_to": first["comment"]},
        {"file": None, "quote": None},
    ):
        refused = ask("update_proposal", **{**remark, **other}, idempotency_key="K")
        assert refused.data["code"] == "IDEMPOTENCY_KEY_REUSED", other
    assert done(ask("update_proposal", proposal=proposal, action="close", idempotency_key="L"))["changed"]
    branch = f"proposals/{proposal}-rate-limits"
    repo.git("branch", "-q", "-D", branch)
    assert done(ask("update_proposal", **remark, idempotency_key="K"))["comment"] == first["comment"]
    assert ask("update_proposal", **remark, idempotency_key="M").data["code"] == "PROPOSAL_ENDED"


def test_a_proposal_that_has_ended_is_opened_again_by_no_retry(ask: Ask, repo: Repo) -> None:
    first = done(ask("create_proposal", **OPEN, idempotency_key="K"))
    done(ask("update_proposal", proposal=first["proposal"], action="close"))
    again = ask("create_proposal", **OPEN, idempotency_key="K")
    assert (done(again)["proposal"], again.data["state"]) == (first["proposal"], "closed")
    assert followed(ask, again).data["state"] == "closed"
    repo.git("branch", "-q", "-D", first["branch"])
    assert done(ask("create_proposal", **OPEN, idempotency_key="K"))["commit"] == repo.head()


def test_every_answer_says_a_commit_when_the_branch_is_gone(ask: Ask, repo: Repo) -> None:
    first = done(ask("create_proposal", **OPEN, idempotency_key="K"))
    repo.git("branch", "-q", "-D", first["branch"])
    asked: dict[str, Any] = {"proposal": first["proposal"]}
    again = ask("create_proposal", **OPEN, idempotency_key="K")
    assert followed(ask, again).data["state"] == "gone"
    lost = ask("update_proposal", **asked, action="refresh", resolutions=[{"file": "a.md", "choice": "ours"}])
    assert lost.data["commit"] == repo.head()
    for answer in (
        again,
        ask("update_proposal", **asked),
        ask("update_proposal", **asked, action="comment", text="Where?"),
        ask("update_proposal", **asked, action="edit", title="Gone"),
        ask("update_proposal", **asked, action="close"),
    ):
        assert done(answer)["commit"] == repo.head()


def test_without_its_branch_a_merged_proposal_is_at_its_merge(ask: Ask, repo: Repo, proposal: str) -> None:
    done(ask("edit_document", **WRITE, proposal=proposal))
    merged = done(ask("update_proposal", proposal=proposal, action="merge"))["commit"]
    repo.git("branch", "-q", "-D", f"proposals/{proposal}-rate-limits")
    repo.commit({"notes/plain.md": "# Plain\n\nLater.\n"})
    assert done(ask("update_proposal", proposal=proposal))["commit"] == merged != repo.head()


def test_the_key_of_a_direct_write_opens_no_proposal(ask: Ask, repo: Repo) -> None:
    first = done(ask("edit_document", **WRITE, idempotency_key="K"))
    before = refs(repo)
    refused = ask("create_proposal", **OPEN, idempotency_key="K")
    assert (refused.data["code"], refused.data["used_in"]) == ("IDEMPOTENCY_KEY_REUSED", first["commit"])
    assert refs(repo) == before
    again = done(ask("edit_document", **WRITE, idempotency_key="K"))
    assert (again["repeated"], again["commit"]) == (True, first["commit"])
    assert "proposal" not in again


def test_a_key_that_another_clone_opened_a_proposal_with_leaves_the_direct_write_as_it_was(
    ask: Ask, repo: Repo
) -> None:
    opened = done(ask("create_proposal", **OPEN, idempotency_key="K"))
    discussion = repo.git("rev-parse", "docyard/discussion").strip()
    for branch in ("docyard/discussion", opened["branch"]):
        repo.git("branch", "-q", "-D", branch)
    first = done(ask("edit_document", **WRITE, idempotency_key="K"))
    repo.git("branch", "docyard/discussion", discussion)
    repo.git("branch", opened["branch"])
    again = done(ask("edit_document", **WRITE, idempotency_key="K"))
    assert (again["repeated"], again["commit"]) == (True, first["commit"])
    assert "proposal" not in again


def test_a_direct_write_whose_proposal_has_no_branch_any_more_says_so(ask: Ask, repo: Repo) -> None:
    first = done(ask("edit_document", **SPEC, idempotency_key="K"))
    repo.git("branch", "-q", "-D", first["branch"])
    for _ in ("open", "closed"):
        lost = ask("edit_document", **SPEC, idempotency_key="K")
        assert (lost.data["code"], lost.data["state"]) == ("PROPOSAL_ENDED", "gone")
        assert lost.data["proposal"] == first["proposal"]
        done(ask("update_proposal", proposal=first["proposal"], action="close"))
    repo.git("branch", first["branch"], first["commit"])
    assert done(ask("edit_document", **SPEC, idempotency_key="K"))["commit"] == first["commit"]
