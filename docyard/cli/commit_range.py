"""The two commits that `docyard diff` compares, and their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.terminal.exits import CommandError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from workspace.proposals.review.changes import CommitChanges
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace


class CommitRange(NamedTuple):
    """The compared commits. `old` has no documents if `new` has no parent."""

    old: Snapshot
    new: Snapshot


def resolve_range(workspace: Workspace, refs: Sequence[str]) -> CommitRange:
    """Resolve at most two refs, or one range such as `A..B` or `A...B`.

    If no ref is given, the tip is compared with its parent. A single ref is compared with the tip. With three
    dots the comparison starts at the merge base, as in a pull request. A missing side is the tip. Raises
    CommandError if the branch has no commit, if the parent is missing in a shallow clone, or if three dots
    are given and the sides have no common ancestor; also the errors of `Workspace.at`.
    """
    if len(refs) == 1 and ".." in refs[0]:
        first, dots, second = _split_range(refs[0])
    else:
        first, dots, second = (*refs, "", "")[0], "..", (*refs, "", "")[1]
    new = workspace.at(second)
    if new.commit is None:
        raise CommandError("the branch has no commit yet", fix="Commit a document first.")
    if not refs:
        return CommitRange(get_first_parent(new), new)
    old = workspace.at(first)
    return CommitRange(_find_merge_base(old, new) if dots == "..." else old, new)


def compare_range(
    workspace: Workspace, commits: CommitRange, address: str | None, folder: Path
) -> CommitChanges:
    """Return the differences; with `address`, only the differences in that document or section.

    The address may be relative to `folder`. Raises CommandError.
    """
    from docyard.cli.addresses import resolve_relative_address
    from docyard.cli.proposals.changes import select_changes
    from workspace.document.addresses import split_address
    from workspace.proposals.review.changes import compare_commits
    from workspace.texts.text_file import LazyFilePaths

    changes = compare_commits(*commits)
    if address is None:
        return changes
    for snapshot in (commits.new, commits.old):
        path, slug = split_address(
            resolve_relative_address(address, workspace, snapshot, folder), LazyFilePaths(snapshot)
        )
        if path in changes.paths:
            break
    return select_changes(changes, path, slug, subject="the range")


def _split_range(text: str) -> tuple[str, str, str]:
    """Return the first ref, the dots and the second ref of a range.

    No ref name contains two dots (git-check-ref-format).
    """
    dots = "..." if "..." in text else ".."
    first, _, second = text.partition(dots)
    return first, dots, second


def get_first_parent(new: Snapshot) -> Snapshot:
    """Return the snapshot of a commit's first parent; an empty snapshot for a root commit."""
    from workspace.snapshot.snapshot import Snapshot

    parents = new.git.commit(new.commit or "").parents
    if parents and not new.git.has_object(parents[0]):
        raise CommandError(
            f"the parent of {new.commit} is missing, because this clone is shallow",
            fix="Fetch the full history with git fetch --unshallow, or with fetch-depth: 0 in CI.",
        )
    return new.at(parents[0]) if parents else Snapshot(new.git, None)


def _find_merge_base(old: Snapshot, new: Snapshot) -> Snapshot:
    """Return the merge base of two commits; of several bases, the base with the fewest changes."""
    from workspace.git.ancestry import Graph
    from workspace.proposals.review.changes import MergeBases

    base = MergeBases(new.git, Graph(new.git)).find(old.commit or "", new.commit or "")
    if base is None:
        raise CommandError(
            f"{old.commit} and {new.commit} have no common ancestor",
            fix="Name a ref with a common ancestor; docyard diff A..B, with two dots, compares any commits.",
        )
    return new.at(base)
