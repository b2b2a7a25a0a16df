"""The pending comments of a review: the browser stores them, and sends them with a decision as JSON.

[{"file": "guide.md", "slug": "use", "quote": "Use it.", "text": "Why?", "commit": "9f2c51d0…"}]
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from docyard.web.diff.diff import build_rows
from workspace.proposals.actions.discuss import ReviewComment
from workspace.proposals.events import InvalidEventText
from workspace.proposals.suggested_text import read_suggestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docyard.web.diff.diff import DiffRows

FIELD = "comments"
"""The field of a form with the pending comments."""


def parse_pending_comments(text: str) -> list[ReviewComment]:
    """Return the comments of a form's field; an empty field has none. Raises InvalidEventText."""
    if not text.strip():
        return []
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InvalidEventText(
            "the pending comments cannot be read", fix="Send the form from the page.", field=FIELD
        )
    return [
        ReviewComment(
            _read_text(item, "text").replace("\r\n", "\n"),
            _read_text(item, "file") or None,
            _read_text(item, "slug") or None,
            _read_text(item, "quote"),
            _read_text(item, "commit") or None,
        )
        for item in items
    ]


def _read_text(item: dict[str, object], name: str) -> str:
    value = item.get(name) or ""
    if not isinstance(value, str):
        raise InvalidEventText(
            f"'{name}' of a pending comment must be a string", fix="Send the form from the page.", field=FIELD
        )
    return value


class PendingCommentView(NamedTuple):
    """A pending comment on the page of a refused action; its suggestion is not in the text."""

    address: str
    quote: str
    text: str
    suggestion: DiffRows | None


def build_pending_views(comments: Sequence[ReviewComment]) -> list[PendingCommentView]:
    """Return the views of pending comments."""
    views = []
    for comment in comments:
        suggestion = read_suggestion(comment.text) if comment.quote else None
        views.append(
            PendingCommentView(
                comment.address,
                comment.quote,
                comment.text if suggestion is None else suggestion.other_text,
                build_rows(comment.quote, suggestion.new_text) if suggestion is not None else None,
            )
        )
    return views
