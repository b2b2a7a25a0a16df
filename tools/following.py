"""The index is brought to a new commit before an answer, so that what was written is found at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from tools.context import Context
    from workspace.git import GitReader


def follow(context: Context, commit: str | None) -> list[str]:
    """Brings the index to the tip of the served branch; a hint where a commit has to wait to be found.

    Others may have gone on since: the index holds the commit where it stands for a later one.
    """
    try:
        at = context.index.follow()
        if at == context.workspace.tip() or _holds(context.workspace.git, at, commit):
            return []
        reason = "another call or process is bringing the search index up to date"
    except WorkspaceError as error:
        reason = error.message
    return [f"Committed, but not searchable yet: {reason}"]


def _holds(git: GitReader, tip: str | None, commit: str | None) -> bool:
    return tip is not None and commit is not None and commit in (tip, *git.merge_bases(tip, commit))
