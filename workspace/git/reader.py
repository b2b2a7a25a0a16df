"""A read-only view of a repository: objects, branches, work trees and configuration.

A `GitReader` has no method that writes, so a server that only has a reader cannot write. Threads may share a
reader: each call takes the repository's lock, because libgit2's handles are not thread-safe.

Commits, trees and blobs are read by their ids, from loose files or packs. The name of an object is a branch,
a tag, another ref, or a prefix of its id (gitrevisions(7)).
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import ClassVar, TypeVar

import pygit2
from pygit2.enums import FileStatus, ObjectType, ReferenceType

from workspace.errors import WorkspaceError
from workspace.git import objects, worktrees
from workspace.git.ancestry import Graph, is_descendant
from workspace.git.loose import BrokenObject, LargeObject, is_loose, is_shortage, read_loose
from workspace.git.merge_bases import Ancestry, find_best_common_ancestors
from workspace.git.objects import Commit, Head, TreeEntry
from workspace.git.repository import (
    DamagedRepository,
    check_repository_exists,
    describe_cause,
    make_missing_object_error,
    open_repository,
)
from workspace.git.tree_comparison import TreeComparison
from workspace.git.worktrees import Worktree, find_common_dir

_MAX_CHECKED_IDS = 50_000
_MAX_TAG_CHAIN = 10  # a tag can name another tag
_MAX_ATTEMPTS = 5
_REOPEN_INTERVAL_S = 1.0  # a reopened repository is treated as up to date for this time
_LIBGIT2_ERRORS = (KeyError, ValueError, OSError, pygit2.GitError)
T = TypeVar("T")


class ObjectReader:
    """The objects of a repository; safe in several threads.

    `common_dir` is the Git directory that all its work trees share. For an id of an object that is missing,
    broken, or of another kind, methods raise `DamagedRepository`. If the system has too few open files or too
    little memory for a read, they raise OSError.
    """

    def __init__(self, repo: pygit2.Repository, common_dir: Path) -> None:
        self._lock = threading.RLock()
        self._checked_ids: set[str] = set()
        self._repo = repo
        self._packs: frozenset[str] | None = None
        self._reopen_time = 0.0
        self.common_dir = common_dir

    def commit(self, id: str) -> Commit:
        """Return a commit by its id."""
        return objects.parse_commit(id, self._read(id, ObjectType.COMMIT))

    def commit_data(self, id: str, loose_folders: frozenset[str]) -> bytes:
        """Return a commit's bytes.

        `loose_folders` are the folders of loose objects, read once by a caller that reads thousands of
        objects.
        """
        return self._read_loose_of_kind(id, "commit", loose_folders) or self._read_stored(
            id, ObjectType.COMMIT
        )

    def tree(self, id: str) -> tuple[TreeEntry, ...]:
        """Return a tree's entries, in Git's order."""
        return objects.parse_tree(self._read(id, ObjectType.TREE))

    def tree_data(self, id: str, loose_folders: frozenset[str]) -> bytes:
        """Return a tree's bytes; `loose_folders` has the same meaning as in `commit_data`."""
        return self._read_loose_of_kind(id, "tree", loose_folders) or self._read_stored(id, ObjectType.TREE)

    def loose_folders(self) -> frozenset[str]:
        """Return the first two digits of the ids of loose objects (gitrepository-layout, "objects")."""
        try:
            return frozenset(name for name in os.listdir(self.common_dir / "objects") if len(name) == 2)
        except OSError:  # the repository was removed; the next read of an object raises the error
            return frozenset()

    def entry(self, tree: str, name: str) -> TreeEntry | None:
        """Return the entry of one name in a tree, or None; the other entries are not parsed."""
        with self._lock:
            try:
                item = self._read_tree(tree)[name]
            except (KeyError, TypeError, UnicodeEncodeError):  # a name with a surrogate is not a path
                return None
            return TreeEntry(name, str(item.id), int(item.filemode))

    def compare_trees(
        self, left: str | None, right: str | None
    ) -> tuple[tuple[TreeEntry, ...], tuple[TreeEntry, ...]]:
        """Return the entries that only `left` has, and those of only `right`; None means an empty tree."""
        return self._comparison.compare(left, right)

    def blob(self, id: str) -> bytes:
        """Return a blob's bytes."""
        return self._read(id, ObjectType.BLOB)

    def data(self, id: str, kind: str) -> bytes:
        """Return the bytes of an object; `kind` is "blob", "tree" or "commit"."""
        return self._read(id, ObjectType[kind.upper()])

    def blob_within(self, id: str, max_bytes: int) -> bytes | None:
        """Return a blob's bytes; None, without reading them, if they are more than `max_bytes`."""
        try:
            return self._read(id, ObjectType.BLOB, max_bytes)
        except LargeObject:
            return None

    def blob_size(self, id: str) -> int:
        """Return a blob's length in bytes, without reading it."""
        with self._lock:
            self._check_object(id)
            return self._retry_read(id, lambda: self._repo.odb.read_header(id))[1]

    def has_object(self, id: str) -> bool:
        """Return True if the repository has an object of any kind with this id."""
        with self._lock:
            return id in self._repo.odb

    def find_missing_on_disk(self, ids: Iterable[str]) -> list[str]:
        """Return the ids of the objects that are now neither in a loose file nor in a pack.

        `has_object` also finds objects in libgit2's cache, and in packs that were removed meanwhile. So the
        repository is opened again, but only if one of the objects is not loose.
        """
        not_loose_ids = [id for id in ids if not is_loose(self.common_dir, id)]
        if not not_loose_ids:
            return []
        repo = self._open()
        try:
            database = repo.odb
            return [id for id in not_loose_ids if id not in database]
        finally:
            repo.free()

    def peel(self, id: str) -> tuple[str, str]:
        """Return the kind ("commit", "tree" or "blob") and id of an object, or of a tag's final target."""
        for _ in range(_MAX_TAG_CHAIN):
            with self._lock:
                self._check_object(id)
                kind = self._retry_read(id, lambda: self._repo.odb.read_header(id))[0]  # noqa: B023
            if kind != ObjectType.TAG:
                return kind.name.lower(), id
            # The first line of a tag contains the id of its object.
            id = self._read(id, ObjectType.TAG)[len(b"object ") :][:40].decode("ascii", "replace")
        raise self._make_missing_error(id, "it is a chain of too many tags")

    @cached_property
    def _comparison(self) -> TreeComparison:
        return TreeComparison(lambda id: self._read(id, ObjectType.TREE))

    def _read_tree(self, id: str) -> pygit2.Tree:
        self._check_object(id)
        tree = self._retry_read(id, lambda: self._repo[id])
        if not isinstance(tree, pygit2.Tree):
            raise self._make_missing_error(id, "it is not a tree")
        return tree

    def _read_loose_of_kind(self, id: str, kind: str, loose_folders: frozenset[str]) -> bytes | None:
        """Return the bytes of a loose object; None if it is not loose."""
        loose_object = self._read_loose(id) if id[:2] in loose_folders else None
        if loose_object is not None and loose_object[0] != kind:
            raise self._make_missing_error(id, f"it is not a {kind}")
        return loose_object[1] if loose_object is not None else None

    def _read(self, id: str, kind: ObjectType, max_bytes: int | None = None) -> bytes:
        loose_object = self._read_loose(id, max_bytes)
        if loose_object is not None:
            if loose_object[0] != kind.name.lower():
                raise self._make_missing_error(id, f"it is not a {kind.name.lower()}")
            self._mark_checked(id)
            return loose_object[1]
        return self._read_stored(id, kind, max_bytes)

    def _read_stored(self, id: str, kind: ObjectType, max_bytes: int | None = None) -> bytes:
        """Return an object's bytes as libgit2 reads them: from a pack, or from an alternate."""
        with self._lock:
            if (
                max_bytes is not None
                and self._retry_read(id, lambda: self._repo.odb.read_header(id))[1] > max_bytes
            ):
                raise LargeObject(id)
            stored_kind, data = self._retry_read(id, lambda: self._repo.odb.read(id))
        if stored_kind != kind:
            raise self._make_missing_error(id, f"it is not a {kind.name.lower()}")
        return data

    def _retry_read(self, id: str, read: Callable[[], T]) -> T:
        """Return the result of `read`, which calls libgit2 for an object."""
        try:
            return self._repeat_after_repack(read)
        except _LIBGIT2_ERRORS as error:
            if isinstance(error, OSError) and is_shortage(error):
                raise
            reason = describe_cause(error)
        raise self._make_missing_error(id, reason)

    def _repeat_after_repack(self, run: Callable[[], T]) -> T:
        """Return the result of `run`, which calls libgit2; repeat the call if Git has repacked meanwhile.

        Raises the error of libgit2.
        """
        for _ in range(_MAX_ATTEMPTS - 1):
            try:
                return run()
            except _LIBGIT2_ERRORS:
                if not self._reopen():
                    raise
        return run()

    def _reopen(self) -> bool:
        """Open the repository again if its packs changed: libgit2 continues to use removed packs.

        Return False if another read would find the same objects. Raises OSError if the system lacks the means
        for a read; libgit2 then reports the object as missing.
        """
        try:
            packs = frozenset(os.listdir(self.common_dir / "objects" / "pack"))
        except OSError as error:
            if is_shortage(error):
                raise
            packs = frozenset()
        # The packs of alternate repositories are not listed here.
        if packs == self._packs and time.monotonic() < self._reopen_time + _REOPEN_INTERVAL_S:
            return False
        # libgit2 shares packs between all handles of a process. If the old one, which Python's garbage
        # collector frees late, still had a removed pack, the new one would find it through an old
        # multi-pack-index.
        self._repo.free()
        try:
            self._repo = self._open()
        except WorkspaceError:  # the repository was removed, or is unreadable now
            return False
        self._packs, self._reopen_time = packs, time.monotonic()
        return True

    def _open(self) -> pygit2.Repository:
        """Open the repository."""
        return open_repository(self.common_dir)

    def _check_object(self, id: str) -> None:
        """Raise `DamagedRepository` for a broken loose object, before libgit2 reads it."""
        if id in self._checked_ids:
            return
        self._read_loose(id)
        self._mark_checked(id)

    def _read_loose(self, id: str, max_bytes: int | None = None) -> tuple[str, bytes] | None:
        """Return the kind and the bytes of an object; None if the object is not loose."""
        try:
            return read_loose(self.common_dir, id, max_bytes)
        except BrokenObject as error:
            raise self._make_missing_error(id, error.reason) from None

    def _make_missing_error(self, id: str, reason: str) -> DamagedRepository:
        """Return the error for a missing object, or one of an unexpected kind."""
        return make_missing_object_error(id, reason)

    def _mark_checked(self, id: str) -> None:
        """Record that an object is not broken."""
        if len(self._checked_ids) >= _MAX_CHECKED_IDS:
            self._checked_ids.clear()
        self._checked_ids.add(id)


