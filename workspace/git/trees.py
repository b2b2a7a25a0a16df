"""Comparison and rewriting of trees by the ids of their entries; unchanged folders are skipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git.objects import FILE_MODE, TREE_MODE, TreeEntry
from workspace.git.reader import GitReader
from workspace.git.store import GitStore


class PathBlocked(WorkspaceError):
    """A path to be written, or a folder above it, is not a regular file or folder."""

    code: ClassVar[str] = "PATH_BLOCKED"

    def __init__(self, path: str, entry: TreeEntry) -> None:
        kind = "a folder" if entry.is_tree else "a file" if entry.is_blob else "a link or a submodule"
        super().__init__(
            f"`{path}` is {kind}, so this cannot be written", fix="Choose another path.", path=path
        )


class WholeEntry(NamedTuple):
    """The entry to place at a path, of any kind and mode: one of another tree; None clears the path."""

    entry: TreeEntry | None


@dataclass(frozen=True, slots=True)
class TreeChange:
    """A path at which two trees differ; `old` or `new` is None if the path does not exist."""

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
    *folders, last = path.split("/")
    for folder in folders:
        entry = git.entry(tree, folder)
        if entry is None or not entry.is_tree:
            return None
        tree = entry.id
    return git.entry(tree, last)


def diff_trees(git: GitReader, old: str | None, new: str | None) -> Iterator[TreeChange]:
    """Yield the paths at which two trees differ, with folders expanded; None means an empty tree.

    Only folders whose ids differ are read, so the cost follows the change and not the size of the trees.
    """
    stack = [("", old, new)] if old != new else []
    while stack:
        prefix, left, right = stack.pop()
        one_side, other_side = git.compare_trees(left, right)
        before = {entry.name: entry for entry in one_side}
        after = {entry.name: entry for entry in other_side}
        folders = []
        for name in sorted(before.keys() | after.keys()):
            one, two = before.get(name), after.get(name)
            if one == two:
                continue
            below = (one.id if one and one.is_tree else None, two.id if two and two.is_tree else None)
            if below[0] != below[1]:
                folders.append((f"{prefix}{name}/", *below))
            file = (one if one and not one.is_tree else None, two if two and not two.is_tree else None)
            if file != (None, None):
                yield TreeChange(prefix + name, *file)
        stack.extend(reversed(folders))


def rewrite_tree(store: GitStore, tree: str | None, changes: Mapping[str, str | WholeEntry | None]) -> str:
    """Write the tree that has these blobs at these paths (None removes one), and return its id.

    An existing file has the same mode afterwards. Empty folders are removed. A missing file can be removed.
    A `WholeEntry` replaces a file, a link or a submodule.

    Raises:
        PathBlocked: a link, a submodule or a folder is at the path of a file, or a file at that of a folder.
    """
    return _rewrite(store, tree, changes, "") or store.put_tree(())


def _rewrite(
    store: GitStore, tree: str | None, changes: Mapping[str, str | WholeEntry | None], prefix: str
) -> str | None:
    here: dict[str, str | WholeEntry | None] = {}
    below: dict[str, dict[str, str | WholeEntry | None]] = {}
    for path, id in changes.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = id
        else:
            here[name] = id
    names = here.keys() | below.keys()
    before = {name: store.entry(tree, name) if tree else None for name in names}
    after = dict(before)
    # Removals come first, so that a file may give way to a folder of its name in one batch, and the reverse.
    for name in [name for name, id in here.items() if _removes(id)]:
        entry = after[name]
        if entry is not None and (entry.is_blob or (here[name] is not None and not entry.is_tree)):
            after[name] = None
        elif entry is not None and not entry.is_tree:
            raise PathBlocked(prefix + name, entry)
    for name, inner in below.items():
        entry = after[name]
        if entry is not None and not entry.is_tree:
            if all(map(_removes, inner.values())):
                continue
            raise PathBlocked(prefix + name, entry)
        folder = _rewrite(store, entry.id if entry else None, inner, f"{prefix}{name}/")
        after[name] = TreeEntry(name, folder, TREE_MODE) if folder else None
    for name, id in here.items():
        if id is None or _removes(id):
            continue
        entry = after[name]
        if entry is not None and (entry.is_tree or (isinstance(id, str) and not entry.is_blob)):
            raise PathBlocked(prefix + name, entry)
        if isinstance(id, str):
            after[name] = TreeEntry(name, id, entry.mode if entry else FILE_MODE)
        elif id.entry is not None:
            after[name] = TreeEntry(name, id.entry.id, id.entry.mode)
    if after == before:
        return tree
    return store.edit_tree(tree, after)


def _removes(change: str | WholeEntry | None) -> bool:
    return change is None or (isinstance(change, WholeEntry) and change.entry is None)
