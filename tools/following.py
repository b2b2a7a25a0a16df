"""The index is brought to a new commit before an answer, so that what was written is found at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from tools.context import Context


def follow(context: Context) -> list[str]:
    """Brings the index to the tip of the served branch; a hint where that has to wait."""
    try:
        if context.index.follow() == context.workspace.tip():
            return []
        reason = "another call or process is bringing the search index up to date"
    except WorkspaceError as error:
        reason = error.message
    return [f"Committed, but not searchable yet: {reason}"]
