"""The merge of two commits: the search for their bases, the merge over several bases, and its publication."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.branch import BranchNotFound
from workspace.errors import LimitExceeded, WorkspaceError
from workspace.git.objects import FILE_MODE, hash_blob
from workspace.git.store import require_writable
from workspace.merge.conflict import MergedDocument
from workspace.merge.trees import PLACE, FileConflicts, Merge, find_file, merge_snapshots
from workspace.publishing.batch import Batch
from workspace.publishing.publish import publish_with_retry
from workspace.snapshot.snapshot import DocumentNotFound, Snapshot
from workspace.writing.write import author_now, check_signing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.branch import Branch
    from workspace.git.trees import WholeEntry
    from workspace.merge.trees import FileConflict, Merge, Resolutions
    from workspace.policy.tokens import Person


class UnrelatedHistories(WorkspaceError):
    """Two commits have no common ancestor, so the changes of each side are unknown."""

    code: ClassVar[str] = "UNRELATED_HISTORIES"

    def __init__(self, ours: str, theirs: str) -> None:
        super().__init__(
            f"{ours[:7]} and {theirs[:7]} have no commit in common, so they cannot be merged",
            fix="Merge a branch that began in this one.",
            ours=ours,
            theirs=theirs,
        )


def merge_commits(ours: Snapshot, theirs: Snapshot, resolutions: Resolutions | None = None) -> Merge:
    """Return the merge of `theirs` into `ours`; it is empty if ours already has theirs.

    Both are commits of one repository. Where they have several bases (a criss-cross), a unit of a document,
    or another file, is merged only if every base gives the same, because a base made of several would be
    nobody's.

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
    """Return the common result of several merges of the same commits; the rest is in conflict."""
    first, *others = merges
    decisions = FileConflicts(first.ours.git, resolutions)
    changes: dict[str, bytes | WholeEntry] = {}
    conflicts = []
    doubtful = set()
    for path in sorted({path for merge in merges for path in (*merge.changes, *_find_conflicting(merge))}):
        if all(_find_outcome(merge, path) == _find_outcome(first, path) for merge in others):
            if path in first.changes:
                changes[path] = first.changes[path]
            conflicts += [found for found in first.conflicts if found.path == path]
            continue
        doubtful.add(path)
        entries = (find_file(first.ours, path), find_file(first.theirs, path))
        document = _intersect_documents(merges, path, decisions)
        if document is not None:
            decisions.add(path, document)
            if hash_blob(document.data) != (entries[0].id if entries[0] else None):
                changes[path] = document.data
            continue
        change = decisions.resolve_file(path, None, *entries)
        if change is not None:
            changes[path] = change
    moved = {old: new for old, new in first.moved.items() if not {old, new} & doubtful}
    resolved = [found for found in first.resolved if found[0] not in doubtful]
    sources = {path: found for path, found in first.sources.items() if path not in doubtful}
    return first._replace(
        changes=changes,
        conflicts=tuple(sorted((*conflicts, *decisions.conflicts), key=lambda found: found.path)),
        moved=moved,
        resolved=(*resolved, *decisions.resolved),
        sources=sources,
    )


def _intersect_documents(
    merges: Sequence[Merge], path: str, decisions: FileConflicts
) -> MergedDocument | None:
    """Return the common result for a document that all merges have merged; None for a file taken whole."""
    ours, theirs = merges[0].ours, merges[0].theirs
    entries = [find_file(side, path) for side in (ours, theirs)]
    moved = {name for merge in merges for pair in merge.moved.items() for name in pair}
    if path in moved or decisions.is_decided(path) or any(e is None or e.mode != FILE_MODE for e in entries):
        return None
    results: list[MergedDocument] = []
    for merge in merges:
        found = [item.conflict for item in merge.conflicts if item.path == path]
        data = merge.read(path)
        if data is None or any(item.unit == PLACE for item in found):
            return None
        resolved = tuple(unit for name, unit in merge.resolved if name == path)
        results.append(MergedDocument(data, tuple(found), resolved))
    # Imported here because a server answers its first questions without reading a document.
    from workspace.merge.criss_cross import intersect_documents

    try:
        return intersect_documents(
            results, ours.document(path), theirs.document(path), decisions.select_resolutions(path)
        )
    except (DocumentNotFound, LimitExceeded):
        return None


