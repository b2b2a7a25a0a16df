"""comment_document: comments and replies, retries, and refused calls."""

from __future__ import annotations

from typing import Any

import pytest

from tests.repositories import Repo
from tests.tools.comments.conftest import comment, list_open
from tests.tools.conftest import CallTool, parse_next_call


def test_comment_and_reply_are_listed(call_tool: CallTool, repo: Repo) -> None:
    answer = call_tool("comment_document", file="api.md#endpoints", text="Which **version**?")
    assert (answer.data["changed"], answer.data["commit"]) == (True, repo.head())
    reply = call_tool("comment_document", reply_to=answer.data["comment"], text="The second.")
    tool, arguments = parse_next_call(reply)
    [entry] = call_tool(tool, **arguments).data["comments"]
    assert [item["text"] for item in entry["replies"]] == ["The second."]
    assert entry["replies"][0]["comment"] == reply.data["comment"]
    assert repo.status() == repo.fsck() == ""


@pytest.mark.parametrize("is_reply", [False, True])
def test_retry_with_the_key_comments_once(call_tool: CallTool, is_reply: bool) -> None:
    fields = {"reply_to": comment(call_tool)} if is_reply else {"file": "api.md", "slug": "tasks"}
    answers = [
        call_tool("comment_document", **fields, text="Once", idempotency_key="key").data for _ in range(2)
    ]
    assert [answer["changed"] for answer in answers] == [True, False]
    assert answers[0]["comment"] == answers[1]["comment"]
    other = call_tool("comment_document", **fields, text="Twice", idempotency_key="key")
    assert other.data["code"] == "IDEMPOTENCY_KEY_REUSED"
    assert str(list_open(call_tool)).count("'Once'") == 1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"text": "No file"}, "INVALID_ARGUMENTS"),
        ({"file": "api.md"}, "INVALID_WORDS"),
        ({"file": "api.md", "text": "\x00"}, "INVALID_WORDS"),
        ({"file": "api.md", "text": "x" * 70_000}, "INVALID_WORDS"),
        ({"file": "apy.md", "text": "x"}, "DOCUMENT_NOT_FOUND"),
        ({"file": "../../etc/passwd", "text": "x"}, "DOCUMENT_NOT_FOUND"),
        ({"file": "api.md", "slug": "endpoint", "text": "x"}, "SECTION_NOT_FOUND"),
        ({"file": "api.md", "slug": "endpoints", "quote": "not there", "text": "x"}, "INVALID_WORDS"),
        ({"reply_to": "0" * 16, "text": "x"}, "COMMENT_NOT_FOUND"),
        ({"reply_to": "0" * 16, "file": "api.md", "text": "x"}, "INVALID_ARGUMENTS"),
        ({"file": "api.md", "text": "x", "idempotency_key": "two words"}, "INVALID_IDEMPOTENCY_KEY"),
    ],
)
def test_invalid_calls_write_nothing(
    call_tool: CallTool, repo: Repo, fields: dict[str, Any], code: str
) -> None:
    comment(call_tool)
    tip = repo.git("rev-parse", "docyard/discussion")
    answer = call_tool("comment_document", **fields)
    assert (answer.is_error, answer.data["code"]) == (True, code)
    assert repo.git("rev-parse", "docyard/discussion") == tip
