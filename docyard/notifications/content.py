"""The facts of a notification. They are titles, names and addresses, and no text of documents or comments."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from docyard.wording import shorten

_MAX_TITLE_CHARACTERS = 300
_MAX_NAME_CHARACTERS = 100
_MAX_NAMES = 50


class NotificationKind(StrEnum):
    """The kinds of notifications. All but `test` are events of the settings."""

    SUBMITTED = "submitted"
    COMMENTED = "commented"
    MENTIONED = "mentioned"
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes_requested"
    MERGED = "merged"
    REMINDER = "reminder"
    TEST = "test"


class Reason(StrEnum):
    """The reason why a person is notified, as a sentence."""

    REVIEWER = "The proposal waits for your review."
    OWNER = "The proposal is yours."
    MENTIONED = "You are mentioned."
    PARTICIPANT = "You commented on the proposal or reviewed it."
    TEST = "The operator of the server tests the delivery."


class NotificationContent(NamedTuple):
    """The facts of a notification.

    `path` is the address of the page at this server, and `document` that of the text that a comment is about,
    such as `guide.md#install`. `people` are the handles of the people whom the event concerns, `mentioned`
    those of the people whom it mentions. `reason` is for the recipient of an e-mail.
    """

    event_id: str
    kind: NotificationKind
    time: str
    workspace: str
    proposal: str
    title: str
    path: str
    summary: str
    author: str
    document: str | None = None
    people: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()
    reason: Reason | None = None

    def to_json(self) -> str:
        """Return the facts as JSON of ASCII characters, which each database stores."""
        return json.dumps(self._asdict())

    def shorten(self) -> NotificationContent:
        """Return the facts with texts and lists of limited length."""
        return self._replace(
            title=shorten(self.title, _MAX_TITLE_CHARACTERS),
            summary=shorten(self.summary, _MAX_TITLE_CHARACTERS + 2 * _MAX_NAME_CHARACTERS),
            author=shorten(self.author, _MAX_NAME_CHARACTERS),
            people=tuple(shorten(name, _MAX_NAME_CHARACTERS) for name in self.people[:_MAX_NAMES]),
            mentioned=tuple(shorten(name, _MAX_NAME_CHARACTERS) for name in self.mentioned[:_MAX_NAMES]),
        )


def parse_content(text: str) -> NotificationContent:
    """Return the facts of `NotificationContent.to_json`."""
    data: dict[str, Any] = json.loads(text)
    reason = data.pop("reason")
    return NotificationContent(
        **{
            **data,
            "kind": NotificationKind(data["kind"]),
            "people": tuple(data["people"]),
            "mentioned": tuple(data["mentioned"]),
            "reason": None if reason is None else Reason(reason),
        }
    )


def format_time(time: datetime) -> str:
    """Return a time in UTC, to the second, as a notification has it."""
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
