"""A repository opened for writing objects. It also converts files for its work trees.

This module moves no ref. It also reads Git's index, checks whether a path is ignored, and finds the merge
base of two commits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pygit2
from pygit2.enums import BlobFilter, FilterMode, ObjectType

from workspace.errors import WorkspaceError
from workspace.git import objects
from workspace.git.index_file import IndexFile
from workspace.git.loose import (
    move_broken_object,
    pack_loose,
    read_loose_file,
    repeat_while_pruned,
    write_loose,
)
from workspace.git.objects import Signature, TreeEntry
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository, open_repository, translate_write_errors
from workspace.git.upstream import Upstream
from workspace.git.worktrees import Worktree


class ReadOnly(WorkspaceError):
    """An error: a write to a workspace that was opened for reading."""

    code = "READ_ONLY"

    def __init__(self, fix: str = "Start the server without --read-only.") -> None:
        super().__init__("this workspace is served read-only", fix=fix)


def require_writable(git: GitReader) -> GitStore:
    """Return a repository opened for writing. Raises ReadOnly."""
    if not isinstance(git, GitStore):
        raise ReadOnly
    return git


def hold_upstream(git: GitReader) -> AbstractContextManager[None]:
    """Return a block in which this thread may write to the repository that nodes share, if there is one.

    Raises the errors of `Upstream.hold`.
    """
    upstream = git.upstream if isinstance(git, GitStore) else None
    return nullcontext() if upstream is None else upstream.hold()


class GitStore(GitReader):
    """A repository opened for writing objects. It also has the functions for a checkout of its work tree.

    It never moves a ref; only `workspace.publishing` does. `upstream` is the repository that other nodes
    write too; it is None if this one is written alone.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._stores_by_git_dir: dict[Path, GitStore] = {}
        self._line_ending_settings = self._read_line_ending_settings()
        self._index: IndexFile | None = None
        self._recording = threading.local()
        self.upstream: Upstream | None = None

    @contextmanager
    def record_objects(self, *, durable: bool) -> Iterator[dict[str, bytes]]:
        """Record the loose files of the objects that this thread writes during the block, by id.

        Each object gets a loose file, even if a pack has the object. The copy in the pack may be unreachable,
        and then `git repack` removes it.
        """
        files: dict[str, bytes] = {}
        self._recording.files, self._recording.durable = files, durable
        try:
            yield files
        finally:
            del self._recording.files, self._recording.durable

    def put_blob(self, data: bytes) -> str:
        """Write a blob and return its id."""
        return self._write(ObjectType.BLOB, data)

    def put_tree(self, entries: Iterable[TreeEntry]) -> str:
        """Write a tree of entries in any order and return its id."""
        return self._write(ObjectType.TREE, objects.encode_tree(entries))

    def edit_tree(self, tree: str | None, changes: Mapping[str, TreeEntry | None]) -> str | None:
        """Write a tree with entries set, or removed (None), and return its id; None if no entry remains."""
        with self._lock, translate_write_errors():
            builder = self._repeat_after_repack(lambda: self._build_tree(tree, changes))
            if not len(builder):
                return None

            def write() -> str:
                with translate_write_errors():
                    return str(builder.write())

            def encode() -> bytes:
                entries = {entry.name: entry for entry in self.tree(tree)} if tree else {}
                new_entries = {**entries, **changes}
                return objects.encode_tree(entry for entry in new_entries.values() if entry is not None)

            id = repeat_while_pruned(write)
            if move_broken_object(self.common_dir, id):
                repeat_while_pruned(write)
            self._record(ObjectType.TREE, id, encode)
            return id

    def _build_tree(self, tree: str | None, changes: Mapping[str, TreeEntry | None]) -> pygit2.TreeBuilder:
        """Return a builder of a tree with these changes. libgit2 checks that the new entries exist."""
        old_tree = self._read_tree(tree) if tree else None  # may open the repository again
        builder = self._repo.TreeBuilder(old_tree) if old_tree is not None else self._repo.TreeBuilder()
        for name, entry in changes.items():
            if entry is not None:
                builder.insert(name, entry.id, entry.mode)
            elif builder.get(name) is not None:
                builder.remove(name)
        return builder

    def put_commit(
        self, tree: str, parents: Iterable[str], author: Signature, committer: Signature, message: str
    ) -> str:
        """Write a commit and return its id; no ref moves."""
        data = objects.encode_commit(tree, parents, author, committer, message)
        return self._write(ObjectType.COMMIT, data)

    def for_worktree(self, worktree: Worktree) -> GitStore:
        """Return the same repository, opened with the attributes and settings of a work tree."""
        if worktree.git_dir == self.git_dir:
            return self
        with self._lock:
            if worktree.git_dir not in self._stores_by_git_dir:
                self._stores_by_git_dir[worktree.git_dir] = GitStore(worktree.git_dir)
            return self._stores_by_git_dir[worktree.git_dir]

    def parse_index(self, data: bytes) -> IndexFile:
        """Return Git's index, parsed from these bytes; the last index is cached.

        Raises the errors of `IndexFile`.
        """
        with self._lock:
            if self._index is None or self._index.data != data:
                self._index = IndexFile(data)
            return self._index

    def cache_index(self, index: IndexFile) -> None:
        """Cache the index that the caller has written."""
        with self._lock:
            self._index = index

    def refresh(self) -> None:
        """Apply changed settings for line endings: libgit2 reads them once for a repository."""
        with self._lock:
            settings = self._read_line_ending_settings()
            if settings != self._line_ending_settings:
                repo = open_repository(self._path)
                self._repo.free()
                self._repo = repo
                self._line_ending_settings = settings

    def _read_line_ending_settings(self) -> tuple[str | None, ...]:
        return tuple(
            self.config(f"core.{name}") for name in ("autocrlf", "eol", "safecrlf", "attributesFile")
        )

    def has_foreign_filter(self, path: str) -> bool:
        """Return True if a checkout of this path by Git would run a program or change the encoding."""
        with self._lock:
            names = ("filter", "working-tree-encoding")
            return any(isinstance(self._repo.get_attr(path, name), str) for name in names)

    def convert_to_worktree(self, id: str, path: str) -> bytes:
        """Return a blob's bytes as Git writes them to a path of the work tree, by its end-of-line rules."""
        with self._lock:
            if self._repo.load_filter_list(path, FilterMode.TO_WORKTREE) is None:
                return self.blob(id)
            self._check_object(id)
            # FilterList.apply_to_blob would cut the text at its first NUL.
            blob = self._retry_read(id, lambda: self._repo[id])
            assert isinstance(blob, pygit2.Blob)
            with pygit2.BlobIO(blob, as_path=path, flags=BlobFilter(0)) as stream:
                return bytes(stream.read())

    def hash_worktree_file(self, data: bytes, file: Path, path: str) -> str | None:
        """Return the id of the blob that Git would create for a file; None if Git refuses it (safecrlf)."""
        with self._lock:
            if self._repo.load_filter_list(path, FilterMode.TO_ODB) is None:
                return objects.hash_blob(data)
            # libgit2 does not convert text with CR in the index, so the index must be up to date.
            self._repo.index.read(force=False)
            try:
                return str(self._repo.hashfile(str(file), as_path=path))
            except (OSError, pygit2.GitError):
                return None

    def _write(self, kind: ObjectType, data: bytes) -> str:
        id = objects.hash_object(kind.name.lower(), data)

        def write() -> None:
            with translate_write_errors():
                self._repo.odb.write(kind, data)

        with self._lock:
            # libgit2 does not write an object that exists, even if a power loss left its file empty.
            move_broken_object(self.common_dir, id)
            repeat_while_pruned(write)
            self._record(kind, id, lambda: data)
        return id

    def _record(self, kind: ObjectType, id: str, data: Callable[[], bytes]) -> None:
        """Add a written object to the recording of this thread, if there is one."""
        files: dict[str, bytes] | None = getattr(self._recording, "files", None)
        if files is None:
            return
        file = read_loose_file(self.common_dir, id)
        if file is None:
            file = pack_loose(kind.name.lower(), data())
            write_loose(self.common_dir, id, file, durable=self._recording.durable)
        files[id] = file