_ID = re.compile("[0-9a-fA-F]{4,40}")
_FULL_ID_LENGTH = 40
_SHORTENED_PREFIXES = ("refs/heads/", "refs/tags/", "refs/remotes/")


class AmbiguousId(WorkspaceError):
    """An error: an id prefix that matches several objects."""

    code: ClassVar[str] = "AMBIGUOUS_ID"


def find_named_object(repo: pygit2.Repository, name: str) -> str | None:
    """Return the id of the object that a name refers to, or None. Raises AmbiguousId.

    As in Git, a full id takes precedence over a ref, and a ref over the prefix of an id.
    """
    if len(name) == _FULL_ID_LENGTH and _ID.fullmatch(name):
        return name.lower() if name.lower() in repo.odb else None
    try:
        # libgit2 reads an empty name as HEAD.
        return str(repo.lookup_reference_dwim(name or "/").resolve().target)
    except (KeyError, ValueError, pygit2.GitError):
        pass
    if not _ID.fullmatch(name):
        return None
    try:
        return str(repo.expand_id(name))
    except pygit2.AmbiguousError:
        raise AmbiguousId(
            f"'{name}' is the beginning of several ids", fix="Use more characters of the id."
        ) from None
    except (KeyError, ValueError, pygit2.GitError):
        return None


