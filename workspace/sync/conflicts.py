"""The paths in conflict with the remote, which cannot be written until a person resolves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git import trees
from workspace.merge.conflict import UnitKind

if TYPE_CHECKING:
    from workspace.git.trees import WholeEntry
    from workspace.merge.trees import FileConflict, Merge
    from workspace.snapshot.snapshot import Snapshot

_MAX_LISTED_PATHS = 20
_MAX_NAMED_PATHS = 3


class SyncConflict(WorkspaceError):
    """An error: a write to paths that changed differently here and in the remote; `paths` has at most 20."""

    code: ClassVar[str] = "SYNC_CONFLICT"

    def __init__(self, paths: Sequence[str], remote: str) -> None:
        omitted_text = f" and {len(paths) - _MAX_NAMED_PATHS} more" if len(paths) > _MAX_NAMED_PATHS else ""
        super().__init__(
            f"{', '.join(paths[:_MAX_NAMED_PATHS])}{omitted_text} changed differently here and in the remote "
            f"`{remote}`, so these paths cannot be written until a person resolves the conflict",
            fix="Ask a person to run `docyard sync`, which lists the conflicts, and then `docyard sync "
            "--ours PATH` or `docyard sync --theirs PATH`, which takes one side.",
            paths=list(paths[:_MAX_LISTED_PATHS]),
            remote=remote,
        )


class BlockedPaths(NamedTuple):
    """The paths in conflict between two commits, and the paths that the remote's commit changed.

    `theirs` is the remote's commit, and `our_tree` the tree of `ours`. `changed_paths` are all paths that
    `theirs` changed since the merge bases.
    """

    ours: str | None
    our_tree: str | None
    theirs: str | None
    bases: tuple[str, ...]
    paths: frozenset[str]
    changed_paths: frozenset[str]


def check_not_blocked(
    ours: Snapshot,
    theirs: Snapshot,
    changes: Mapping[str, bytes | WholeEntry | None],
    remote: str,
    last_result: BlockedPaths | None,
) -> BlockedPaths:
    """Raise SyncConflict for a change to a path in conflict; otherwise return the paths in conflict.

    If `last_result` is still valid, it is returned. Raises InvalidConfig, LimitExceeded, DamagedRepository.
    """
    blocked_paths = (
        last_result
        if last_result is not None and _is_still_valid(last_result, ours, theirs)
        else find_blocked_paths(ours, theirs)
    )
    conflicting_paths = sorted(blocked_paths.paths & changes.keys())
    if conflicting_paths:
        raise SyncConflict(conflicting_paths, remote)
    return blocked_paths


def find_blocked_paths(ours: Snapshot, theirs: Snapshot) -> BlockedPaths:
    """Return the paths in conflict between two commits; none for unrelated or shallow histories."""
    # Imported here because a server answers its first requests without a merge.
    from workspace.git.merge_bases import ShallowHistory
    from workspace.merge.commits import UnrelatedHistories, merge_commits

    paths: frozenset[str] = frozenset()
    changed_paths: frozenset[str] = frozenset()
    bases: tuple[str, ...] = ()
    try:
        merge = merge_commits(ours, theirs)
    except (UnrelatedHistories, ShallowHistory):
        pass
    else:
        bases = merge.bases
        paths = frozenset(
            path for conflict in merge.conflicts for path in _list_paths(conflict)
        ) | _list_unreviewed_paths(merge)
        changed_paths = frozenset(
            change.path
            for base in bases
            for change in trees.diff_trees(ours.git, ours.git.commit(base).tree, theirs.tree)
        )
    return BlockedPaths(ours.commit, ours.tree, theirs.commit, bases, paths, changed_paths)


def _list_unreviewed_paths(merge: Merge) -> frozenset[str]:
    """Return the paths on our side whose unreviewed changes the merge would put under a protection rule."""
    from workspace.proposals.unreviewed import find_unreviewed_on_both_sides

    unreviewed_changes = find_unreviewed_on_both_sides(merge)
    return frozenset(
        path for change in unreviewed_changes if change.is_ours for path in (change.path, change.changed_path)
    )


def _is_still_valid(last_result: BlockedPaths, ours: Snapshot, theirs: Snapshot) -> bool:
    """Return True if our side has since changed only paths that the remote side did not change."""
    if (
        last_result.theirs != theirs.commit
        or last_result.ours is None
        or ours.commit is None
        or theirs.commit is None
    ):
        return False
    if last_result.ours == ours.commit:
        return True
    if last_result.bases and ours.git.merge_bases(ours.commit, theirs.commit) != last_result.bases:
        return False
    return all(
        change.path not in last_result.changed_paths
        for change in trees.diff_trees(ours.git, last_result.our_tree, ours.tree)
    )


def _list_paths(conflict: FileConflict) -> tuple[str, ...]:
    """Return the paths of a conflict: two paths, if two files cannot both exist in one tree."""
    unit, our_path = conflict.conflict.unit, conflict.conflict.ours
    if unit.kind is UnitKind.POSITION and not unit.where and our_path is not None:
        return conflict.path, our_path.decode("utf-8", "surrogateescape")
    return (conflict.path,)
