"""Text formats for people, at a terminal and on pages: commit ids, authors, times, states and lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from workspace.markdown.slugs import PREAMBLE

if TYPE_CHECKING:
    from datetime import datetime

    from workspace.history.commits import CommitInfo
    from workspace.proposals.events import Author

SHORT_ID_LENGTH = 8  # characters; Git reports an error if a prefix is ambiguous


def format_address(address: str) -> str:
    """Return an address for people: `guide.md#_preamble` is `guide.md, introduction`."""
    path = address.removesuffix(f"#{PREAMBLE}")
    return f"{path}, introduction" if path != address else address


def shorten_id(commit: str) -> str:
    """Return the beginning of an id, as people read and type it."""
    return commit[:SHORT_ID_LENGTH]


_DOCYARD_CLIENTS = ("page", "command line", "docyard")  # the person used a page or a command
_UNNAMED_CLIENTS = ("mcp", "unknown")  # the name that the MCP SDK sends by default says nothing


def name_author(name: str, email: str, client: str | None) -> str:
    """Return the name of a person; for a client its name, with the person for whom it works if known.

    Examples are `Ada` and `claude-code for Ada`.
    """
    from workspace.branch import FALLBACK_AUTHOR  # imported late for the start of commands

    person = name or email
    if not client or client in _DOCYARD_CLIENTS:
        return person or "unknown author"
    agent = "an agent" if client in _UNNAMED_CLIENTS else client
    return f"{agent} for {person}" if person and (name, email) != FALLBACK_AUTHOR else agent


def format_author(author: Author) -> str:
    """Return the name of the author of an event."""
    is_client = author.known_by.value == "client"
    return name_author(author.name, author.email, author.label if is_client else None)


def format_commit_author(info: CommitInfo) -> str:
    """Return the name of the author of a commit."""
    return name_author(info.author_name, info.author_email, info.client)


def format_moment(time: datetime) -> str:
    """Return a time in UTC, to the minute."""
    return f"{time:%Y-%m-%d %H:%M}"


_AGE_UNITS = (
    (365 * 86_400, "year"),
    (30 * 86_400, "month"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
)


def format_age(time: datetime, now: datetime) -> str:
    """Return the time since another time in its largest unit: `3 days ago`."""
    seconds = (now - time).total_seconds()
    for unit_s, noun in _AGE_UNITS:
        if seconds >= unit_s:
            return f"{format_count(int(seconds // unit_s), noun)} ago"
    return "just now"


def format_state(state: str) -> str:
    """Return a state with spaces instead of underscores."""
    return state.replace("_", " ")


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 comment`, `2 comments`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def shorten(text: str, max_length: int) -> str:
    """Return a text in at most `max_length` characters; a cut one ends with an ellipsis."""
    return text if len(text) <= max_length else text[: max_length - 1] + "…"


def join_words(words: Iterable[str], conjunction: str = "and") -> str:
    """Return words joined as a sentence lists them: `one`, `one and two`, `one, two and three`."""
    items: Sequence[str] = tuple(words)
    return f" {conjunction} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)
