"""Dependencies of tasks that a merge broke: one side named a task that the other moved or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.errors import LimitExceeded
from workspace.git.trees import diff_trees
from workspace.snapshot.snapshot import DocumentNotFound, LfsTextMissing
from workspace.task_graph import find_task, list_references, may_have_dependencies

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.document.document import Document
    from workspace.merge.trees import Merge
    from workspace.snapshot.snapshot import Snapshot


def list_broken_dependencies(merge: Merge, commit: str) -> list[str]:
    """Return the dependencies (`path#id`) that name no task in the commit of a merge.

    Only documents that differ from the merge base are read. A dependency that named no task on one of the
    sides is left out, because the merge did not break it. Documents that are too large are skipped.
    """
    merged = merge.ours.at(commit)
    base_tree = merged.git.commit(merge.bases[0]).tree
    paths = [change.path for change in diff_trees(merged.git, base_tree, merged.tree)]
    broken = _list_unknown_dependencies(merged, paths)
    if broken:
        broken_paths = {path for path, _ in broken}
        for side in (merge.ours, merge.theirs):
            broken -= _list_unknown_dependencies(side, broken_paths)
    return sorted({reference for _, reference in broken})


def _list_unknown_dependencies(snapshot: Snapshot, paths: Iterable[str]) -> set[tuple[str, str]]:
    """Return the dependencies of open tasks that name no task, with the paths of their documents."""

    def find_document(path: str) -> Document | None:
        try:
            return snapshot.document(path)
        except (DocumentNotFound, LimitExceeded, LfsTextMissing):
            return None

    unknown: set[tuple[str, str]] = set()
    for path in paths:
        if path not in snapshot.documents or not may_have_dependencies(snapshot.read(path)):
            continue
        document = find_document(path)
        for task in document.all_tasks if document is not None else ():
            if not task.is_done:
                references = list_references(path, task.dependencies)
                unknown |= {(path, name) for name in references if find_task(find_document, name) is None}
    return unknown
