"""Branches whose commits or files Git's housekeeping has removed, and the objects to rebuild them.

An object is restored exactly from the copies of publications, from Git's index, or from the files of the work
tree. The trees of the checked-out commit are built from the entries of the index. If the tip or one of its
folders cannot be restored, the branch gets a new commit with the files of the index. A branch is never moved
back automatically, because another clone may have the missing objects.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.git.loose import is_loose, pack_loose, write_loose
from workspace.git.objects import (
    SUBMODULE_MODE,
    TREE_MODE,
    Signature,
    TreeEntry,
    encode_tree,
    hash_blob,
    hash_object,
)
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore, read_staged_entries, sync_written_objects
from workspace.publishing import refs
from workspace.publishing.batch_objects import CopiedObject, read_copied_objects
from workspace.publishing.locks import docyard_lock
from workspace.publishing.refs import BranchRef
from workspace.publishing.repair import find_last_complete_commit, is_complete_commit
from workspace.publishing.staging_folder import StagingFolder

REBUILT_TRAILER = "Docyard-Rebuilt"
"""The trailer with the id of a commit that could not be restored, in the commit that replaces it."""

_REFLOG_ENTRY = re.compile(r"[0-9a-f]{40} ([0-9a-f]{40}) (.*?) <([^>]*)> (\d+) ([-+])(\d\d)(\d\d)\t(.*)")


class MissingObject(NamedTuple):
    """An object that is not in the repository. `path` is the path of a tree or blob in the commit."""

    kind: str
    id: str
    path: str = ""


class PrunedBranch(NamedTuple):
    """A branch that reaches missing objects.

    `can_rebuild` is True if some of the objects can be restored, or the tip can be replaced.
    """

    branch: str
    tip: str
    missing_objects: tuple[MissingObject, ...]
    can_rebuild: bool


class RebuildResult(NamedTuple):
    """The result for a branch: its restored and its unrestorable objects, and its new tip if it moved.

    An unrestorable object is a missing object that neither copies, Git's index nor the work tree contain.
    """

    restored_count: int
    unrestorable_objects: tuple[MissingObject, ...]
    new_tip: str | None = None


def find_pruned_branches(git: GitReader, served_branch: str | None) -> Iterator[PrunedBranch]:
    """Yield the local branches with missing objects, the served branch first.

    Missing documents of the served branch that no copy has are omitted: the check of documents reports them.
    """
    visited_trees: set[str] = set()
    for branch in sorted(git.branches(), key=lambda branch: (branch != served_branch, branch)):
        try:
            tip = git.tip(branch)
        except DamagedRepository:  # the check for torn refs reports this branch
            continue
        if tip is None:
            continue
        missing_objects = tuple(_find_missing_objects(git, tip, visited_trees))
        if missing_objects:
            restorable_objects = _RestorableObjects(git, branch)
            if branch == served_branch:
                missing_objects = tuple(
                    missing_object
                    for missing_object in missing_objects
                    if not restorable_objects.is_uncopied_document(missing_object)
                )
        if missing_objects:
            can_rebuild = any(
                restorable_objects.find(missing_object) is not None for missing_object in missing_objects
            )
            if not can_rebuild and _is_unusable(tip, missing_objects):
                can_rebuild = restorable_objects.find_replacement(tip) is not None
            yield PrunedBranch(branch, tip, missing_objects, can_rebuild)


def rebuild_branch(store: GitStore, pruned_branch: PrunedBranch) -> RebuildResult | None:
    """Write restorable objects again, and replace a tip that cannot be restored.

    Return None, without a change, if the branch has moved meanwhile.

    Raises:
        Locked: another Docyard is writing, or another program has the branch's lock.
        OSError: the system refused a write.
    """
    with docyard_lock(store.common_dir):
        if store.tip(pruned_branch.branch) != pruned_branch.tip:
            return None
        restorable_objects = _RestorableObjects(store, pruned_branch.branch)
        restored_count, unrestorable_by_id, commits = 0, dict[str, MissingObject](), {pruned_branch.tip}
        while missing_objects := _find_all_missing_objects(store, commits, unrestorable_by_id):
            for missing_object in missing_objects:
                data = restorable_objects.find(missing_object)
                if data is None:
                    unrestorable_by_id[missing_object.id] = missing_object
                    continue
                file = pack_loose(missing_object.kind, data)
                write_loose(store.common_dir, missing_object.id, file, durable=True)
                restored_count += 1
                if missing_object.kind == "commit":
                    commits.add(missing_object.id)
        unrestorable_objects = tuple(unrestorable_by_id.values())
        replacement = (
            restorable_objects.find_replacement(pruned_branch.tip)
            if _is_unusable(pruned_branch.tip, unrestorable_objects)
            else None
        )
        if replacement is None:
            return RebuildResult(restored_count, unrestorable_objects)
        commit = _commit_index(store, restorable_objects, replacement)
        if not _move_branch(store, pruned_branch, commit, replacement):
            return RebuildResult(restored_count, unrestorable_objects)
        return RebuildResult(restored_count, unrestorable_objects, commit)


def read_matching_file(git: GitReader, path: str, blob: str) -> bytes | None:
    """Return the bytes of a blob from its file in the work tree; None if no file has these bytes."""
    if git.worktree is None:
        return None
    try:
        data = (git.worktree / path).read_bytes()
    except OSError:
        return None
    # The file may contain the committed text with the line endings of Windows.
    for text in (data, data.replace(b"\r\n", b"\n")):
        if hash_blob(text) == blob:
            return text
    return None


class _Replacement(NamedTuple):
    """The replacement of a tip that cannot be restored.

    `base_commit` is the last complete commit, or a fetched commit. Author and subject are those of the last
    move of the branch.
    """

    base_commit: str
    author: Signature
    subject: str
    replaced_tip: str


class _RestorableObjects:
    """The objects of a branch that copies of publications, Git's index or the work tree contain."""

    def __init__(self, git: GitReader, branch: str) -> None:
        self._git = git
        self._branch = branch
        self._checkout: GitReader | None = None
        worktrees = git.worktrees_of(branch)
        if len(worktrees) == 1 and worktrees[0].path.is_dir():
            git_dir = worktrees[0].git_dir
            self._checkout = git if git_dir == git.git_dir else GitReader(worktrees[0].path)

    def is_uncopied_document(self, missing_object: MissingObject) -> bool:
        """Return True if a missing object is a document that no copy has."""
        return missing_object.path.endswith(DOCUMENT_SUFFIXES) and missing_object.id not in self._copies

    def find(self, missing_object: MissingObject) -> bytes | None:
        """Return the data of a missing object; None if no source has it."""
        copied_object = self._copies.get(missing_object.id)
        if copied_object is not None and copied_object.kind == missing_object.kind:
            return copied_object.data
        if missing_object.kind == "tree":
            return self.index_trees.get(missing_object.id)
        if missing_object.kind == "blob" and self._checkout is not None:
            return read_matching_file(self._checkout, missing_object.path, missing_object.id)
        return None

    def find_replacement(self, tip: str) -> _Replacement | None:
        """Return the replacement of an unrestorable tip.

        Return None if a file of Git's index cannot be restored, or if no commit is complete.
        """
        if not self.index_trees or any(self._find_staged_data(path) is None for path in self.index_entries):
            return None
        base_commit = find_last_complete_commit(self._git, self._branch, ()).commit
        base_commit = base_commit or self._find_fetched_commit()
        if base_commit is None:
            return None
        author, subject = self._read_last_move()
        return _Replacement(base_commit, author, subject, tip)

    def _find_staged_data(self, path: str) -> bytes | None:
        """Return the data of a missing file of the index, or None if it cannot be restored.

        Return b"" for a file that the repository has, and for a submodule.
        """
        entry = self.index_entries[path]
        if entry.mode == SUBMODULE_MODE or _is_present(self._git, entry.id):
            return b""
        return self.find(MissingObject("blob", entry.id, path))

    def list_missing_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the id and the data of the files of the index that are not in the repository."""
        for path, entry in self.index_entries.items():
            data = self._find_staged_data(path)
            if data is not None and entry.mode != SUBMODULE_MODE and not _is_present(self._git, entry.id):
                yield entry.id, data

    @cached_property
    def index_entries(self) -> Mapping[str, TreeEntry]:
        """Return the entries of Git's index in the branch's checkout, by path."""
        try:
            return read_staged_entries(self._checkout) if self._checkout is not None else {}
        except DamagedRepository:
            return {}

    @cached_property
    def index_trees(self) -> dict[str, bytes]:
        """Return the trees that a commit of Git's index would have, by id; the root is last."""
        folders: dict[str, list[TreeEntry]] = {"": []}
        for path, entry in self.index_entries.items():
            folder = path.rpartition("/")[0]
            folders.setdefault(folder, []).append(entry)
            while folder:
                folder = folder.rpartition("/")[0]
                folders.setdefault(folder, [])
        trees: dict[str, bytes] = {}
        for folder in sorted(folders, key=lambda folder: (-folder.count("/") - bool(folder), folder)):
            data = encode_tree(folders[folder])
            id = hash_object("tree", data)
            trees.pop(id, None)
            trees[id] = data
            if folder:
                parent, _, name = folder.rpartition("/")
                folders[parent].append(TreeEntry(name, id, TREE_MODE))
        return trees if self.index_entries else {}

    @cached_property
    def _copies(self) -> Mapping[str, CopiedObject]:
        return read_copied_objects(self._git.common_dir)

    def _find_fetched_commit(self) -> str | None:
        """Return the commit of a remote branch with the same name, if the commit is complete."""
        for name in self._git.remotes():
            commit = self._git.commit_at(f"refs/remotes/{name}/{self._branch}")
            if commit is not None and is_complete_commit(self._git, commit):
                return commit
        return None

    def _read_last_move(self) -> tuple[Signature, str]:
        """Return the author and the subject of the branch's last move, by its reflog.

        Without a readable entry, return the identity of the user, and an empty subject.
        """
        file = self._git.common_dir / "logs" / "refs" / "heads" / self._branch
        try:
            log = file.read_text("utf-8", "replace")
        except OSError:
            log = ""
        match = _REFLOG_ENTRY.fullmatch(log.splitlines()[-1]) if log else None
        if match is None:
            return Signature(*(self._git.identity() or ("docyard", "")), int(time.time())), ""
        _, name, email, seconds, sign, hours, minutes, action = match.groups()
        offset = (int(hours) * 60 + int(minutes)) * (-1 if sign == "-" else 1)
        return Signature(name, email, int(seconds), offset), action.partition(": ")[2]


