"""The tree of changed documents beside the changes.

The browser marks documents as viewed. A mark names the digest of both versions of the document, so it is void
when one of them changes. Marks are stored only in the browser: they prove nothing.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from docyard.web.diff.diff import format_element_id

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from docyard.web.page_request import PageRequest
    from workspace.diff.changes import DocumentChangeKind
    from workspace.proposals.review.changes import CommitChanges
    from workspace.snapshot.snapshot import Snapshot


class TreeFile(NamedTuple):
    """A changed document: the id of its element, the digest of its two versions, and its kind of change."""

    name: str
    url: str
    id: str
    digest: str
    is_current: bool
    kind: DocumentChangeKind


class ChangedFolder(NamedTuple):
    """A folder with its changed documents; the path of the top folder is empty."""

    path: str
    files: tuple[TreeFile, ...]


def build_file_tree(
    request: PageRequest,
    changes: CommitChanges,
    shown_paths: Collection[str],
    current_path: str | None,
    build_url: Callable[[str], str],
) -> list[ChangedFolder]:
    """Return the folders with changed documents, sorted by path.

    Documents of the page are linked on it; for the others, `build_url` returns the URL of their page.
    """
    old = request.workspace.snapshot(changes.base) if changes.base is not None else None
    new = request.workspace.snapshot(changes.tip) if changes.tip is not None else None
    folders: dict[str, list[TreeFile]] = {}
    for document in sorted(changes.documents, key=lambda item: item.path):
        folder, _, name = document.path.rpartition("/")
        id = format_element_id(document.path)
        folders.setdefault(folder, []).append(
            TreeFile(
                name,
                f"#{id}" if document.path in shown_paths else build_url(document.path),
                id,
                _digest_versions(old, document.old_path, new, document.path),
                document.path == current_path,
                document.kind,
            )
        )
    return [ChangedFolder(path, tuple(folders[path])) for path in sorted(folders)]


def _digest_versions(old: Snapshot | None, old_path: str | None, new: Snapshot | None, path: str) -> str:
    entries = (
        snapshot.entry(name) if snapshot is not None and name is not None else None
        for snapshot, name in ((old, old_path), (new, path))
    )
    versions = " ".join(entry.id if entry is not None else "-" for entry in entries)
    return hashlib.sha256(versions.encode()).hexdigest()[:12]
