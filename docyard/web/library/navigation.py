"""The navigation tree next to a document or folder: the folders on the way to it, with their neighbours.

Only the folders above the page, and the folder of the page, are listed, and each with a limited number of
entries. So the tree of many thousand documents is as large as that of a few hundred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from docyard.web.library.folders import build_sort_key, join_path, list_folder
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from docyard.web.library.folders import Folder, FolderContents
    from workspace.snapshot.snapshot import Snapshot

T = TypeVar("T")
MAX_SIBLINGS, MAX_SIBLINGS_ABOVE = 24, 8
"""The maximum number of listed folders, and also of documents: in the folder of the page, and in others."""

_MAX_DEPTH = 10  # of the listed folders below the top folder
_MAX_CACHED_NAMES = 200_000


class TreeFolder(NamedTuple):
    """A listed folder: its folders and documents near the page in order, and how many others there are.

    `open_folder` is the one of `folders` that leads to the page; None in the folder of the page.
    """

    path: str
    folders: Sequence[Folder]
    documents: Sequence[str]
    omitted_count: int
    open_folder: TreeFolder | None

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition("/")[2]


_cached_contents: LRUCache[tuple[str | None, str], FolderContents] = LRUCache(
    _MAX_CACHED_NAMES, lambda contents: len(contents.folders) + len(contents.documents) + 1
)


def build_tree(
    snapshot: Snapshot, folder: str, document: str = "", removed_paths: Collection[str] = ()
) -> TreeFolder | None:
    """Return the tree that leads to a folder, or to a document in it; None if there are no documents.

    `removed_paths` are documents that the snapshot does not have and that are listed. Without a document, the
    documents of the folder are left out, because its page lists them. Raises DocumentNotFound if the folder
    has no documents.
    """
    if not snapshot.documents:
        return None
    parts = folder.split("/") if folder else []
    paths = ["/".join(parts[:depth]) for depth in range(len(parts) + 1)]
    tree: TreeFolder | None = None
    for path in reversed([*paths[:1], *paths[1:][-_MAX_DEPTH:]]):
        contents = _list_contents(snapshot, path)
        limit = MAX_SIBLINGS if tree is None else MAX_SIBLINGS_ABOVE
        start = len(path) + 1 if path else 0
        # Folders above the listed ones may be left out.
        open_path = join_path(path, tree.path[start:].partition("/")[0]) if tree is not None else ""
        position = next((i for i, item in enumerate(contents.folders) if item.path == open_path), 0)
        folders = select_near(contents.folders, position, limit)
        all_documents = contents.documents if tree is not None or document else ()
        removed = [item for item in removed_paths if item.rpartition("/")[0] == path and all_documents]
        all_documents = sorted({*all_documents, *removed}, key=build_sort_key) if removed else all_documents
        position = all_documents.index(document) if tree is None and document else 0
        documents = select_near(all_documents, position, limit)
        omitted_count = len(contents.folders) + len(all_documents) - len(folders) - len(documents)
        tree = TreeFolder(path, folders, documents, omitted_count, tree)
    return tree


def select_near(items: Sequence[T], position: int, limit: int) -> Sequence[T]:
    """Return at most `limit` adjacent items, with the item at a position near their middle."""
    start = max(0, min(position - limit // 2, len(items) - limit))
    return items[start : start + limit]


def _list_contents(snapshot: Snapshot, folder: str) -> FolderContents:
    """Return the contents of a folder without the documents below its subfolders."""
    return _cached_contents.get(
        (snapshot.tree, folder), lambda: list_folder(snapshot, folder)._replace(documents_below=())
    )
