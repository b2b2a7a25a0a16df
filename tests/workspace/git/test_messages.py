"""Commit messages: their subject, body and trailers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workspace.git.messages import MAX_CLIENT_NAME_LENGTH, clean_client_name, format_commit_message

pytestmark = pytest.mark.smoke


def test_one_summary_is_the_subject() -> None:
    assert format_commit_message(
        ["Create a.md"], paths=["a.md"], message=None, tool="create_document", client="agent"
    ) == ("Create a.md\n\nDocyard-Tool: create_document\nDocyard-Client: agent\n")


def test_several_summaries_are_listed_in_body() -> None:
    text = format_commit_message(
        ["Add a", "Add b"], paths=["a.md"], message=None, tool="edit_document", client="x\ny"
    )
    assert (
        text == "Edit a.md: 2 changes\n\n- Add a\n- Add b\n\n"
        "Docyard-Tool: edit_document\nDocyard-Client: x y\n"
    )


def test_several_documents_are_counted_in_subject() -> None:
    text = format_commit_message(
        ["Add a", "Add b"], paths=["a.md", "b.md"], message=None, tool="t", client="c"
    )
    assert text.startswith("Edit 2 documents: 2 changes\n\n- Add a\n")


def test_message_of_caller_precedes_summaries() -> None:
    text = format_commit_message(
        ["Add a"], paths=["a.md"], message=" Why\r\n\r\nBecause. ", tool="edit_document", client="x"
    )
    assert text == "Why\n\nBecause.\n\n- Add a\n\nDocyard-Tool: edit_document\nDocyard-Client: x\n"


def test_long_subject_continues_in_body() -> None:
    subject, blank, continuation = format_commit_message(
        ["x" * 100], paths=["a.md"], message=None, tool="t", client="c"
    ).split("\n")[:3]
    assert len(subject) == 72
    assert (subject[-1], blank, continuation) == ("…", "", "…" + "x" * 29)


@given(st.text(), st.text())
def test_caller_cannot_add_a_trailer(message: str, client: str) -> None:
    text = format_commit_message(["Add a"], paths=["a.md"], message=message, tool="t", client=client)
    text.encode()
    assert "\0" not in text
    trailers = text.rstrip("\n").split("\n\n")[-1].split("\n")
    assert trailers == ["Docyard-Tool: t", f"Docyard-Client: {clean_client_name(client)}"]
    assert 0 < len(clean_client_name(client)) <= MAX_CLIENT_NAME_LENGTH
