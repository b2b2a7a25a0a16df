"""The folders of a snapshot: their subfolders and documents, sorted by name."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace.nearest import find_nearest
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.snapshot.snapshot import Snapshot


class Folder(NamedTuple):
    """A folder, and the number of documents in it and below."""

    path: str
    document_count: int

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition("/")[2]


class FolderContents(NamedTuple):
    """The subfolders and the documents of a folder, sorted by name, and all documents below the folder."""

    folders: Sequence[Folder]
    documents: Sequence[str]
    documents_below: Sequence[str]


def list_folder(snapshot: Snapshot, folder: str) -> FolderContents:
    """Return the contents of a folder; the empty path is the top folder.

    Raises DocumentNotFound if a folder other than the top folder contains no documents.
    """
    paths = list(snapshot.documents)
    if folder:
        # Paths are sorted, so those of a folder are adjacent: `0` is the character after `/`.
        paths = paths[bisect_left(paths, f"{folder}/") : bisect_left(paths, f"{folder}0")]
        if not paths:
            raise build_not_found_error(snapshot, folder)
    start = len(folder) + 1 if folder else 0
    counts: Counter[str] = Counter()
    documents = []
    for path in paths:
        name, slash, _ = path[start:].partition("/")
        if slash:
            counts[name] += 1
        else:
            documents.append(path)
    folders = [Folder(join_path(folder, name), count) for name, count in counts.items()]
    folders.sort(key=lambda child: build_sort_key(child.path))
    return FolderContents(folders, sorted(documents, key=build_sort_key), paths)


def join_path(folder: str, name: str) -> str:
    """Return the path of a name in a folder; the empty path is the top folder."""
    return f"{folder}/{name}" if folder else name


def build_sort_key(path: str) -> tuple[str, str]:
    """Return the key that sorts paths by name without regard to case, with README and index first."""
    name = path.rpartition("/")[2].casefold()
    return ("" if name.partition(".")[0] in ("readme", "index") else name, path)


def build_not_found_error(snapshot: Snapshot, folder: str) -> DocumentNotFound:
    """Return the error for a folder without documents, with the nearest folders."""
    folders = {
        path.rsplit("/", depth)[0] for path in snapshot.documents for depth in range(1, path.count("/") + 1)
    }
    nearest = find_nearest(folder, sorted(folders))
    return DocumentNotFound(
        f"there is no folder '{folder[:200]}' with documents",
        fix=f"Did you mean '{nearest[0]}'?" if nearest else "Start at the top of the library.",
        folders=nearest,
    )
