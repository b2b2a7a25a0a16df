"""The one door to pygit2: a repository's commits, trees, blobs, branches and configuration.

Ids are 40 hexadecimal digits everywhere outside this module. A `GitReader` has no method that writes, so a
read-only server that holds one cannot; `GitStore` adds objects, and never moves a ref. Both may be shared by
threads: each call takes the repository's lock, because libgit2's handles are not safe to share without one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import pygit2
from pygit2.enums import BlobFilter, FilterMode, ObjectType, ReferenceType
from pygit2.ffi import C, ffi

from workspace import objects, opening, worktrees
from workspace.errors import WorkspaceError
from workspace.objects import Commit, Entry, Head, Signature
from workspace.opening import NotARepository, UnsupportedRepository
from workspace.worktrees import Worktree, common_dir_of

__all__ = [
    "Commit",
    "DamagedRepository",
    "Entry",
    "GitReader",
    "GitStore",
    "Head",
    "IndexEntry",
    "IndexFile",
    "NotARepository",
    "Signature",
    "UnsupportedRepository",
    "Worktree",
    "durable_objects",
    "initialise",
]

_HEADS = "refs/heads/"


class DamagedRepository(WorkspaceError):
    """An object or a ref that ought to be in the repository is missing or broken."""

    code: ClassVar[str] = "DAMAGED_REPO"

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message, fix="Run `git fsck` in the repository.", **details)


class GitReader:
    """A repository opened for reading: normal, bare, or a linked work tree, also when unborn or detached.

    `git_dir` is this work tree's own Git directory, `common_dir` the one that all its work trees share, and
    `worktree` the folder of files (None in a bare repository).

    Raises:
        NotARepository: `path` is not inside a repository.
        UnsupportedRepository: Docyard does not open repositories of this kind.
    """

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self._repo = _open(path)
        self.git_dir = Path(self._repo.path or "")
        self.common_dir = common_dir_of(self.git_dir)
        self.worktree = Path(self._repo.workdir) if self._repo.workdir else None
        self.bare = self._repo.is_bare

    def head(self) -> Head:
        """What this work tree has checked out."""
        with self._lock:
            head = self._repo.lookup_reference("HEAD")
            if head.type != ReferenceType.SYMBOLIC:
                return Head(None, str(head.target))
            target = str(head.target)
            if target.startswith(_HEADS):
                branch = target.removeprefix(_HEADS)
                return Head(branch, self.tip(branch))
            return Head(None, self._target(target))

    def branches(self) -> tuple[str, ...]:
        """The names of the local branches, sorted."""
        with self._lock:
            raw = self._repo.raw_listall_branches()
        return tuple(sorted(name.decode("utf-8", "surrogateescape") for name in raw))

    def tip(self, branch: str) -> str | None:
        """The id of a local branch's commit, read afresh; None if it is unborn or a symbolic ref."""
        with self._lock:
            return self._target(_HEADS + branch)

    def is_branch_name(self, branch: str) -> bool:
        """Whether Git accepts this as a branch's name (git-check-ref-format)."""
        try:
            return not branch.startswith("-") and pygit2.reference_is_valid_name(_HEADS + branch)
        except ValueError:
            return False

    def commit(self, id: str) -> Commit:
        """A commit by its id; `DamagedRepository` if it is not there or is something else."""
        return objects.parse_commit(id, self._read(id, ObjectType.COMMIT))

    def has(self, id: str) -> bool:
        """Whether an object of any kind is here."""
        with self._lock:
            return id in self._repo.odb

    def tree(self, id: str) -> tuple[Entry, ...]:
        """A tree's entries, in Git's order."""
        return objects.parse_tree(self._read(id, ObjectType.TREE))

    def entry(self, tree: str, name: str) -> Entry | None:
        """The entry of one name in a tree, found without reading the others; None if there is none."""
        with self._lock:
            try:
                found = self._tree(tree)[name]
            except (KeyError, TypeError, UnicodeEncodeError):  # a name with a surrogate is no path
                return None
            return Entry(name, str(found.id), int(found.filemode))

    def blob(self, id: str) -> bytes:
        """A blob's bytes."""
        return self._read(id, ObjectType.BLOB)

    def blob_size(self, id: str) -> int:
        """A blob's length in bytes, without reading it."""
        with self._lock:
            try:
                return self._repo.odb.read_header(id)[1]
            except (KeyError, pygit2.GitError):
                raise _missing(id) from None

    def config(self, name: str) -> str | None:
        """A value of Git's configuration, such as `core.autocrlf`, the system's and the user's included."""
        with self._lock:
            try:
                return str(self._repo.config[name])
            except (KeyError, ValueError):
                return None

    def config_flag(self, name: str, default: bool = False) -> bool:
        """A value of Git's configuration as a boolean (git-config "boolean")."""
        with self._lock:
            try:
                return self._repo.config.get_bool(name)
            except (KeyError, ValueError, pygit2.GitError):
                return default

    def identity(self) -> tuple[str, str] | None:
        """The configured `user.name` and `user.email`, or None unless both are set."""
        name, email = self.config("user.name"), self.config("user.email")
        return (name, email) if name and email else None

    def worktree_of(self, branch: str) -> Worktree | None:
        """The first work tree, main or linked, in which a branch is checked out or being rebased."""
        return next(iter(self.worktrees_of(branch)), None)

    def worktrees_of(self, branch: str) -> tuple[Worktree, ...]:
        """Every work tree, main or linked, in which a branch is checked out or being rebased."""
        return worktrees.worktrees_of(branch, self.common_dir, self._main)

    @cached_property
    def _main(self) -> Path | None:
        if self.git_dir == self.common_dir:
            return self.worktree
        folder = pygit2.Repository(str(self.common_dir)).workdir
        if folder and self.common_dir.name != ".git" and self.config("core.worktree") is None:
            # A Git directory that stands apart: only its own work tree knows where that is, so it counts as
            # missing from here.
            return self.common_dir / "worktree"
        return Path(folder) if folder else None

    def _target(self, name: str) -> str | None:
        try:
            ref = self._repo.lookup_reference(name)
        except (KeyError, ValueError):
            return None
        except pygit2.GitError:
            raise DamagedRepository("a branch of the repository cannot be read", ref=name) from None
        return None if ref.type == ReferenceType.SYMBOLIC else str(ref.target)

    def _tree(self, id: str) -> pygit2.Tree:
        try:
            found = self._repo[id]
        except (KeyError, ValueError, pygit2.GitError):
            raise _missing(id) from None
        if not isinstance(found, pygit2.Tree):
            raise _missing(id)
        return found

    def _read(self, id: str, kind: ObjectType) -> bytes:
        with self._lock:
            try:
                found, data = self._repo.odb.read(id)
            except (KeyError, ValueError, pygit2.GitError):
                raise _missing(id) from None
        if found != kind:
            raise _missing(id)
        return data