def _find_all_missing_objects(
    git: GitReader, commits: Collection[str], excluded_ids: Collection[str]
) -> list[MissingObject]:
    """Return the missing objects of some commits, each once, except those in `excluded_ids`."""
    visited_trees: set[str] = set()
    missing_by_id = {
        missing_object.id: missing_object
        for commit in commits
        for missing_object in _find_missing_objects(git, commit, visited_trees)
    }
    return [missing_object for id, missing_object in missing_by_id.items() if id not in excluded_ids]


def _find_missing_objects(git: GitReader, tip: str, visited_trees: set[str]) -> Iterator[MissingObject]:
    """Yield the missing objects of a commit: the commit, its parents, its trees and its files."""
    if not _is_present(git, tip):
        yield MissingObject("commit", tip)
        return
    commit = git.commit(tip)
    boundary = git.boundary()
    if tip not in boundary:
        yield from (
            MissingObject("commit", parent) for parent in commit.parents if not _is_present(git, parent)
        )
    stack = [("", commit.tree)]
    while stack:
        path, tree = stack.pop()
        if tree in visited_trees:
            continue
        if not _is_present(git, tree):
            yield MissingObject("tree", tree, path)
            continue
        has_all_files = True
        for entry in git.tree(tree):
            inner_path = f"{path}/{entry.name}".removeprefix("/")
            if entry.is_tree:
                stack.append((inner_path, entry.id))
            elif entry.mode != SUBMODULE_MODE and not _is_present(git, entry.id):
                has_all_files = False
                yield MissingObject("blob", entry.id, inner_path)
        if has_all_files:
            visited_trees.add(tree)


