"""What a folder holds: the folders in it, each with how many documents are below, and its documents."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import nearest
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.snapshot.snapshot import Snapshot


class Folder(NamedTuple):
    """A folder, and how many documents are in it and below."""

    path: str
    documents: int

    @property
    def name(self) -> str:
        """Its own name."""
        return self.path.rpartition("/")[2]


class Listed(NamedTuple):
    """What is in a folder: its folders and its own documents by name, and all documents below it."""

    folders: Sequence[Folder]
    documents: Sequence[str]
    below: Sequence[str]


def listed(snapshot: Snapshot, folder: str) -> Listed:
    """What a folder holds; the empty path is the top one. Raises DocumentNotFound if there is no document."""
    paths = list(snapshot.documents)
    if folder:
        # Paths are in order, so that those of a folder stand side by side: `0` comes right after `/`.
        paths = paths[bisect_left(paths, f"{folder}/") : bisect_left(paths, f"{folder}0")]
        if not paths:
            raise not_found(snapshot, folder)
    start = len(folder) + 1 if folder else 0
    counts: Counter[str] = Counter()
    documents = []
    for path in paths:
        name, slash, _ = path[start:].partition("/")
        if slash:
            counts[name] += 1
        else:
            documents.append(path)
    folders = [Folder(path_in(folder, name), count) for name, count in counts.items()]
    folders.sort(key=lambda one: by_name(one.path))
    return Listed(folders, sorted(documents, key=by_name), paths)


def path_in(folder: str, name: str) -> str:
    """The path of a name in a folder; the empty path is the top one."""
    return f"{folder}/{name}" if folder else name


def by_name(path: str) -> tuple[str, str]:
    """As people sort names: capital letters make no difference, and what introduces a folder comes first."""
    name = path.rpartition("/")[2].casefold()
    return ("" if name.partition(".")[0] in ("readme", "index") else name, path)


def not_found(snapshot: Snapshot, folder: str) -> DocumentNotFound:
    """The error for a folder without documents, with the nearest folders."""
    folders = {
        path.rsplit("/", depth)[0] for path in snapshot.documents for depth in range(1, path.count("/") + 1)
    }
    close = nearest(folder, sorted(folders))
    return DocumentNotFound(
        f"there is no folder '{folder[:200]}' with documents",
        fix=f"Did you mean '{close[0]}'?" if close else "Begin at the top of the library.",
        folders=close,
    )
