"""address_comments: the edit and the answers of one call, on branches, proposals and protected paths."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.comments.conftest import comment, list_open, make_dispatcher
from tests.tools.conftest import CallTool, make_client
from workspace.errors import WorkspaceError
from workspace.proposals.actions.document_discussion import AppendedComments, DocumentDiscussion

EDIT = {
    "operation": "replace_text",
    "file": "api.md",
    "slug": "endpoints",
    "old": "/v1",
    "new": "/v2",
}


def count_commits(repo: Repo, branch: str = "main") -> int:
    return int(repo.git("rev-list", "--count", branch))


def test_edit_and_answers_are_one_commit_each(call_tool: CallTool, repo: Repo) -> None:
    ids = [comment(call_tool, text) for text in ("One", "Two")]
    list_open(call_tool)  # the client has read the section
    counts = count_commits(repo), count_commits(repo, "docyard/discussion")
    answer = call_tool(
        "address_comments",
        operations=[EDIT, {"operation": "add_task", "file": "api.md", "slug": "tasks", "title": "Check"}],
        answers=[{"comment": ids[0], "text": "Done.", "resolve": True}, {"comment": ids[1], "text": "Why?"}],
        message="Use the second version",
    )
    assert not answer.is_error, answer.data
    assert [entry["success"] for entry in answer.data["batch_results"]] == [True, True]
    first, second = answer.data["answers"]
    assert (first["comment"], first["resolved"], set(second)) == (ids[0], True, {"comment", "reply"})
    assert answer.data["commit"] == repo.head()
    assert (count_commits(repo), count_commits(repo, "docyard/discussion")) == (counts[0] + 1, counts[1] + 1)
    assert "Docyard-Tool: address_comments" in repo.git("log", "-1", "--format=%B")
    [entry] = list_open(call_tool)
    assert (entry["comment"], entry["replies"][0]["comment"]) == (ids[1], second["reply"])
    assert "/v2" in entry["section"]["text"]
    assert repo.status() == repo.fsck() == ""


def test_failed_operation_writes_neither_edit_nor_answers(call_tool: CallTool, repo: Repo) -> None:
    id = comment(call_tool)
    state = repo.git("for-each-ref")
    answer = call_tool(
        "address_comments",
        operations=[EDIT, {**EDIT, "old": "nowhere"}],
        answers=[{"comment": id, "resolve": True}],
    )
    assert answer.is_error
    assert answer.data["answers"] == []
    assert answer.data["batch_results"][1]["usage"]["operation"] == "replace_text"
    assert repo.git("for-each-ref") == state


def test_retry_with_the_key_does_neither_twice(call_tool: CallTool, repo: Repo) -> None:
    id = comment(call_tool)
    call: dict[str, Any] = {
        "operations": [EDIT],
        "answers": [{"comment": id, "text": "Done.", "resolve": True}],
        "idempotency_key": "key",
    }
    list_open(call_tool)
    answer = call_tool("address_comments", **call)
    state = repo.git("for-each-ref")
    for client in (call_tool, make_client(make_dispatcher(repo))):
        retry = client("address_comments", **call)
        assert not retry.is_error, retry.data
        assert (retry.data["repeated"], retry.data["answers"]) == (True, answer.data["answers"])
    assert repo.git("for-each-ref") == state
    other = call_tool("address_comments", **{**call, "answers": [{"comment": id, "text": "Other"}]})
    assert other.data["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert repo.git("for-each-ref") == state


def test_failure_between_edit_and_answers_is_reported_and_completed_by_the_retry(
    call_tool: CallTool, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = comment(call_tool)
    list_open(call_tool)
    call: dict[str, Any] = {
        "operations": [EDIT],
        "answers": [{"comment": id, "text": "Done.", "resolve": True}],
        "idempotency_key": "key",
    }

    def fail(*_: object, dry_run: bool, **__: object) -> AppendedComments:
        if dry_run:
            return AppendedComments()
        raise WorkspaceError("the disk is full", fix="Free some space.")

    with monkeypatch.context() as patch:
        patch.setattr(DocumentDiscussion, "answer", fail)
        answer = call_tool("address_comments", **call)
    assert not answer.is_error
    assert (answer.data["commit"], answer.data["answers"]) == (repo.head(), [])
    assert "the comments are not answered: the disk is full" in answer.data["hints"][0]
    assert "Write only the answers" in answer.data["next_step"]
    assert len(list_open(call_tool)) == 1
    count = count_commits(repo)
    retry = call_tool("address_comments", **call)
    assert not retry.is_error, retry.data
    assert list_open(call_tool) == []
    assert count_commits(repo) == count
    assert (
        call_tool("address_comments", answers=call["answers"], idempotency_key="key").data["changed"] is False
    )


def test_comments_of_a_proposal_are_addressed_in_the_proposal(call_tool: CallTool, repo: Repo) -> None:
    proposal = call_tool("create_proposal", title="One", description="Why").data["proposal"]
    call_tool("edit_document", operation="add_section", file="api.md", title="New", proposal=proposal)
    id = call_tool(
        "update_proposal", proposal=proposal, action="comment", file="api.md", slug="endpoints", text="v2?"
    ).data["comment"]
    document_id = comment(call_tool)
    head = repo.head()
    list_open(call_tool)
    answer = call_tool(
        "address_comments", operations=[EDIT], answers=[{"comment": id, "resolve": True}], proposal=proposal
    )
    assert (answer.is_error, answer.data.get("proposal"), repo.head()) == (False, proposal, head), answer.data
    assert "/v2" in repo.git("show", f"proposals/{proposal}-one:api.md")
    assert [entry["comment"] for entry in list_open(call_tool)] == [document_id]
    view = call_tool("view_proposal", proposal=proposal).data
    assert view["comments"][0]["resolved"]["author"]["client"] == "tester"
    assert "resolved by" in view["rendered"]
    apart = call_tool(
        "address_comments", answers=[{"comment": id, "resolve": False}, {"comment": document_id, "text": "x"}]
    )
    assert apart.data["code"] == "COMMENTS_APART"
    # A comment on a document is answered while its text is edited in a proposal.
    answer = call_tool(
        "address_comments",
        operations=[{**EDIT, "old": "/v2", "new": "/v3"}],
        answers=[{"comment": document_id, "text": "In the proposal."}],
        proposal=proposal,
    )
    assert not answer.is_error, answer.data
    assert list_open(call_tool)[0]["replies"][0]["text"] == "In the proposal."


def test_edit_of_a_protected_path_becomes_a_proposal(call_tool: CallTool, repo: Repo) -> None:
    repo.commit({"docyard.toml": '[[protect]]\npaths = ["api.md"]\napprovals = 1\n'})
    id = comment(call_tool)
    list_open(call_tool)
    head = repo.head()
    call: dict[str, Any] = {
        "operations": [EDIT],
        "answers": [{"comment": id, "text": "Proposed.", "resolve": False}],
        "idempotency_key": "key",
    }
    answer = call_tool("address_comments", **call)
    assert not answer.is_error, answer.data
    assert answer.data["protected"] == ["api.md"]
    assert repo.head() == head
    state = repo.git("for-each-ref")
    assert call_tool("address_comments", **call).data["proposal"] == answer.data["proposal"]
    assert repo.git("for-each-ref") == state
    assert list_open(call_tool)[0]["replies"][0]["text"] == "Proposed."


def test_dry_run_writes_nothing(call_tool: CallTool, repo: Repo) -> None:
    id = comment(call_tool)
    list_open(call_tool)
    state = repo.git("for-each-ref")
    answers = [{"comment": id, "text": "Done.", "resolve": True}]
    for operations in ({}, {"operations": [EDIT]}):
        answer = call_tool("address_comments", **operations, answers=answers, dry_run=True)
        assert (answer.is_error, answer.data["dry_run"]) == (False, True)
        assert answer.data["answers"] == [{"comment": id, "resolved": True}]
    assert repo.git("for-each-ref") == state


def test_reopened_thread_is_listed_again(call_tool: CallTool) -> None:
    id = comment(call_tool)
    assert call_tool("address_comments", answers=[{"comment": id, "resolve": "true"}]).data["changed"]
    assert list_open(call_tool) == []
    assert not call_tool("address_comments", answers=[{"comment": id, "resolve": True}]).data["changed"]
    assert call_tool("address_comments", answers=[{"comment": id, "resolve": False}]).data["changed"]
    assert len(list_open(call_tool)) == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"operations": [EDIT]}, "INVALID_ARGUMENTS"),
        ({"answers": []}, "INVALID_ARGUMENTS"),
        ({"answers": "x"}, "INVALID_ARGUMENTS"),
        ({"answers": ["x"]}, "INVALID_ARGUMENTS"),
        ({"answers": [{"comment": 3}]}, "INVALID_ARGUMENTS"),
        ({"answers": [{"comment": "{id}", "extra": 1}]}, "INVALID_ARGUMENTS"),
        ({"answers": [{"comment": "{id}"}], "operations": [EDIT]}, "INVALID_WORDS"),
        ({"answers": [{"comment": "0" * 16, "text": "x"}], "operations": [EDIT]}, "COMMENT_NOT_FOUND"),
        ({"answers": [{"comment": "{id}", "text": "x"}] * 2, "operations": [EDIT]}, "INVALID_WORDS"),
        ({"answers": [{"comment": "{id}", "text": "x"}] * 200, "operations": [EDIT]}, "INVALID_WORDS"),
        ({"answers": [{"comment": "{id}", "text": "x"}], "operations": []}, "INVALID_ARGUMENTS"),
        ({"answers": [{"comment": "{id}", "text": "x"}], "proposal": "k7m2q9xa"}, "PROPOSAL_NOT_FOUND"),
        ({"answers": [{"comment": "{id}", "text": "x"}], "message": "m"}, "INVALID_ARGUMENTS"),
        (
            {"answers": [{"comment": "{id}", "text": "x"}], "operations": [EDIT], "idempotency_key": "a b"},
            "INVALID_IDEMPOTENCY_KEY",
        ),
    ],
)
def test_invalid_calls_write_nothing(
    call_tool: CallTool, repo: Repo, fields: dict[str, Any], code: str
) -> None:
    id = comment(call_tool)
    state = repo.git("for-each-ref")
    if isinstance(answers := fields.get("answers"), list):
        fields = {
            **fields,
            "answers": [
                {**item, "comment": id if item.get("comment") == "{id}" else item.get("comment")}
                if isinstance(item, dict)
                else item
                for item in answers
            ],
        }
    answer = call_tool("address_comments", **fields)
    assert (answer.is_error, answer.data.get("code")) == (True, code), answer.data
    assert repo.git("for-each-ref") == state


def test_key_of_other_events_is_refused_before_the_edit(call_tool: CallTool, repo: Repo) -> None:
    id = comment(call_tool, idempotency_key="key")
    list_open(call_tool)
    state = repo.git("for-each-ref")
    answer = call_tool(
        "address_comments",
        operations=[EDIT],
        answers=[{"comment": id, "text": "Done."}],
        idempotency_key="key",
    )
    assert (answer.is_error, answer.data["code"]) == (True, "IDEMPOTENCY_KEY_REUSED")
    assert repo.git("for-each-ref") == state