class GitStore(GitReader):
    """A repository opened for writing objects, with what a checkout of its work tree needs.

    It never moves a ref: that is `workspace.publishing`.
    """

    def put_blob(self, data: bytes) -> str:
        """Write a blob and return its id."""
        return self._write(ObjectType.BLOB, data)

    def put_tree(self, entries: Iterable[Entry]) -> str:
        """Write a tree of entries in any order and return its id."""
        return self._write(ObjectType.TREE, objects.tree_bytes(entries))

    def edit_tree(self, tree: str | None, changes: Mapping[str, Entry | None]) -> str | None:
        """Write a tree with entries set, or removed (None), and return its id; None if nothing is left."""
        with self._lock:
            builder = self._repo.TreeBuilder(self._tree(tree)) if tree else self._repo.TreeBuilder()
            for name, entry in changes.items():
                if entry is not None:
                    builder.insert(name, entry.id, entry.mode)
                elif builder.get(name) is not None:
                    builder.remove(name)
            return str(builder.write()) if len(builder) else None

    def put_commit(
        self, tree: str, parents: Iterable[str], author: Signature, committer: Signature, message: str
    ) -> str:
        """Write a commit and return its id; no ref moves."""
        data = objects.commit_bytes(tree, parents, author, committer, message)
        return self._write(ObjectType.COMMIT, data)

    def at(self, worktree: Worktree) -> GitStore:
        """The same repository seen from one of its work trees, whose attributes and settings count."""
        return self if worktree.git_dir == self.git_dir else GitStore(worktree.git_dir)

    def foreign_filter(self, path: str) -> bool:
        """Whether Git would run a program or change the encoding when it checks this path out."""
        with self._lock:
            names = ("filter", "working-tree-encoding")
            return any(isinstance(self._repo.get_attr(path, name), str) for name in names)

    def checked_out(self, id: str, path: str) -> bytes:
        """A blob's bytes as Git writes them to a path of the work tree, by its end-of-line rules."""
        with self._lock:
            if self._repo.load_filter_list(path, FilterMode.TO_WORKTREE) is None:
                return self.blob(id)
            # FilterList.apply_to_blob would cut the text at its first NUL.
            blob = self._repo[id]
            assert isinstance(blob, pygit2.Blob)
            with pygit2.BlobIO(blob, as_path=path, flags=BlobFilter(0)) as stream:
                return bytes(stream.read())

    def checked_in(self, data: bytes, file: Path, path: str) -> str | None:
        """The id of the blob that Git would make of a file's bytes; None where Git refuses (safecrlf)."""
        with self._lock:
            if self._repo.load_filter_list(path, FilterMode.TO_ODB) is None:
                return objects.blob_id(data)
            # Text that has CR in the index is left alone, so the index must be the present one.
            self._repo.index.read(force=False)
            try:
                return str(self._repo.hashfile(str(file), as_path=path))
            except (OSError, pygit2.GitError):
                return None

    def _write(self, kind: ObjectType, data: bytes) -> str:
        with self._lock:
            return str(self._repo.odb.write(kind, data))


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What Git's index holds of one path."""

    id: str
    mode: int
    intent_to_add: bool
    skip_worktree: bool


