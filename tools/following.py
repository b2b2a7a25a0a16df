"""The index is brought to a new commit before an answer, so that what was written is found at once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from workspace.publishing.after_commit import attempt, note_commit

if TYPE_CHECKING:
    from tools.context import Context
    from workspace.git import GitReader

NOT_SEARCHABLE = "not searchable yet"


def follow(context: Context, commit: str | None) -> list[str]:
    """Bring the index to the tip of the served branch; return a hint if a commit cannot be found yet.

    Others may have gone on since: the index holds the commit where it stands for a later one. A failure of
    the index becomes a hint too, and the next search brings the index up to date.
    """
    note_commit(commit)
    return attempt(partial(_follow, context, commit), [], NOT_SEARCHABLE)


def _follow(context: Context, commit: str | None) -> list[str]:
    at = context.index.follow()
    if at == context.workspace.tip() or _holds(context.workspace.git, at, commit):
        return []
    reason = "another call or process is bringing the search index up to date"
    return [f"Committed, but {NOT_SEARCHABLE}: {reason}"]


def _holds(git: GitReader, tip: str | None, commit: str | None) -> bool:
    return tip is not None and commit is not None and commit in (tip, *git.merge_bases(tip, commit))
