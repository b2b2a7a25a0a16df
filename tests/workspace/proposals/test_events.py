"""Titles and texts: their limits, their lines, and removal of control characters."""

from __future__ import annotations

import pytest

from tests.loops import loop_over
from workspace.proposals.events import (
    MAX_TEXT_CHARACTERS,
    Author,
    IdentitySource,
    InvalidEventText,
    validate_text,
    validate_title,
)


def test_title_is_one_line() -> None:
    assert validate_title("  Say\r\n more\x1b[31m\tof it ") == "Say more [31m of it"
    assert validate_title("🎉 👩‍👩‍👧 é") == "🎉 👩‍👩‍👧 é"


def test_too_long_title_is_refused_with_fix() -> None:
    with pytest.raises(InvalidEventText) as error_info:
        validate_title("a" * 10_000)
    assert error_info.value.message == "the title has 10,000 characters; the limit is 256"
    assert error_info.value.fix == "Shorten it, and move the rest to the description."


@loop_over("text", ["", " \n\t", "\x00\x1b"])
def test_empty_title_is_refused(text: str) -> None:
    with pytest.raises(InvalidEventText, match="empty"):
        validate_title(text)


def test_text_preserves_its_lines() -> None:
    assert validate_text("One\r\n\r\n\tTwo\x00\x07\r", "comment") == "One\n\n\tTwo"
    assert validate_text("", "description", may_be_empty=True) == ""


def test_empty_comment_names_the_next_step() -> None:
    with pytest.raises(InvalidEventText) as error_info:
        validate_text(" \n", "comment")
    assert error_info.value.fix == "Write the comment, or cancel."


@loop_over("text", ["", "\udc80", "a" * (MAX_TEXT_CHARACTERS + 1)])
def test_invalid_comment_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidEventText) as error_info:
        validate_text(text, "comment")
    assert error_info.value.details["field"] == "comment"
    assert error_info.value.fix


def test_authors_are_the_same_by_token_or_email() -> None:
    token_author = Author("Bea", "bea@example.org", IdentitySource.TOKEN, "bea")
    git_author = Author("Bea", "Bea@Example.org", IdentitySource.GIT)
    client_author = Author("Bea", "bea@example.org", IdentitySource.CLIENT, "an agent")
    assert token_author.is_same(token_author._replace(email="other@example.org"))
    assert not token_author.is_same(token_author._replace(label="ada"))
    assert token_author.is_same(git_author)
    assert git_author.is_same(git_author._replace(email="bea@example.org", name="B."))
    assert not token_author.is_same(git_author._replace(email=""))
    assert not client_author.is_same(token_author)
    assert not git_author.is_same(client_author)
    assert client_author.is_same(client_author)
