"""The merge of two commits: their merge bases, the merge over several bases, and its publication."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.branch import BranchNotFound
from workspace.errors import LimitExceeded, WorkspaceError
from workspace.git.objects import FILE_MODE, hash_blob
from workspace.git.store import require_writable
from workspace.merge.conflict import MergedDocument
from workspace.merge.trees import PATH_UNIT, FileConflicts, Merge, find_file, merge_snapshots
from workspace.publishing.batch import Batch
from workspace.publishing.publish import publish_with_retry
from workspace.snapshot.snapshot import DocumentNotFound, Snapshot
from workspace.writing.write import check_signing, make_author_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.branch import Branch
    from workspace.git.trees import WholeEntry
    from workspace.merge.trees import FileConflict, Merge, Resolutions
    from workspace.policy.tokens import Person


class UnrelatedHistories(WorkspaceError):
    """An error: two commits have no common ancestor, so the changes of each side are unknown."""

    code: ClassVar[str] = "UNRELATED_HISTORIES"

    def __init__(self, ours: str, theirs: str) -> None:
        super().__init__(
            f"commits {ours[:7]} and {theirs[:7]} have no common ancestor and cannot be merged",
            fix="Merge a branch that was created from this one.",
            ours=ours,
            theirs=theirs,
        )


def merge_commits(ours: Snapshot, theirs: Snapshot, resolutions: Resolutions | None = None) -> Merge:
    """Return the merge of `theirs` into `ours`; it has no changes if ours already contains theirs.

    Both are commits of one repository. They may have several merge bases (a criss-cross). A unit of a
    document, or another file, is then merged only if every base gives the same result. No virtual base is
    built.

    Raises UnrelatedHistories, ShallowHistory, InvalidResolution, InvalidConfig, DamagedRepository.
    """
    assert ours.commit is not None
    assert theirs.commit is not None
    bases = ours.git.merge_bases(ours.commit, theirs.commit)
    if not bases:
        raise UnrelatedHistories(ours.commit, theirs.commit)
    resolutions = resolutions or {}
    merges = [merge_snapshots(ours.at(base), ours, theirs, resolutions) for base in bases]
    return merges[0] if len(merges) == 1 else _intersect_merges(merges, resolutions)._replace(bases=bases)


def _intersect_merges(merges: Sequence[Merge], resolutions: Resolutions) -> Merge:
    """Return the common result of several merges of the same commits; all differences are conflicts."""
    first_merge, *other_merges = merges
    file_conflicts = FileConflicts(first_merge.ours.git, resolutions)
    changes: dict[str, bytes | WholeEntry] = {}
    conflicts = []
    disputed_paths = set()
    for path in sorted({path for merge in merges for path in (*merge.changes, *_list_conflict_paths(merge))}):
        if all(_find_outcome(merge, path) == _find_outcome(first_merge, path) for merge in other_merges):
            if path in first_merge.changes:
                changes[path] = first_merge.changes[path]
            conflicts += [conflict for conflict in first_merge.conflicts if conflict.path == path]
            continue
        disputed_paths.add(path)
        entries = (find_file(first_merge.ours, path), find_file(first_merge.theirs, path))
        document = _intersect_documents(merges, path, file_conflicts)
        if document is not None:
            file_conflicts.add(path, document)
            if hash_blob(document.data) != (entries[0].id if entries[0] else None):
                changes[path] = document.data
            continue
        change = file_conflicts.resolve_file(path, None, *entries)
        if change is not None:
            changes[path] = change
    moved_paths = {
        old: new for old, new in first_merge.moved_paths.items() if not {old, new} & disputed_paths
    }
    resolved_units = [item for item in first_merge.resolved_units if item[0] not in disputed_paths]
    version_paths = {
        path: paths for path, paths in first_merge.version_paths.items() if path not in disputed_paths
    }
    return first_merge._replace(
        changes=changes,
        conflicts=tuple(sorted((*conflicts, *file_conflicts.conflicts), key=lambda conflict: conflict.path)),
        moved_paths=moved_paths,
        resolved_units=(*resolved_units, *file_conflicts.resolved_units),
        version_paths=version_paths,
    )


def _intersect_documents(
    merges: Sequence[Merge], path: str, file_conflicts: FileConflicts
) -> MergedDocument | None:
    """Return the common result for a document; None for a file that is copied without a merge."""
    ours, theirs = merges[0].ours, merges[0].theirs
    entries = [find_file(side, path) for side in (ours, theirs)]
    moved_names = {name for merge in merges for pair in merge.moved_paths.items() for name in pair}
    if (
        path in moved_names
        or file_conflicts.has_file_resolution(path)
        or any(entry is None or entry.mode != FILE_MODE for entry in entries)
    ):
        return None
    results: list[MergedDocument] = []
    for merge in merges:
        conflicts = [item.conflict for item in merge.conflicts if item.path == path]
        data = merge.read(path)
        if data is None or any(item.unit == PATH_UNIT for item in conflicts):
            return None
        resolved_units = tuple(unit for name, unit in merge.resolved_units if name == path)
        results.append(MergedDocument(data, tuple(conflicts), resolved_units))
    # Imported here because a server answers its first requests without parsing a document.
    from workspace.merge.criss_cross import intersect_documents

    try:
        return intersect_documents(
            results, ours.document(path), theirs.document(path), file_conflicts.select_resolutions(path)
        )
    except (DocumentNotFound, LimitExceeded):
        return None


def _list_conflict_paths(merge: Merge) -> list[str]:
    return [conflict.path for conflict in merge.conflicts]


def _find_outcome(merge: Merge, path: str) -> tuple[object, ...]:
    """Return a merge's result for a path, and its units that are in conflict."""
    units = {
        (item.conflict.unit, item.conflict.ours, item.conflict.theirs)
        for item in merge.conflicts
        if item.path == path
    }
    return merge.changes.get(path), units


