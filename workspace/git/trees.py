"""Comparison and rewriting of trees by the ids of their entries; unchanged folders are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

from workspace.errors import WorkspaceError
from workspace.git.objects import FILE_MODE, TREE_MODE, TreeEntry
from workspace.git.reader import GitReader
from workspace.git.store import GitStore


class PathBlocked(WorkspaceError):
    """An error: a path that cannot be written, because the path or a folder above it has another kind."""

    code: ClassVar[str] = "PATH_BLOCKED"

    def __init__(self, path: str, entry: TreeEntry) -> None:
        kind = "a folder" if entry.is_tree else "a file" if entry.is_blob else "a link or a submodule"
        super().__init__(
            f"`{path}` is {kind}, so the change cannot be written", fix="Choose another path.", path=path
        )


class WholeEntry(NamedTuple):
    """An entry of any kind and mode to write at a path; None removes the entry at the path."""

    entry: TreeEntry | None


@dataclass(frozen=True, slots=True)
class TreeChange:
    """A path at which two trees differ; `old` or `new` is None if the path is missing there."""

    path: str
    old: TreeEntry | None
    new: TreeEntry | None


def walk_tree(git: GitReader, tree: str) -> Iterator[tuple[str, TreeEntry]]:
    """Yield every path below a tree that is not a folder, with its entry, in Git's order."""
    stack = [("", iter(git.tree(tree)))]
    while stack:
        prefix, entries = stack[-1]
        for entry in entries:
            if entry.is_tree:
                stack.append((f"{prefix}{entry.name}/", iter(git.tree(entry.id))))
                break
            yield prefix + entry.name, entry
        else:
            stack.pop()


def find_in_tree(git: GitReader, tree: str, path: str) -> TreeEntry | None:
    """Return the entry at a path, which may be a folder, or None."""
    *folders, name = path.split("/")
    for folder in folders:
        entry = git.entry(tree, folder)
        if entry is None or not entry.is_tree:
            return None
        tree = entry.id
    return git.entry(tree, name)


class TreeSource(Protocol):
    """The trees of a repository, as `GitReader` and `Graph` compare them."""

    def compare_trees(
        self, left: str | None, right: str | None
    ) -> tuple[tuple[TreeEntry, ...], tuple[TreeEntry, ...]]:
        """Return the entries that only `left` has, and those of only `right`; None means an empty tree."""
        ...


def diff_trees(
    source: TreeSource,
    old: str | None,
    new: str | None,
    expands: Callable[[str], bool] = lambda folder: True,
) -> Iterator[TreeChange]:
    """Yield the paths at which two trees differ, with folders expanded; None means an empty tree.

    Only folders whose ids differ are read, so the cost depends on the change, not on the size of the trees.
    `expands` gets the path of a folder with a final slash; if it returns False, this path is yielded instead
    of those below it.
    """
    stack = [("", old, new)] if old != new else []
    while stack:
        prefix, left, right = stack.pop()
        removed_entries, added_entries = source.compare_trees(left, right)
        removed_by_name = {entry.name: entry for entry in removed_entries}
        added_by_name = {entry.name: entry for entry in added_entries}
        folders = []
        for name in sorted(removed_by_name.keys() | added_by_name.keys()):
            old_entry, new_entry = removed_by_name.get(name), added_by_name.get(name)
            if old_entry == new_entry:
                continue
            tree_ids = (
                old_entry.id if old_entry and old_entry.is_tree else None,
                new_entry.id if new_entry and new_entry.is_tree else None,
            )
            if tree_ids[0] != tree_ids[1]:
                folder = f"{prefix}{name}/"
                if expands(folder):
                    folders.append((folder, *tree_ids))
                else:
                    yield TreeChange(folder, old_entry, new_entry)
            files = (
                old_entry if old_entry and not old_entry.is_tree else None,
                new_entry if new_entry and not new_entry.is_tree else None,
            )
            if files != (None, None):
                yield TreeChange(prefix + name, *files)
        stack.extend(reversed(folders))


def rewrite_tree(store: GitStore, tree: str | None, changes: Mapping[str, str | WholeEntry | None]) -> str:
    """Write a tree with these blobs at these paths (None removes a path), and return its id.

    An existing file keeps its mode. Empty folders are removed. The removal of a missing file is ignored. A
    `WholeEntry` replaces a file, a link or a submodule.

    Raises:
        PathBlocked: a link, a submodule or a folder is at the path of a file, or a file at that of a folder.
    """
    return _rewrite_folder(store, tree, changes, "") or store.put_tree(())


def _rewrite_folder(
    store: GitStore, tree: str | None, changes: Mapping[str, str | WholeEntry | None], prefix: str
) -> str | None:
    file_changes: dict[str, str | WholeEntry | None] = {}
    changes_by_folder: dict[str, dict[str, str | WholeEntry | None]] = {}
    for path, change in changes.items():
        name, slash, path_below = path.partition("/")
        if slash:
            changes_by_folder.setdefault(name, {})[path_below] = change
        else:
            file_changes[name] = change
    names = file_changes.keys() | changes_by_folder.keys()
    old_entries = {name: store.entry(tree, name) if tree else None for name in names}
    new_entries = dict(old_entries)
    # Removals come first, so that one batch can replace a file by a folder of its name, and the reverse.
    for name in [name for name, change in file_changes.items() if _is_removal(change)]:
        entry = new_entries[name]
        if entry is not None and (entry.is_blob or (file_changes[name] is not None and not entry.is_tree)):
            new_entries[name] = None
        elif entry is not None and not entry.is_tree:
            raise PathBlocked(prefix + name, entry)
    for name, folder_changes in changes_by_folder.items():
        entry = new_entries[name]
        if entry is not None and not entry.is_tree:
            if all(map(_is_removal, folder_changes.values())):
                continue
            raise PathBlocked(prefix + name, entry)
        folder = _rewrite_folder(store, entry.id if entry else None, folder_changes, f"{prefix}{name}/")
        new_entries[name] = TreeEntry(name, folder, TREE_MODE) if folder else None
    for name, change in file_changes.items():
        if change is None or _is_removal(change):
            continue
        entry = new_entries[name]
        if entry is not None and (entry.is_tree or (isinstance(change, str) and not entry.is_blob)):
            raise PathBlocked(prefix + name, entry)
        if isinstance(change, str):
            new_entries[name] = TreeEntry(name, change, entry.mode if entry else FILE_MODE)
        elif change.entry is not None:
            new_entries[name] = TreeEntry(name, change.entry.id, change.entry.mode)
    if new_entries == old_entries:
        return tree
    return store.edit_tree(tree, new_entries)


def _is_removal(change: str | WholeEntry | None) -> bool:
    return change is None or (isinstance(change, WholeEntry) and change.entry is None)
