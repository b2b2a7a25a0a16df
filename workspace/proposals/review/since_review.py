"""The changes of a proposal since a commit that was reviewed, without the changes of its target.

A refresh, or a rebase, adds changes of the target to a proposal. So the reviewed commit is first merged with
the commit of the target on which the proposal is based now, in memory. The result is the reviewed version as
a refresh alone would have left it, and only its differences from the current version are changes of authors.
If that merge has conflicts, the reviewed text is used for them, so the differences show how they were
resolved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.diff.trees import compare_document
from workspace.errors import WorkspaceError
from workspace.git.objects import FILE_MODE, hash_blob
from workspace.merge.commits import UnrelatedHistories, merge_commits
from workspace.merge.file_tree import MergedFileTree
from workspace.proposals.review.changes import (
    MAX_DOCUMENTS,
    CommitChanges,
    compare_commits,
    list_changed_paths,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.diff.changes import DocumentChange
    from workspace.document.document import Document
    from workspace.merge.trees import Merge
    from workspace.proposals.events import Author
    from workspace.proposals.proposal import Proposal, Review
    from workspace.snapshot.snapshot import Snapshot


class ChangesSinceReview(NamedTuple):
    """The changes since a reviewed commit, which is their base.

    `merged_paths` are the documents whose old text no commit has, because changes of the target were merged
    into the reviewed text.
    """

    changes: CommitChanges
    merged_paths: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Return True if nothing has changed."""
        return not self.changes.documents and not self.changes.files


def find_last_review(proposal: Proposal, author: Author) -> Review | None:
    """Return the last review by a person: an approval, a request for changes, or comments sent together.

    A single comment is no review.
    """
    return next(
        (status.review for status in reversed(proposal.reviews) if status.review.author.is_same(author)), None
    )


def compare_with_reviewed(reviewed: Snapshot, new: Snapshot, base: Snapshot | None) -> ChangesSinceReview:
    """Return the changes from a reviewed commit to a proposal's tip.

    `base` is the commit of the target on which the tip is based; None if they are unrelated. Raises
    ShallowHistory, DamagedRepository.
    """
    if reviewed.commit == new.commit:
        return ChangesSinceReview(CommitChanges(reviewed.commit, new.commit))
    try:
        merge = merge_commits(reviewed, base) if base is not None else None
    except UnrelatedHistories:
        merge = None
    if merge is None or not merge.changes:
        return ChangesSinceReview(compare_commits(reviewed, new))
    return _compare_merge(merge, new)


def _compare_merge(merge: Merge, new: Snapshot) -> ChangesSinceReview:
    """Return the differences from the result of a merge to a commit."""
    reviewed, files = merge.ours, MergedFileTree(merge)
    paths = sorted(
        path
        for path in list_changed_paths(reviewed, new).union(merge.changes)
        if not _is_same(merge, new, path)
    )
    new_paths = _find_renames(merge, new, paths)
    if len(paths) > MAX_DOCUMENTS:
        reason = f"{len(paths):,} files are too many to compare word by word"
        return ChangesSinceReview(CommitChanges(reviewed.commit, new.commit, (), tuple(paths), reason))
    documents: list[DocumentChange] = []
    other_paths: list[str] = []
    for path in paths:
        if path in new_paths.values():
            continue  # listed with its old path
        new_path = new_paths.get(path, path)
        change = compare_document(files.document(path), _read_document(new, new_path))
        if change is None:
            other_paths.append(path)
        else:
            documents.append(change)
    documents.sort(key=lambda change: change.path)
    merged_paths = frozenset(
        change.path for change in documents if (change.old_path or change.path) in merge.changes
    )
    changes = CommitChanges(reviewed.commit, new.commit, tuple(documents), tuple(other_paths))
    return ChangesSinceReview(changes, merged_paths)


def _is_same(merge: Merge, new: Snapshot, path: str) -> bool:
    """Return True if a commit has the same file at a path as the result of a merge."""
    merged, entry = merge.entry(path), new.entry(path)
    if entry is None or merged is None:
        return entry is None and merged is None
    if isinstance(merged, bytes):
        return (entry.id, entry.mode) == (hash_blob(merged), FILE_MODE)
    return (entry.id, entry.mode) == (merged.id, merged.mode)


def _find_renames(merge: Merge, new: Snapshot, paths: Sequence[str]) -> Mapping[str, str]:
    """Return the new path of each document among `paths` that was renamed since the review."""
    reviewed = merge.ours
    if reviewed.tree is None or new.tree is None:
        return {}
    removed = [path for path in paths if new.entry(path) is None]
    added = {path for path in paths if merge.entry(path) is None}
    if not removed or not added:
        return {}
    renames = Renames(new.git, reviewed.tree, new.tree, new.config.is_document)
    candidates = {
        path: new_path
        for path in removed
        if (new_path := renames.find_new_path(path)) is not None and new_path in added
    }
    return {
        path: new_path for path, new_path in candidates.items() if [*candidates.values()].count(new_path) == 1
    }


def _read_document(snapshot: Snapshot, path: str) -> Document | None:
    """Return the document at a path; None if there is none, or if it cannot be read."""
    if not snapshot.config.is_document(path):
        return None
    try:
        return snapshot.document(path)
    except WorkspaceError:
        return None