def _find_conflicting(merge: Merge) -> list[str]:
    return [found.path for found in merge.conflicts]


def _find_outcome(merge: Merge, path: str) -> tuple[object, ...]:
    """Return a merge's result for a path, and its units that are in conflict."""
    units = {
        (found.conflict.unit, found.conflict.ours, found.conflict.theirs)
        for found in merge.conflicts
        if found.path == path
    }
    return merge.changes.get(path), units


_NAMED = 5


class MergeConflict(WorkspaceError):
    """Both sides changed the same units differently: `conflicts`, and the tip with which they conflict.

    `theirs` is the commit that was to be merged into it.
    """

    code: ClassVar[str] = "MERGE_CONFLICT"

    def __init__(self, tip: str | None, conflicts: Sequence[FileConflict], theirs: str | None = None) -> None:
        paths = list(dict.fromkeys(found.path for found in conflicts))
        named = ", ".join(f"'{path}'" for path in paths[:_NAMED])
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        super().__init__(
            f"both sides changed the same parts of {named}{more} differently, so nothing was merged",
            fix="Decide each conflict for 'ours', 'theirs' or new content, and merge again.",
            tip=tip,
            paths=paths,
        )
        self.conflicts = tuple(conflicts)
        self.tip, self.theirs = tip, theirs


class MergeResult(NamedTuple):
    """The commit that holds both sides; `is_new` is True if this call made it."""

    commit: str
    merge: Merge
    is_new: bool


def commit_merge(
    workspace: Branch,
    branch: str,
    theirs: str,
    *,
    message: Callable[[Merge], str],
    resolutions: Resolutions | None = None,
    adjust: Callable[[Merge], Merge] | None = None,
    check: Callable[[Merge], None] | None = None,
    confirm: Callable[[], None] | None = None,
    person: Person | None = None,
) -> MergeResult:
    """Merge a commit into a branch, as one commit with both as parents; nothing is rewritten.

    The first parent is the branch's tip. If another writer moves the branch meanwhile, the merge is made
    again with the new tip, and `check`, which may raise what refuses it, is asked again. `confirm` is asked
    in the writer's turn, right before the commit: it must be quick. `adjust` may replace what a merge without
    conflicts makes, before it is checked. The author is the `person` that a token
    has proved, else Git's configured identity.

    Raises MergeConflict, what `merge_commits` raises, ReadOnly, SigningRequired, Busy, and what `Publication`
    raises.
    """
    store = require_writable(workspace.git)

    def merged(tip: str) -> Merge:
        merge = merge_commits(workspace.snapshot(tip), workspace.snapshot(theirs), resolutions)
        if merge.is_done:
            return merge
        if merge.conflicts:
            raise MergeConflict(tip, merge.conflicts, theirs)
        if adjust is not None:
            merge = adjust(merge)
        if check is not None:
            check(merge)
        check_signing(merge.ours)
        return merge

    tip = _tip(workspace, branch)
    merge = merged(tip)

    def build(now: str | None) -> Batch | None:
        nonlocal tip, merge
        if now != tip:
            tip = now or _tip(workspace, branch)
            merge = merged(tip)
            if merge.is_done:
                return None
        if confirm is not None:
            confirm()
        author = author_now(workspace, person)
        return Batch(branch, tip, merge.changes, message(merge), author, parents=(theirs,))

    durable = workspace.durable and workspace.snapshot(tip).config.fsync
    commit = None if merge.is_done else publish_with_retry(store, branch, build, durable=durable)
    return MergeResult(commit or tip, merge, commit is not None)


def _tip(workspace: Branch, branch: str) -> str:
    tip = workspace.tip(branch)
    if tip is None:
        raise BranchNotFound(f"no branch '{branch}' to merge into", fix="Name one that has a commit.")
    return tip
