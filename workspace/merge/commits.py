"""Two commits merged: their bases found, and what several bases do not agree on kept as a conflict."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from workspace.config.config import LimitExceeded
from workspace.errors import WorkspaceError
from workspace.git.objects import FILE_MODE, blob_id
from workspace.merge.conflict import MergedDocument
from workspace.merge.deciding import PLACE, Decisions
from workspace.merge.trees import Merge, file_at, merge_snapshots
from workspace.snapshot.snapshot import DocumentNotFound, Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.git.trees import Whole
    from workspace.merge.deciding import Resolutions


class UnrelatedHistories(WorkspaceError):
    """Two commits have no ancestor in common, so nobody can say what either side changed."""

    code: ClassVar[str] = "UNRELATED_HISTORIES"

    def __init__(self, ours: str, theirs: str) -> None:
        super().__init__(
            f"{ours[:7]} and {theirs[:7]} have no commit in common, so they cannot be merged",
            fix="Merge a branch that began in this one.",
            ours=ours,
            theirs=theirs,
        )


def merge_commits(ours: Snapshot, theirs: Snapshot, resolutions: Resolutions | None = None) -> Merge:
    """What a merge of `theirs` makes of `ours`; nothing if ours has it already.

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
    return merges[0] if len(merges) == 1 else _agreed(merges, resolutions)._replace(bases=bases)


def _agreed(merges: Sequence[Merge], resolutions: Resolutions) -> Merge:
    """What several merges of the same commits have in common; the rest is in conflict, unit by unit."""
    first, *others = merges
    decisions = Decisions(first.ours.git, resolutions)
    changes: dict[str, bytes | Whole] = {}
    conflicts = []
    doubtful = set()
    for path in sorted({path for merge in merges for path in (*merge.changes, *_conflicting(merge))}):
        if all(_outcome(merge, path) == _outcome(first, path) for merge in others):
            if path in first.changes:
                changes[path] = first.changes[path]
            conflicts += [found for found in first.conflicts if found.path == path]
            continue
        doubtful.add(path)
        entries = (file_at(first.ours, path), file_at(first.theirs, path))
        document = _agreed_document(merges, path, decisions)
        if document is not None:
            decisions.add(path, document)
            if blob_id(document.data) != (entries[0].id if entries[0] else None):
                changes[path] = document.data
            continue
        change = decisions.whole(path, None, *entries)
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


def _agreed_document(merges: Sequence[Merge], path: str, decisions: Decisions) -> MergedDocument | None:
    """What merges agree on in a document that all of them have merged; None for a file as a whole."""
    ours, theirs = merges[0].ours, merges[0].theirs
    entries = [file_at(side, path) for side in (ours, theirs)]
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
    from workspace.merge.criss_cross import agreed

    try:
        return agreed(results, ours.document(path), theirs.document(path), decisions.of(path))
    except (DocumentNotFound, LimitExceeded):
        return None


def _conflicting(merge: Merge) -> list[str]:
    return [found.path for found in merge.conflicts]


def _outcome(merge: Merge, path: str) -> tuple[object, ...]:
    """What a merge says of a path: what it makes of it, and which of its units are in conflict."""
    units = {
        (found.conflict.unit, found.conflict.ours, found.conflict.theirs)
        for found in merge.conflicts
        if found.path == path
    }
    return merge.changes.get(path), units
