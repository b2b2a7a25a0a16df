"""Trees compared and rewritten by the ids of their entries, so that work follows what changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git.objects import FILE_MODE, TREE_MODE, Entry
from workspace.git.reader import GitReader
from workspace.git.store import GitStore


class PathBlocked(WorkspaceError):
    """Something that is not a regular file stands at a path that would be written, or above it."""

    code: ClassVar[str] = "PATH_BLOCKED"

    def __init__(self, path: str, entry: Entry) -> None:
        kind = "a folder" if entry.is_tree else "a file" if entry.is_blob else "a link or a submodule"
        super().__init__(
            f"`{path}` is {kind}, so this cannot be written", fix="Choose another path.", path=path
        )


class Whole(NamedTuple):
    """What is to stand at a path, of any kind and mode: an entry of another tree; None clears the path."""

    entry: Entry | None


@dataclass(frozen=True, slots=True)
class TreeChange:
    """A path at which two trees differ; `old` or `new` is None where the path does not exist."""

    path: str
    old: Entry | None
    new: Entry | None


def walk(git: GitReader, tree: str) -> Iterator[tuple[str, Entry]]:
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


def find(git: GitReader, tree: str, path: str) -> Entry | None:
    """Return the entry at a path, which may be a folder; None if there is none."""
    *folders, last = path.split("/")
    for folder in folders:
        entry = git.entry(tree, folder)
        if entry is None or not entry.is_tree:
            return None
        tree = entry.id
    return git.entry(tree, last)


def changes(git: GitReader, old: str | None, new: str | None) -> Iterator[TreeChange]:
    """Yield the paths at which two trees differ, folders opened up; None stands for an empty tree.

    Only folders whose ids differ are read, so the cost follows the change and not the size of the trees.
    """
    stack = [("", old, new)] if old != new else []
    while stack:
        prefix, left, right = stack.pop()
        one_side, other_side = git.differing(left, right)
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


def rewrite(store: GitStore, tree: str | None, changes: Mapping[str, str | Whole | None]) -> str:
    """Write the tree that has these blobs at these paths (None removes one), and return its id.

    An existing file keeps its mode; folders that become empty vanish; removing what is not there is nothing.
    What is given as `Whole` takes the place of a file, a link or a submodule.

    Raises:
        PathBlocked: a link, a submodule or a folder is where a file should be, or a file where a folder.
    """
    return _rewrite(store, tree, changes, "") or store.put_tree(())


def _rewrite(
    store: GitStore, tree: str | None, changes: Mapping[str, str | Whole | None], prefix: str
) -> str | None:
    here: dict[str, str | Whole | None] = {}
    below: dict[str, dict[str, str | Whole | None]] = {}
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
        after[name] = Entry(name, folder, TREE_MODE) if folder else None
    for name, id in here.items():
        if id is None or _removes(id):
            continue
        entry = after[name]
        if entry is not None and (entry.is_tree or (isinstance(id, str) and not entry.is_blob)):
            raise PathBlocked(prefix + name, entry)
        if isinstance(id, str):
            after[name] = Entry(name, id, entry.mode if entry else FILE_MODE)
        elif id.entry is not None:
            after[name] = Entry(name, id.entry.id, id.entry.mode)
    if after == before:
        return tree
    return store.edit_tree(tree, after)


def _removes(change: str | Whole | None) -> bool:
    return change is None or (isinstance(change, Whole) and change.entry is None)