class _Index(pygit2.Index):
    # pygit2 frees this also when it could not be opened.
    _index = ffi.NULL


class IndexFile:
    """A private copy of Git's index; entries that are not touched are written back as they were."""

    def __init__(self, path: Path) -> None:
        try:
            self._index = _Index(str(path))
        except (OSError, pygit2.GitError):
            raise DamagedRepository("Git's index cannot be read") from None

    def __len__(self) -> int:
        return len(self._index)

    @property
    def conflicted(self) -> bool:
        """Whether a path is unmerged."""
        return self._index.conflicts is not None

    def entry(self, path: str) -> IndexEntry | None:
        """The entry of a path, or None."""
        try:
            found = self._index[path]
        except KeyError:
            return None
        # pygit2's own entries leave the flags out (index-format, "16-bit flags", version 3).
        flags = C.git_index_get_bypath(self._index._index, os.fsencode(path), 0).flags_extended
        return IndexEntry(str(found.id), int(found.mode), bool(flags & 1 << 13), bool(flags & 1 << 14))

    def put(self, path: str, id: str, mode: int) -> None:
        """Set a path's blob; Git compares the file itself at its next look, since no times are set."""
        self._index.add(pygit2.IndexEntry(path, pygit2.Oid(hex=id), pygit2.enums.FileMode(mode)))

    def remove(self, path: str) -> None:
        """Take a path out."""
        self._index.remove(path)

    def write(self) -> None:
        """Write the file, under another name first."""
        self._index.write()


_fsync_lock = threading.Lock()
_fsync_users = 0


@contextmanager
def durable_objects(durable: bool = True) -> Iterator[None]:
    """While it lasts, objects are synced to disk as they are written.

    libgit2 has one such switch for the process, so it stays on until the last durable writer has left.
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


def initialise(path: Path, branch: str | None = None) -> None:
    """Make a repository in a folder, which is made too. Nothing is committed; no template or hook is copied.

    Its branch is the one given, else the user's `init.defaultBranch`, else `main`. Errors: OSError if the
    folder cannot be written.
    """
    if branch is None:
        try:
            branch = pygit2.Config.get_global_config()["init.defaultBranch"]
        except (KeyError, OSError, pygit2.GitError):
            branch = "main"
    path.mkdir(parents=True, exist_ok=True)
    try:
        pygit2.init_repository(str(path), initial_head=branch)
    except (ValueError, pygit2.GitError) as error:
        raise OSError(str(error)) from error


def _open(path: Path) -> pygit2.Repository:
    try:
        found = pygit2.discover_repository(str(path))
    except (KeyError, ValueError, pygit2.GitError):
        found = None
    if not found:
        raise opening.not_a_repository(path)
    git_dir = Path(found)
    settings: dict[str, str] = {}
    try:
        for file in (common_dir_of(git_dir) / "config", git_dir / "config.worktree"):
            if file.exists():
                settings |= {entry.name: entry.value or "" for entry in pygit2.Config(str(file))}
    except (ValueError, OSError, pygit2.GitError):
        raise opening.unreadable_config() from None
    refusal = opening.unsupported(settings)
    if refusal is not None:
        raise refusal
    try:
        # Not `found`: a Git directory that stands apart does not know its work tree.
        return pygit2.Repository(str(path))
    except (OSError, pygit2.GitError):
        raise opening.refused(git_dir) from None


def _missing(id: str) -> DamagedRepository:
    return DamagedRepository("an object of the repository is missing or broken", id=id)
