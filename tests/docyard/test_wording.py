"""The names of people and of agents."""

from __future__ import annotations

from docyard.wording import format_author, name_author
from tests.loops import loop_over
from workspace.branch import FALLBACK_AUTHOR
from workspace.proposals.events import Author, IdentitySource


@loop_over(
    ("name", "email", "client", "expected"),
    [
        ("Ada", "ada@example.org", "claude-code", "claude-code for Ada"),
        ("", "ada@example.org", "claude-code", "claude-code for ada@example.org"),
        (*FALLBACK_AUTHOR, "claude-code", "claude-code"),
        ("Ada", "ada@example.org", "mcp", "an agent for Ada"),
        (*FALLBACK_AUTHOR, "mcp", "an agent"),
        ("Ada", "ada@example.org", "page", "Ada"),
        ("Ada", "ada@example.org", "command line", "Ada"),
        ("Ada", "ada@example.org", None, "Ada"),
        ("", "", None, "unknown author"),
    ],
)
def test_author_is_named_by_client_and_person(
    name: str, email: str, client: str | None, expected: str
) -> None:
    assert name_author(name, email, client) == expected


def test_token_of_an_author_is_no_client() -> None:
    assert format_author(Author("Ana", "ana@example.org", IdentitySource.TOKEN, "ana")) == "Ana"
