"""All that is said of a proposal can be read: what an answer cuts or leaves out, it names the call for."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_core import to_json

from docyard.mcp_server.calls import build_result
from tests.tools.conftest import Ask, next_call
from tests.tools.proposals.conftest import done, followed, opened
from tools.tool import Answer
from workspace.proposals.actions.repository import Actor
from workspace.proposals.events import Author, KnownBy, ReviewDecision
from workspace.workspace import Workspace

AGENT = Actor(Author("Docyard", "docyard@localhost", KnownBy.CLIENT, "an agent"), "test", "an agent")
LONG = "One more line of it.\n" * 1_000 + "THE POINT"
SAID = 100_000
"""Bytes of one answer as it is sent: its data, and its text."""


@pytest.fixture
def edited(ask: Ask, proposal: str) -> str:
    """Return the id of a proposal that changes a document."""
    done(ask("tag_document", file="api.md", tags=["x"], proposal=proposal))
    return proposal


def comment(workspace: Workspace, proposal: str, text: str, **fields: Any) -> str:
    """Says something, and gives its id."""
    words = workspace.proposing().comment(proposal, AGENT, text, **fields).proposal.content
    answers = {one.id: one.text for thread in words.threads for one in (thread.comment, *thread.replies)}
    return next(id for id, said in answers.items() if said == text.strip())


def called(ask: Ask, step: str) -> Answer:
    """Return the answer to a call that stands in an answer."""
    return followed(ask, Answer({"next_step": step}))


def read_whole(ask: Ask, answer: Answer, of: str = "comments") -> str:
    """Return a text from this page of it to its end."""
    parts = []
    while True:
        shown = answer.data[of]
        parts.append(shown if isinstance(shown, str) else shown[0]["text"])
        if answer.data["next_offset"] is None:
            return "".join(parts)
        answer = followed(ask, answer)


def sent(answer: Answer) -> int:
    """Return the bytes of an answer as a client gets it."""
    return len(to_json(build_result(answer)))


def test_a_long_comment_and_a_long_answer_are_read_to_their_ends(
    ask: Ask, workspace: Workspace, edited: str
) -> None:
    first = comment(workspace, edited, LONG, file="api.md", slug="tasks")
    comment(workspace, edited, "Answer. " + LONG, reply_to=first)
    for fields in ({}, {"comments": True}, {"file": "api.md"}):
        answer = ask("view_proposal", proposal=edited, **fields)
        [thread] = done(answer)["comments"]
        [reply] = thread["replies"]
        assert "THE POINT" not in thread["text"]
        for said in (thread, reply):
            whole = called(ask, said["rest"])
            assert said["text"] + read_whole(ask, whole) in (LONG, "Answer. " + LONG)
            if answer.text is not None:
                assert said["rest"] in answer.text
    whole = ask("view_proposal", proposal=edited, comment=first)
    assert read_whole(ask, whole) == LONG
    assert whole.data["comments"][0]["now"] == "here"
    last = ask("view_proposal", proposal=edited, comment=reply["comment"], offset=20_000)
    assert last.data["comments"][0]["reply_to"] == first
    assert next_call(last)[1]["reply_to"] == reply["comment"]


def test_the_answers_to_a_comment_are_paged(ask: Ask, workspace: Workspace, edited: str) -> None:
    first = comment(workspace, edited, "First.")
    replies = [f"Answer {number}." for number in range(13)]
    for text in replies:
        comment(workspace, edited, text, reply_to=first)
    answer = ask("view_proposal", proposal=edited)
    [thread] = answer.data["comments"]
    assert (len(thread["replies"]), thread["more_replies"]) == (10, 3)
    assert thread["replies_rest"] in str(answer.text)
    assert [
        one["text"] for one in called(ask, thread["replies_rest"]).data["comments"][0]["replies"]
    ] == replies
    page = ask("view_proposal", proposal=edited, comment=first, limit=5)
    seen = []
    while True:
        [thread] = page.data["comments"]
        seen += [one["text"] for one in thread["replies"]]
        assert thread["replies_total"] == len(replies)
        if page.data["next_cursor"] is None:
            break
        page = followed(ask, page)
    assert seen == replies


def test_a_long_description_is_read_to_its_end(ask: Ask) -> None:
    proposal = done(ask("create_proposal", title="Long", description=LONG))["proposal"]
    answer = ask("view_proposal", proposal=proposal)
    assert answer.data["description_rest"] in str(answer.text)
    rest = called(ask, answer.data["description_rest"])
    assert answer.data["description"] + read_whole(ask, rest, "description") == LONG


def test_every_review_is_read_and_each_to_its_end(ask: Ask, workspace: Workspace, edited: str) -> None:
    texts = [f"Review {number}." for number in range(23)] + [LONG]
    for text in texts:
        workspace.proposing().review(edited, AGENT, ReviewDecision.COMMENT, text)
    answer = ask("view_proposal", proposal=edited)
    assert done(answer)["reviews"][-1]["text"].startswith("One more line")
    assert answer.data["reviews_total"] == len(texts)
    assert answer.data["reviews_rest"] in str(answer.text)
    assert len(called(ask, answer.data["reviews_rest"]).data["reviews"]) == 20
    page = ask("view_proposal", proposal=edited, reviews=True, limit=10)
    seen = list(page.data["reviews"])
    while page.data["next_cursor"] is not None:
        page = followed(ask, page)
        seen += page.data["reviews"]
    assert [one["text"] for one in seen[:-1]] == texts[:-1]
    last = seen[-1]
    assert last["text"] + read_whole(ask, called(ask, last["rest"]), "reviews") == LONG
    assert read_whole(ask, ask("view_proposal", proposal=edited, comment=last["review"]), "reviews") == LONG


def test_the_comments_of_a_document_go_on_where_the_page_of_it_ends(
    ask: Ask, workspace: Workspace, edited: str
) -> None:
    texts = [f"Remark {number}." for number in range(4)]
    for text in texts:
        comment(workspace, edited, text, file="api.md", slug="tasks")
        comment(workspace, edited, f"Elsewhere: {text}", file="notes/plain.md")
    answer = ask("view_proposal", proposal=edited, file="api.md", limit=3)
    rest = called(ask, answer.data["comments_rest"])
    assert [one["text"] for one in (*answer.data["comments"], *rest.data["comments"])] == texts
    assert answer.data["comments_rest"] in str(answer.text)


@pytest.mark.slow
def test_an_answer_is_bounded_and_pages_give_everything(ask: Ask, workspace: Workspace) -> None:
    words = "Wörter, und mehr Wörter. " * 200
    proposal = done(ask("create_proposal", title="Much", description=words * 5))["proposal"]
    done(ask("edit_document", operation="append_content", file="api.md", slug="tasks", content="More.",
             proposal=proposal))  # fmt: skip
    firsts = []
    for number in range(6):
        first = comment(workspace, proposal, f"{number} {words}", file="api.md", slug="tasks")
        firsts.append(first)
        for reply in range(11):
            comment(workspace, proposal, f"{number}.{reply} {words}", reply_to=first)
        workspace.proposing().review(proposal, AGENT, ReviewDecision.COMMENT, words)
    for fields in ({}, {"file": "api.md"}, {"reviews": True}, {"comment": firsts[0], "limit": 100}):
        answer = ask("view_proposal", proposal=proposal, **fields)
        assert not answer.is_error, answer.data
        assert sent(answer) < SAID, fields
    page = ask("view_proposal", proposal=proposal, comments=True, limit=100)
    seen = []
    while True:
        assert sent(page) < SAID
        seen += [one["comment"] for one in page.data["comments"]]
        if page.data["next_cursor"] is None:
            break
        page = followed(ask, page)
    assert seen == firsts


def test_an_unknown_comment_is_answered_with_the_nearest(ask: Ask, workspace: Workspace, edited: str) -> None:
    wrong = ask("view_proposal", proposal=edited, comment="0")
    assert wrong.data["code"] == "COMMENT_NOT_FOUND"
    assert not ask("view_proposal", **wrong.data["example"]).is_error
    first = comment(workspace, edited, "First.")
    wrong = ask("view_proposal", proposal=edited, comment=first[:-1])
    assert wrong.data["example"] == {"proposal": edited, "comment": first}
    assert not ask("view_proposal", **wrong.data["example"]).is_error
    other = opened(ask, "Other")
    assert ask("view_proposal", proposal=other, comment=first).data["code"] == "COMMENT_NOT_FOUND"
    assert ask("view_proposal", comment=first).data["field"] == "proposal"
