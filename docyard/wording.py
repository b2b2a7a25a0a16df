"""Words for people, at a terminal and on pages: ids of commits, authors, moments, states and lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from workspace.proposals.events import Author

SHORT = 8  # characters: two objects in ten thousand million share as many, and then Git says so


def shorten_id(commit: str) -> str:
    """Return the beginning of an id, as people read and type it."""
    return commit[:SHORT]


def format_author(author: Author) -> str:
    """Return who speaks: a client beside the person in whose name it writes."""
    name = author.name or author.email or "somebody"
    return f"{name} via {author.label}" if author.known_by.value == "client" and author.label else name


def format_moment(moment: datetime) -> str:
    """Return a moment, in UTC."""
    return f"{moment:%Y-%m-%d %H:%M}"


def format_state(state: str) -> str:
    """Return a state as people say it."""
    return state.replace("_", " ")


def format_count(number: int, noun: str) -> str:
    """Return `1 comment`, `2 comments`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def join_words(words: Iterable[str], last: str = "and") -> str:
    """Return `one`, `one and two`, `one, two and three`."""
    found: Sequence[str] = tuple(words)
    return f" {last} ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)
