"""Titles and texts: held to their bounds, on one line or several, and never more than text."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from workspace.proposals.events import (
    MAX_TEXT,
    Author,
    InvalidEventText,
    KnownBy,
    validate_text,
    validate_title,
)


def test_a_title_is_one_line() -> None:
    assert validate_title("  Say\r\n more\x1b[31m\tof it ") == "Say more [31m of it"
    assert validate_title("🎉 👩‍👩‍👧 é") == "🎉 👩‍👩‍👧 é"


def test_a_title_of_ten_thousand_characters_is_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidEventText) as error:
        validate_title("a" * 10_000)
    assert error.value.message == "the title has 10,000 characters; at most 256 are kept"
    assert error.value.fix == "Shorten it; the description has room for the rest."


@loop_over("words", ["", " \n\t", "\x00\x1b"])
def test_an_empty_title_is_refused(words: str) -> None:
    with pytest.raises(InvalidEventText, match="empty"):
        validate_title(words)


def test_a_text_keeps_its_lines() -> None:
    assert validate_text("One\r\n\r\n\tTwo\x00\x07\r", "comment") == "One\n\n\tTwo"
    assert validate_text("", "description", may_be_empty=True) == ""


@loop_over("words", ["", "\udc80", "a" * (MAX_TEXT + 1)])
def test_what_is_no_comment_is_refused(words: str) -> None:
    with pytest.raises(InvalidEventText) as error:
        validate_text(words, "comment")
    assert error.value.details["field"] == "comment"
    assert error.value.fix


def test_who_is_the_same_person() -> None:
    token = Author("Bea", "bea@example.org", KnownBy.TOKEN, "bea")
    git = Author("Bea", "Bea@Example.org", KnownBy.GIT)
    client = Author("Bea", "bea@example.org", KnownBy.CLIENT, "an agent")
    assert token.is_same(token._replace(email="other@example.org"))
    assert not token.is_same(token._replace(label="ada"))
    assert token.is_same(git)
    assert git.is_same(git._replace(email="bea@example.org", name="B."))
    assert not token.is_same(git._replace(email=""))
    assert not client.is_same(token)
    assert not git.is_same(client)
    assert client.is_same(client)
