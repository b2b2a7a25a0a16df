"""The paths in conflict with the remote, which cannot be written until a person decides."""

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

_LISTED = 20
_NAMED = 3


class SyncConflict(WorkspaceError):
    """A write touches paths that were changed differently here and in the remote; `paths` are the first."""

    code: ClassVar[str] = "SYNC_CONFLICT"

    def __init__(self, paths: Sequence[str], remote: str) -> None:
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        super().__init__(
            f"{', '.join(paths[:_NAMED])}{more} changed here and in the remote `{remote}`, differently, so "
            "nothing is written there until that is decided; other documents can be written",
            fix="A person decides: `docyard sync` shows what is in conflict, and `docyard sync --ours PATH` "
            "or `docyard sync --theirs PATH` takes one side.",
            paths=list(paths[:_LISTED]),
            remote=remote,
        )


class BlockedPaths(NamedTuple):
    """The paths in conflict between two commits, and all paths that theirs changed since their bases."""

    ours: str | None
    tree: str | None
    theirs: str | None
    bases: tuple[str, ...]
    paths: frozenset[str]
    changed: frozenset[str]


def check_not_blocked(
    ours: Snapshot,
    theirs: Snapshot,
    changes: Mapping[str, bytes | WholeEntry | None],
    remote: str,
    last: BlockedPaths | None,
) -> BlockedPaths:
    """Return the conflicts, if no change touches one. `last` is an earlier result that may still hold.

    Raises SyncConflict, DamagedRepository.
    """
    found = (
        last if last is not None and _is_still_valid(last, ours, theirs) else find_blocked_paths(ours, theirs)
    )
    touched = sorted(found.paths & changes.keys())
    if touched:
        raise SyncConflict(touched, remote)
    return found


def find_blocked_paths(ours: Snapshot, theirs: Snapshot) -> BlockedPaths:
    """Return the conflicts between two commits; empty for unrelated histories."""
    # Imported here because a server answers its first questions without merging anything.
    from workspace.git.merge_bases import ShallowHistory
    from workspace.merge.commits import UnrelatedHistories, merge_commits

    paths: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    bases: tuple[str, ...] = ()
    try:
        merge = merge_commits(ours, theirs)
    except (UnrelatedHistories, ShallowHistory):
        pass
    else:
        bases = merge.bases
        paths = frozenset(
            path for found in merge.conflicts for path in _list_paths(found)
        ) | _list_unreviewed_paths(merge)
        changed = frozenset(
            change.path
            for base in bases
            for change in trees.diff_trees(ours.git, ours.git.commit(base).tree, theirs.tree)
        )
    return BlockedPaths(ours.commit, ours.tree, theirs.commit, bases, paths, changed)


def _list_unreviewed_paths(merge: Merge) -> frozenset[str]:
    """Return the paths of ours whose changes the merge would put under a rule without review."""
    from workspace.proposals.unreviewed import find_unreviewed_of_both

    found = find_unreviewed_of_both(merge)
    return frozenset(path for one in found if one.is_ours for path in (one.path, one.source))


def _is_still_valid(last: BlockedPaths, ours: Snapshot, theirs: Snapshot) -> bool:
    """Return True if the conflicts are unchanged: ours has moved only in paths that theirs left as is."""
    if last.theirs != theirs.commit or last.ours is None or ours.commit is None or theirs.commit is None:
        return False
    if last.ours == ours.commit:
        return True
    if last.bases and ours.git.merge_bases(ours.commit, theirs.commit) != last.bases:
        return False
    return all(change.path not in last.changed for change in trees.diff_trees(ours.git, last.tree, ours.tree))


def _list_paths(found: FileConflict) -> tuple[str, ...]:
    """Return the paths of a conflict: of two files that exclude each other, both."""
    unit, other = found.conflict.unit, found.conflict.ours
    if unit.kind is UnitKind.PLACE and not unit.where and other is not None:
        return found.path, other.decode("utf-8", "surrogateescape")
    return (found.path,)