_MAX_NAMED_PATHS = 5


class MergeConflict(WorkspaceError):
    """An error: both sides changed the same units differently.

    `conflicts` are these units. `tip` is the commit of ours, and `theirs` the commit to be merged into `tip`.
    """

    code: ClassVar[str] = "MERGE_CONFLICT"

    def __init__(self, tip: str | None, conflicts: Sequence[FileConflict], theirs: str | None = None) -> None:
        paths = list(dict.fromkeys(conflict.path for conflict in conflicts))
        named_paths = ", ".join(f"'{path}'" for path in paths[:_MAX_NAMED_PATHS])
        more_text = f" and {len(paths) - _MAX_NAMED_PATHS} more" if len(paths) > _MAX_NAMED_PATHS else ""
        super().__init__(
            f"both sides changed the same parts of {named_paths}{more_text} differently, "
            "so nothing was merged",
            fix="Resolve each conflict with 'ours', 'theirs' or new content, and merge again.",
            tip=tip,
            paths=paths,
        )
        self.conflicts = tuple(conflicts)
        self.tip, self.theirs = tip, theirs


class MergeResult(NamedTuple):
    """The commit that contains both sides; `is_new` is True if this call created it."""

    commit: str
    merge: Merge
    is_new: bool


def commit_merge(
    workspace: Branch,
    branch: str,
    theirs: str,
    *,
    build_message: Callable[[Merge], str],
    resolutions: Resolutions | None = None,
    adjust_merge: Callable[[Merge], Merge] | None = None,
    check_merge: Callable[[Merge], None] | None = None,
    confirm: Callable[[], None] | None = None,
    person: Person | None = None,
) -> MergeResult:
    """Merge a commit into a branch, as one commit with both as parents; nothing is rewritten.

    The first parent is the branch's tip. If another writer moves the branch before the commit, the merge is
    repeated with the new tip. `adjust_merge` may replace a merge without conflicts. `check_merge` is called
    with the result of each merge, and raises an error to refuse the merge. `confirm` may also raise an error;
    it is called under Docyard's lock, right before the commit, so it must be fast. The author is the `person`
    that a token identifies, else Git's configured identity.

    Raises MergeConflict, ReadOnly, SigningRequired, BranchNotFound, Busy, and the errors of `merge_commits`
    and `Publication`.
    """
    store = require_writable(workspace.git)

    def merge_into(tip: str) -> Merge:
        merge = merge_commits(workspace.snapshot(tip), workspace.snapshot(theirs), resolutions)
        if merge.is_up_to_date:
            return merge
        if merge.conflicts:
            raise MergeConflict(tip, merge.conflicts, theirs)
        if adjust_merge is not None:
            merge = adjust_merge(merge)
        if check_merge is not None:
            check_merge(merge)
        check_signing(merge.ours)
        return merge

    tip = _resolve_tip(workspace, branch)
    merge = merge_into(tip)

    def build_batch(new_tip: str | None) -> Batch | None:
        nonlocal tip, merge
        if new_tip != tip:
            tip = new_tip or _resolve_tip(workspace, branch)
            merge = merge_into(tip)
            if merge.is_up_to_date:
                return None
        if confirm is not None:
            confirm()
        author = make_author_signature(workspace, person)
        return Batch(branch, tip, merge.changes, build_message(merge), author, other_parents=(theirs,))

    durable = workspace.durable and workspace.snapshot(tip).config.fsync
    commit = None if merge.is_up_to_date else publish_with_retry(store, branch, build_batch, durable=durable)
    return MergeResult(commit or tip, merge, commit is not None)


def _resolve_tip(workspace: Branch, branch: str) -> str:
    tip = workspace.tip(branch)
    if tip is None:
        raise BranchNotFound(
            f"the target branch '{branch}' does not exist", fix="Name a branch that has a commit."
        )
    return tip
