"""The fields of an event's file, each read and checked by itself: anybody may have written them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from workspace.proposal_ids import BRANCHES, DISCUSSION
from workspace.proposals import events as kinds
from workspace.proposals.events import Author, KnownBy, Place

MAX_AFTER = 50
"""Events that one event may name as those that it comes after."""

MAX_COMMITS = 50
"""Commits that one event may name in a list."""

_IS_EVENT = re.compile("[0-9a-f]{16}")
_IS_COMMIT = re.compile("[0-9a-f]{40}")
_IS_DIGEST = re.compile("[0-9a-f]{64}")
_IS_SEAL = re.compile("[0-9a-f]{96}")
_IS_LINK = re.compile(r"(?i:https?)://\S{1,2000}")
_IS_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{3})Z", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_NAME = 1_000  # characters of a name, an address or a branch
_MAX_PATH = 4_000

Check = Callable[[object], Any]
"""Gives the value of a field as it is used. Raises Unreadable."""


class Unreadable(ValueError):
    """These bytes are no event."""


def checked(found: object, checks: Mapping[str, Check]) -> dict[str, Any]:
    """The fields of an object, each by its check; what has none is left out. Raises Unreadable."""
    if not isinstance(found, dict):
        raise Unreadable("it has no words")
    return {name: check(found.get(name)) for name, check in checks.items()}


def text(most: int) -> Callable[[object], str]:
    """A text of so many characters at most, with no lone surrogates."""

    def check(found: object) -> str:
        if not isinstance(found, str) or len(found) > most or _SURROGATE.search(found):
            raise Unreadable("a text is none, or too long")
        return found

    return check


def title(found: object) -> str:
    """A title, on one line."""
    shown = kinds.one_line(text(kinds.MAX_TITLE)(found))
    if not shown:
        raise Unreadable("its title is empty")
    return shown


def said(found: object) -> str:
    """What was said: nothing is an empty text."""
    return kinds.plain(text(kinds.MAX_TEXT)(found)) if found is not None else ""


def branch(found: object) -> str:
    """The name of a branch."""
    name = text(_MAX_NAME)(found)
    if not name or kinds.one_line(name) != name:
        raise Unreadable("a branch is none")
    return name


def target(found: object) -> str:
    """The branch into which a proposal asks to be merged."""
    name = branch(found)
    # What a proposal is merged into holds documents: not what is said, and not another proposal.
    if name == DISCUSSION or name.startswith(BRANCHES):
        raise Unreadable("its target is no branch of documents")
    return name


def matching(pattern: re.Pattern[str]) -> Callable[[object], str]:
    """An id of a form."""

    def check(found: object) -> str:
        if not isinstance(found, str) or not pattern.fullmatch(found):
            raise Unreadable("an id is none")
        return found

    return check


def one_of(choices: Callable[[str], Any]) -> Check:
    """A value of an enumeration."""

    def check(found: object) -> object:
        try:
            return choices(found) if isinstance(found, str) else choices("")
        except ValueError:
            raise Unreadable("a choice is none") from None

    return check


def optional(check: Callable[[object], Any]) -> Callable[[object], Any]:
    """What a check takes, or nothing."""
    return lambda found: None if found is None else check(found)


def time(found: object) -> datetime:
    """A time in UTC, to the millisecond. Raises Unreadable."""
    match = _IS_TIME.fullmatch(found) if isinstance(found, str) else None
    if match is None:
        raise Unreadable("it has no time")
    *parts, milliseconds = (int(part) for part in match.groups())
    year, month, day, hour, minute, second = parts
    try:
        return datetime(year, month, day, hour, minute, second, milliseconds * 1000, UTC)
    except ValueError:
        raise Unreadable("its time is none") from None


def author(found: object) -> Author:
    """Who spoke. Raises Unreadable."""
    fields = checked(
        found,
        {
            "name": text(_MAX_NAME),
            "email": text(_MAX_NAME),
            "known_by": one_of(KnownBy),
            "label": optional(text(_MAX_NAME)),
        },
    )
    name, email, label = (kinds.one_line(fields[key] or "") for key in ("name", "email", "label"))
    return Author(name, email, fields["known_by"], label)


def after(found: object) -> tuple[str, ...]:
    """The ids of events that were there before, 50 at most. Raises Unreadable."""
    if not isinstance(found, list) or len(found) > MAX_AFTER:
        raise Unreadable("what it comes after is no short list")
    return tuple(matching(_IS_EVENT)(id) for id in found)


def commits(found: object) -> tuple[str, ...]:
    """A list of commits, 50 at most. Raises Unreadable."""
    if not isinstance(found, list) or len(found) > MAX_COMMITS:
        raise Unreadable("its commits are no short list")
    return tuple(commit(id) for id in found)


def place(found: object) -> Place:
    """The document, section and words that a comment is about. Raises Unreadable."""
    checks = {
        "path": text(_MAX_PATH),
        "slug": optional(text(_MAX_PATH)),
        "digest": matching(_IS_DIGEST),
        "quote": optional(text(kinds.MAX_QUOTE)),
    }
    fields = checked(found, checks)
    return Place(**{**fields, "quote": fields["quote"] or ""})


commit = matching(_IS_COMMIT)
digest = matching(_IS_DIGEST)
event = matching(_IS_EVENT)
link = matching(_IS_LINK)
seal = matching(_IS_SEAL)
