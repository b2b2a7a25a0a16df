"""What became of a submitted proposal on a forge: its pull request, or why there is none."""

from __future__ import annotations

from typing import NamedTuple

from workspace.errors import WorkspaceError


class NotAnnounced(WorkspaceError):
    """A proposal was submitted, which stands, but has no pull request; `reason` is the code of why."""

    code = "NOT_ANNOUNCED"

    def __init__(self, cause: WorkspaceError) -> None:
        super().__init__(
            f"it was submitted, but its pull request was not opened or brought up to date: {cause.message}",
            fix=f"{cause.fix} Then submit it again." if cause.fix else "Submit it again later.",
            reason=cause.code,
            **({"retry_after": cause.details["retry_after"]} if "retry_after" in cause.details else {}),
        )


class Announced(NamedTuple):
    """A proposal's pull request: on which forge, its number and its URL, and whether it was just opened.

    `error` is why it was not opened, and `unsent` why the words of the discussion did not travel with it.
    """

    forge: str
    number: int | None = None
    url: str = ""
    is_new: bool = False
    error: NotAnnounced | None = None
    unsent: WorkspaceError | None = None
