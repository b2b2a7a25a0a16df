"""The whole discussion can be read: an answer names the call for each text that it cuts or leaves out."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_core import to_json

from docyard.mcp_server.calls import build_result
from tests.tools.conftest import CallTool, parse_next_call
from tests.tools.proposals.conftest import call_next_step, check_success, create_proposal
from tools.tool import Answer
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, IdentitySource, ReviewDecision
from workspace.workspace import Workspace

AGENT_ACTOR = Actor(
    Author("Docyard", "docyard@localhost", IdentitySource.CLIENT, "an agent"), "test", "an agent"
)
LONG_TEXT = "One more line of it.\n" * 1_000 + "THE POINT"
MAX_ANSWER_BYTES = 100_000
"""Bytes of one answer as it is sent: its data, and its text."""


@pytest.fixture
def edited_proposal(call_tool: CallTool, proposal: str) -> str:
    """Return the id of a proposal that changes a document."""
    check_success(call_tool("tag_document", file="api.md", tags=["x"], proposal=proposal))
    return proposal


def add_comment(workspace: Workspace, proposal: str, text: str, **fields: Any) -> str:
    """Add a comment, and return its id."""
    discussion = workspace.proposal_actions().comment(proposal, AGENT_ACTOR, text, **fields).proposal.content
    texts = {
        comment.id: comment.text
        for thread in discussion.threads
        for comment in (thread.comment, *thread.replies)
    }
    return next(id for id, comment_text in texts.items() if comment_text == text.strip())


def make_call(call_tool: CallTool, step: str) -> Answer:
    """Make the call that a step of an answer names, such as its field `rest`; return the answer."""
    return call_next_step(call_tool, Answer({"next_step": step}))


def read_to_end(call_tool: CallTool, answer: Answer, field: str = "comments") -> str:
    """Return a text from the page in `answer` to the end of the text."""
    parts = []
    while True:
        page = answer.data[field]
        parts.append(page if isinstance(page, str) else page[0]["text"])
        if answer.data["next_offset"] is None:
            return "".join(parts)
        answer = call_next_step(call_tool, answer)


def measure_sent_bytes(answer: Answer) -> int:
    """Return the size in bytes of an answer as it is sent to a client."""
    return len(to_json(build_result(answer)))


def test_long_comment_and_reply_are_read_in_parts(
    call_tool: CallTool, workspace: Workspace, edited_proposal: str
) -> None:
    first_id = add_comment(workspace, edited_proposal, LONG_TEXT, file="api.md", slug="tasks")
    add_comment(workspace, edited_proposal, "Answer. " + LONG_TEXT, reply_to=first_id)
    for fields in ({}, {"comments": True}, {"file": "api.md"}):
        answer = call_tool("view_proposal", proposal=edited_proposal, **fields)
        [thread] = check_success(answer)["comments"]
        [reply] = thread["replies"]
        assert "THE POINT" not in thread["text"]
        for entry in (thread, reply):
            rest_answer = make_call(call_tool, entry["rest"])
            assert entry["text"] + read_to_end(call_tool, rest_answer) in (LONG_TEXT, "Answer. " + LONG_TEXT)
            if "rendered" in answer.data:
                assert entry["rest"] in answer.data["rendered"]
    rest_answer = call_tool("view_proposal", proposal=edited_proposal, comment=first_id)
    assert read_to_end(call_tool, rest_answer) == LONG_TEXT
    assert rest_answer.data["comments"][0]["now"] == "here"
    last_answer = call_tool(
        "view_proposal", proposal=edited_proposal, comment=reply["comment"], offset=20_000
    )
    assert last_answer.data["comments"][0]["reply_to"] == first_id
    assert parse_next_call(last_answer)[1]["reply_to"] == reply["comment"]


def test_replies_to_comment_are_paged(
    call_tool: CallTool, workspace: Workspace, edited_proposal: str
) -> None:
    first_id = add_comment(workspace, edited_proposal, "First.")
    replies = [f"Answer {number}." for number in range(13)]
    for text in replies:
        add_comment(workspace, edited_proposal, text, reply_to=first_id)
    answer = call_tool("view_proposal", proposal=edited_proposal)
    [thread] = answer.data["comments"]
    assert (len(thread["replies"]), thread["more_replies"]) == (10, 3)
    assert thread["replies_rest"] in answer.data["rendered"]
    assert [
        reply["text"] for reply in make_call(call_tool, thread["replies_rest"]).data["comments"][0]["replies"]
    ] == replies
    page = call_tool("view_proposal", proposal=edited_proposal, comment=first_id, limit=5)
    texts = []
    while True:
        [thread] = page.data["comments"]
        texts += [reply["text"] for reply in thread["replies"]]
        assert thread["replies_total"] == len(replies)
        if page.data["next_cursor"] is None:
            break
        page = call_next_step(call_tool, page)
    assert texts == replies


def test_long_description_is_read_in_parts(call_tool: CallTool) -> None:
    proposal = check_success(call_tool("create_proposal", title="Long", description=LONG_TEXT))["proposal"]
    answer = call_tool("view_proposal", proposal=proposal)
    assert answer.data["description_rest"] in answer.data["rendered"]
    rest_answer = make_call(call_tool, answer.data["description_rest"])
    assert answer.data["description"] + read_to_end(call_tool, rest_answer, "description") == LONG_TEXT


def test_all_reviews_are_read_in_parts(
    call_tool: CallTool, workspace: Workspace, edited_proposal: str
) -> None:
    texts = [f"Review {number}." for number in range(23)] + [LONG_TEXT]
    for text in texts:
        workspace.proposal_actions().review(edited_proposal, AGENT_ACTOR, ReviewDecision.COMMENT, text)
    answer = call_tool("view_proposal", proposal=edited_proposal)
    assert check_success(answer)["reviews"][-1]["text"].startswith("One more line")
    assert answer.data["reviews_total"] == len(texts)
    assert answer.data["reviews_rest"] in answer.data["rendered"]
    assert len(make_call(call_tool, answer.data["reviews_rest"]).data["reviews"]) == 20
    page = call_tool("view_proposal", proposal=edited_proposal, reviews=True, limit=10)
    reviews = list(page.data["reviews"])
    while page.data["next_cursor"] is not None:
        page = call_next_step(call_tool, page)
        reviews += page.data["reviews"]
    assert [review["text"] for review in reviews[:-1]] == texts[:-1]
    last_review = reviews[-1]
    assert (
        last_review["text"] + read_to_end(call_tool, make_call(call_tool, last_review["rest"]), "reviews")
        == LONG_TEXT
    )
    assert (
        read_to_end(
            call_tool,
            call_tool("view_proposal", proposal=edited_proposal, comment=last_review["review"]),
            "reviews",
        )
        == LONG_TEXT
    )


def test_comments_of_document_continue_after_page_end(
    call_tool: CallTool, workspace: Workspace, edited_proposal: str
) -> None:
    texts = [f"Remark {number}." for number in range(4)]
    for text in texts:
        add_comment(workspace, edited_proposal, text, file="api.md", slug="tasks")
        add_comment(workspace, edited_proposal, f"Elsewhere: {text}", file="notes/plain.md")
    answer = call_tool("view_proposal", proposal=edited_proposal, file="api.md", limit=3)
    rest_answer = make_call(call_tool, answer.data["comments_rest"])
    assert [item["text"] for item in (*answer.data["comments"], *rest_answer.data["comments"])] == texts
    assert answer.data["comments_rest"] in answer.data["rendered"]


@pytest.mark.slow
def test_answer_is_bounded_and_pages_return_all_comments(call_tool: CallTool, workspace: Workspace) -> None:
    text = "Wörter, und mehr Wörter. " * 200
    proposal = check_success(call_tool("create_proposal", title="Much", description=text * 5))["proposal"]
    edit = {"operation": "append_content", "file": "api.md", "slug": "tasks", "content": "More."}
    check_success(call_tool("edit_document", **edit, proposal=proposal))
    thread_ids = []
    for number in range(6):
        first_id = add_comment(workspace, proposal, f"{number} {text}", file="api.md", slug="tasks")
        thread_ids.append(first_id)
        for reply in range(11):
            add_comment(workspace, proposal, f"{number}.{reply} {text}", reply_to=first_id)
        workspace.proposal_actions().review(proposal, AGENT_ACTOR, ReviewDecision.COMMENT, text)
    for fields in ({}, {"file": "api.md"}, {"reviews": True}, {"comment": thread_ids[0], "limit": 100}):
        answer = call_tool("view_proposal", proposal=proposal, **fields)
        assert not answer.is_error, answer.data
        assert measure_sent_bytes(answer) < MAX_ANSWER_BYTES, fields
    page = call_tool("view_proposal", proposal=proposal, comments=True, limit=100)
    comment_ids = []
    while True:
        assert measure_sent_bytes(page) < MAX_ANSWER_BYTES
        comment_ids += [comment["comment"] for comment in page.data["comments"]]
        if page.data["next_cursor"] is None:
            break
        page = call_next_step(call_tool, page)
    assert comment_ids == thread_ids


def test_unknown_comment_returns_nearest_ids(
    call_tool: CallTool, workspace: Workspace, edited_proposal: str
) -> None:
    refusal = call_tool("view_proposal", proposal=edited_proposal, comment="0")
    assert refusal.data["code"] == "COMMENT_NOT_FOUND"
    assert not call_tool("view_proposal", **refusal.data["example"]).is_error
    first_id = add_comment(workspace, edited_proposal, "First.")
    refusal = call_tool("view_proposal", proposal=edited_proposal, comment=first_id[:-1])
    assert refusal.data["example"] == {"proposal": edited_proposal, "comment": first_id}
    assert not call_tool("view_proposal", **refusal.data["example"]).is_error
    other_proposal = create_proposal(call_tool, "Other")
    assert (
        call_tool("view_proposal", proposal=other_proposal, comment=first_id).data["code"]
        == "COMMENT_NOT_FOUND"
    )
    assert call_tool("view_proposal", comment=first_id).data["field"] == "proposal"
