"""A branch that diverged from the remote's is brought together with it, by a structural merge.

What comes with the remote's commits has passed the remote's own gate. New content by which a conflict is
decided has passed none, so the gate of this workspace is asked, unless it is for a proposal; and then the
commit says that it is by hand, so that who decided does not approve it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from workspace.merging.committing import MergeConflict, Merged, commit_merge
from workspace.merging.conflict import Choice
from workspace.messages import commit_message
from workspace.publishing import WorktreeBusy
from workspace.writing import HAND, is_for_proposal

if TYPE_CHECKING:
    from workspace.git import GitReader
    from workspace.merging.conflict import Resolution, UnitId
    from workspace.merging.trees import FileConflict, Merge, Resolutions
    from workspace.workspace import Workspace

Choose = Callable[["Sequence[FileConflict]"], "Resolutions"]
"""Decides conflicts, or some of them; it is given all that were found so far."""

_ROUNDS = 10  # a conflict that was decided may uncover others


def join(workspace: Workspace, branch: str, theirs: str, remote: str, choose: Choose | None = None) -> Merged:
    """Merges the remote's commit into a branch: first parent ours, second theirs.

    Raises MergeConflict with what is undecided, Protected, WorktreeBusy, and what `commit_merge` raises.
    """
    seen: dict[tuple[str, UnitId], FileConflict] = {}
    decided: dict[str, dict[UnitId, Resolution]] = {}

    def check(merge: Merge) -> None:
        check_attributes(workspace.git, branch, merge.changes, "merge @{upstream}")
        if not is_for_proposal(branch):
            _check_content(merge, decided)

    def merged() -> Merged:
        return commit_merge(
            workspace,
            branch,
            theirs,
            message=lambda _: _message(branch, remote, is_decided=bool(decided)),
            resolutions=decided,
            check=check,
        )

    for _ in range(_ROUNDS):
        try:
            return merged()
        except MergeConflict as error:
            seen |= {(found.path, found.conflict.unit): found for found in error.conflicts}
            new = choose(tuple(seen.values())) if choose is not None else {}
            if not any(found.conflict.unit in new.get(found.path, {}) for found in error.conflicts):
                raise
            for path, units in new.items():
                decided.setdefault(path, {}).update(units)
    return merged()


def check_attributes(git: GitReader, branch: str, paths: Collection[str], command: str) -> None:
    """Raises WorktreeBusy where the rules of checkout change under a checkout of the branch.

    libgit2 would check the other files out by the rules that stand in the work tree now.
    """
    rules = next((path for path in paths if path.rpartition("/")[2] == ".gitattributes"), None)
    if rules is not None and git.worktrees_of(branch):
        raise WorktreeBusy(
            f"`{rules}` changes, and with it how files are checked out", fix=f"Run git {command} there."
        )


def _check_content(merge: Merge, decided: Resolutions) -> None:
    """Raises Protected for new content that may only come with a proposal."""
    new = {
        place
        for path, units in decided.items()
        if any(how.choice is Choice.CONTENT for how in units.values())
        for place in (path, merge.moved.get(path, path))
    }
    made = {path: merge.changes[path] for path in new if path in merge.changes}
    if made:
        from workspace.policy.rules import check_direct

        check_direct(merge.ours, made)


def _message(branch: str, remote: str, *, is_decided: bool) -> str:
    words = f"Merge '{branch}' of {remote}"
    trailers = {HAND: "git"} if is_decided else None
    return commit_message([words], paths=[], message=None, tool="sync", client="docyard", trailers=trailers)
