"""A report as one comment on a pull request, which later reports replace."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING

from docyard.forges.errors import ForgeAccessDenied

if TYPE_CHECKING:
    from docyard.forges.port import Forge


class CommentAction(StrEnum):
    """The result of a report."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    NOT_NEEDED = "not needed"


def publish_report_comment(forge: Forge, number: int, report: str, text: str) -> CommentAction:
    """Add the comment of a report to a pull request, or replace the text of the earlier one.

    `report` is the name of the report, by which its comment is found again. An empty `text` adds no comment,
    and replaces the text of an earlier one. Comments of other users are left alone. Raises the errors of
    `Forge`.
    """
    marker = f"<!-- docyard: {report} -->"
    body = f"{marker}\n{text or 'Nothing to report any more.'}".strip()
    for comment in reversed(forge.list_comments(number)):
        if not comment.text.startswith(marker):
            continue
        if comment.text.strip() == body:
            return CommentAction.UNCHANGED
        with suppress(ForgeAccessDenied):  # another user wrote a comment with the marker
            forge.edit_comment(number, comment.id, body)
            return CommentAction.UPDATED
    if not text:
        return CommentAction.NOT_NEEDED
    forge.comment(number, body)
    return CommentAction.ADDED