def shorten_ref_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the short names of those refs that are branches, tags and remote branches, sorted."""
    return tuple(
        sorted(
            {
                name.removeprefix(prefix)
                for name in names
                for prefix in _SHORTENED_PREFIXES
                if name.startswith(prefix)
            }
        )
    )


_HEADS = "refs/heads/"


def _parse_branch_name(ref: str) -> str | None:
    return ref.removeprefix(_HEADS) if ref.startswith(_HEADS) else None


class GitReader(ObjectReader):
    """A repository opened for reading: normal, bare, or a linked work tree; HEAD may be unborn or detached.

    `git_dir` is this work tree's own Git directory, and all work trees share `common_dir`. `worktree` is the
    folder of files (None in a bare repository).

    Raises:
        NotARepository: `path` is not inside a repository.
        UnsupportedRepository: Docyard does not open repositories of this kind.
    """

    def __init__(self, path: Path) -> None:
        repo = open_repository(path)
        self.git_dir = Path(repo.path or "")
        super().__init__(repo, find_common_dir(self.git_dir))
        self._path = path
        self.worktree = Path(repo.workdir) if repo.workdir else None
        self.is_bare = repo.is_bare

    def __reduce__(self) -> tuple[type[GitReader], tuple[Path, ...]]:
        """Return a form with which another process opens the repository again, by `common_dir`."""
        return GitReader, (self.common_dir,)

    def _open(self) -> pygit2.Repository:
        return open_repository(self._path)

    def head(self) -> Head:
        """Return the checked-out branch and commit of this work tree."""
        with self._lock:
            name = "HEAD"
            for _ in range(worktrees.MAX_SYMBOLIC_DEPTH):
                ref = self._look_up_ref(name)
                if ref is None:
                    break
                if ref.type != ReferenceType.SYMBOLIC:
                    return Head(_parse_branch_name(name), str(ref.target))
                name = str(ref.target)
            return Head(_parse_branch_name(name), None)

    def branches(self) -> tuple[str, ...]:
        """Return the names of the local branches, sorted."""
        with self._lock:
            names = self._list_refs()
        return tuple(sorted(name.removeprefix(_HEADS) for name in names if name.startswith(_HEADS)))

    def tip(self, branch: str) -> str | None:
        """Return the id of a local branch's current commit; None if the branch is unborn or symbolic."""
        with self._lock:
            return self._read_target(_HEADS + branch)

    def commit_at(self, ref: str) -> str | None:
        """Return the current commit of a ref by its full name; None if the ref is missing or symbolic."""
        with self._lock:
            return self._read_target(ref)

    def other_tips(self, branch: str) -> frozenset[str]:
        """Return the ids at which all refs except this branch are now."""
        with self._lock:
            names = self._list_refs()
            targets = {self._read_target(name) for name in names if name != _HEADS + branch}
        return frozenset(id for id in targets if id is not None)

    def merge_bases(self, left: str, right: str) -> tuple[str, ...]:
        """Return the best common ancestors of two commits (git-merge-base), newest first; empty if unrelated.

        Raises ShallowHistory, DamagedRepository.
        """
        return find_best_common_ancestors(left, right, Ancestry(Graph(self).node, self.boundary()))

    def is_descendant(self, id: str, ancestor: str, *, until: str | None = None) -> bool:
        """Return True if `ancestor` is the commit `id` or one of its ancestors; the walk stops at `until`."""
        return is_descendant(Graph(self).parents, id, ancestor, {until})

    def is_branch_name(self, branch: str) -> bool:
        """Return True if Git accepts this as a branch's name (git-check-ref-format)."""
        try:
            return not branch.startswith("-") and pygit2.reference_is_valid_name(_HEADS + branch)
        except ValueError:
            return False

    def boundary(self) -> frozenset[str]:
        """Return the commits whose parents a shallow clone lacks (gitformat-shallow)."""
        try:
            return frozenset((self.common_dir / "shallow").read_text("ascii").split())
        except FileNotFoundError:
            return frozenset()

    @property
    def is_shallow(self) -> bool:
        """Return True if the history was cut off when the repository was cloned (`git clone --depth`)."""
        return (self.common_dir / "shallow").exists()

    def ref_names(self) -> tuple[str, ...]:
        """Return the short names of branches, tags and remote branches, sorted."""
        with self._lock:
            return shorten_ref_names(self._list_refs())

    def find_object(self, name: str) -> str | None:
        """Return the id of the object that a name refers to, or None. Raises AmbiguousId.

        The name is a branch, a tag, another ref, or the prefix of an id.
        """
        with self._lock:
            return find_named_object(self._repo, name)

    def list_uncommitted(self) -> tuple[str, ...]:
        """Return the paths at which the work tree differs from HEAD, without ignored files, sorted.

        The result is empty in a bare repository, and if the state of the work tree cannot be read.
        """
        if self.worktree is None:
            return ()
        with self._lock:
            try:
                return tuple(sorted(self._repo.status(untracked_files="all", ignored=False)))
            except (KeyError, ValueError, OSError, pygit2.GitError):
                return ()

    def is_uncommitted(self, path: str) -> bool:
        """Return True if a file of the work tree differs from HEAD, and is not ignored.

        The result is False in a bare repository, and if the state of the file cannot be read.
        """
        if self.worktree is None:
            return False
        with self._lock:
            try:
                status = self._repo.status_file(path)
            except (KeyError, ValueError, OSError, pygit2.GitError):
                return False
        return status not in (FileStatus.CURRENT, FileStatus.IGNORED)

    def config(self, name: str) -> str | None:
        """Return a value of Git's configuration, such as `core.autocrlf`, from all levels, or None."""
        with self._lock:
            try:
                return str(self._repo.config[name])
            except (KeyError, ValueError):
                return None

    def config_flag(self, name: str, default: bool = False) -> bool:
        """Return a value of Git's configuration as a boolean (git-config "boolean")."""
        with self._lock:
            try:
                return self._repo.config.get_bool(name)
            except (KeyError, ValueError, pygit2.GitError):
                return default

    def remotes(self) -> dict[str, str]:
        """Return the URL of each remote of Git's settings, by name. A URL may contain a password."""
        urls: dict[str, str] = {}
        with self._lock:
            for entry in self._repo.config:
                section, _, name_and_key = entry.name.partition(".")
                name, _, key = name_and_key.rpartition(".")
                if (section, key) == ("remote", "url") and name and entry.value:
                    urls.setdefault(name, entry.value)
        return urls

    def identity(self) -> tuple[str, str] | None:
        """Return the configured `user.name` and `user.email`, or None unless both are set."""
        name, email = self.config("user.name"), self.config("user.email")
        return (name, email) if name and email else None

    def worktrees_of(self, branch: str) -> tuple[Worktree, ...]:
        """Return every work tree in which a branch is checked out, or is being rebased or bisected."""
        return worktrees.find_worktrees(branch, self.common_dir, self._main_folder)

    def worktree_at(self, git_dir: Path) -> Worktree | None:
        """Return the work tree, main or linked, that a Git directory belongs to, or None."""
        return worktrees.find_worktree(git_dir, self.common_dir, self._main_folder)

    @cached_property
    def _main_folder(self) -> Path | None:
        if self.git_dir == self.common_dir:
            return self.worktree
        folder = pygit2.Repository(str(self.common_dir)).workdir
        if folder and self.common_dir.name != ".git" and self.config("core.worktree") is None:
            # If the Git directory is separate, only the work tree records its own path. So the main work
            # tree is treated as missing.
            return self.common_dir / "worktree"
        return Path(folder) if folder else None

    def _list_refs(self) -> list[str]:
        """Return the full names of all refs. Raises RepositoryMissing."""
        try:
            return [name.decode("utf-8", "surrogateescape") for name in self._repo.raw_listall_references()]
        except (OSError, pygit2.GitError):
            check_repository_exists(self.git_dir, self.common_dir)
            raise

    def _read_target(self, name: str) -> str | None:
        ref = self._look_up_ref(name)
        return None if ref is None or ref.type == ReferenceType.SYMBOLIC else str(ref.target)

    def _look_up_ref(self, name: str) -> pygit2.Reference | None:
        try:
            return self._repo.lookup_reference(name)
        except (KeyError, ValueError):
            return None
        except (OSError, pygit2.GitError):
            raise DamagedRepository(
                f"the ref `{name}` cannot be read",
                fix="Its file is damaged. The last line of its reflog, below `logs`, contains its commit.",
                ref=name,
            ) from None