_fsync_lock = threading.Lock()
_fsync_users = 0


@contextmanager
def sync_written_objects(durable: bool = True) -> Iterator[None]:
    """Sync objects to disk as they are written, during the block.

    libgit2 has one such switch for the process, so the switch stays on until the last durable writer ends.
    """
    global _fsync_users
    if not durable:
        yield
        return
    with _fsync_lock:
        _fsync_users += 1
        pygit2.settings.enable_fsync_gitdir(True)
    try:
        yield
    finally:
        with _fsync_lock:
            _fsync_users -= 1
            if not _fsync_users:
                pygit2.settings.enable_fsync_gitdir(False)


def read_staged_entries(git: GitReader) -> dict[str, TreeEntry]:
    """Return the entries of Git's index by path; for a path in conflict, the last of its entries.

    Raises DamagedRepository if the index cannot be read.
    """
    with git._lock:
        try:
            index = git._repo.index
            index.read(False)
            return {
                entry.path: TreeEntry(entry.path.rpartition("/")[2], str(entry.id), int(entry.mode))
                for entry in index
            }
        except (OSError, ValueError, pygit2.GitError):
            raise DamagedRepository(
                "Git's index cannot be read",
                fix="`git status` shows the reason; `git reset` rebuilds the index.",
            ) from None


def is_ignored(git: GitReader, path: str) -> bool:
    """Return True if Git ignores an untracked path; a folder's path ends with a slash (gitignore)."""
    with git._lock:
        try:
            return git._repo.path_is_ignored(path)
        except (ValueError, pygit2.GitError):  # a name that cannot be compared with patterns
            return False


def find_merge_base(git: GitReader, left: str, right: str) -> str | None:
    """Return the best common ancestor of two commits (git-merge-base), or None."""
    with git._lock:
        try:
            base = git._repeat_after_repack(lambda: git._repo.merge_base(left, right))
        except (KeyError, ValueError, pygit2.GitError):
            return None
    return str(base) if base else None