def _is_present(git: GitReader, id: str) -> bool:
    return is_loose(git.common_dir, id) or git.has_object(id)


def _is_unusable(tip: str, missing_objects: tuple[MissingObject, ...]) -> bool:
    """Return True if a branch cannot be read, because its commit or a folder is missing, not only files."""
    return any(
        missing_object.kind == "tree" or missing_object.id == tip for missing_object in missing_objects
    )


def _commit_index(store: GitStore, restorable_objects: _RestorableObjects, replacement: _Replacement) -> str:
    """Write a commit of Git's index with its objects, on top of the base commit of the replacement."""
    trees = restorable_objects.index_trees
    for id, data in restorable_objects.list_missing_files():
        write_loose(store.common_dir, id, pack_loose("blob", data), durable=True)
    for id, data in trees.items():
        write_loose(store.common_dir, id, pack_loose("tree", data), durable=True)
    message = (
        f"{replacement.subject or 'Rebuild a lost commit'}\n\n"
        "Made by docyard doctor from Git's index, because the commit was missing.\n\n"
        f"{REBUILT_TRAILER}: {replacement.replaced_tip}\n"
    )
    with sync_written_objects():
        return store.put_commit(
            [*trees][-1], (replacement.base_commit,), replacement.author, replacement.author, message
        )


def _move_branch(
    store: GitStore, pruned_branch: PrunedBranch, commit: str, replacement: _Replacement
) -> bool:
    """Move a branch from its unrestorable tip to a commit; return False if the branch has moved."""
    staging_folder = StagingFolder.make(store.common_dir, durable=True)
    ref = BranchRef(store, pruned_branch.branch, staging_folder)
    try:
        ref.prepare(commit, "ref")
        ref.acquire()
        if store.tip(pruned_branch.branch) != pruned_branch.tip:
            return False
        ref.move("ref")
        logs = refs.find_reflogs(store, pruned_branch.branch, is_bare=store.is_bare)
        refs.append_to_reflogs(
            logs,
            pruned_branch.tip,
            commit,
            replacement.author,
            "docyard doctor: the previous commit is missing",
        )
        return True
    finally:
        if ref.release():
            staging_folder.clear()
