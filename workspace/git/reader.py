"""Reading a repository: commits, trees, blobs, branches and configuration.

A `GitReader` has no method that writes, so a read-only server that holds one cannot. It may be shared by
threads: each call takes the repository's lock, because libgit2's handles are not safe to share without one.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType, ReferenceType

from workspace import objects, worktrees
from workspace.git.comparing import TreeComparison
from workspace.git.loose import BrokenObject, LargeObject, read_loose
from workspace.git.repository import DamagedRepository, missing, open_repository
from workspace.git.revisions import object_named, short_names
from workspace.objects import Commit, Entry, Head
from workspace.worktrees import Worktree, common_dir_of

_HEADS = "refs/heads/"
_LOOKED_AT = 50_000
_TAGS = 10  # tags that name one another


def _branch(ref: str) -> str | None:
    return ref.removeprefix(_HEADS) if ref.startswith(_HEADS) else None


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
        self._whole: set[str] = set()
        self._path = path
        self._repo = open_repository(path)
        self.git_dir = Path(self._repo.path or "")
        self.common_dir = common_dir_of(self.git_dir)
        self.worktree = Path(self._repo.workdir) if self._repo.workdir else None
        self.bare = self._repo.is_bare

    def __reduce__(self) -> tuple[type[GitReader], tuple[Path, ...]]:
        """Another process that is given a reader opens the repository for itself."""
        return GitReader, (self.common_dir,)

    def head(self) -> Head:
        """What this work tree has checked out."""
        with self._lock:
            name = "HEAD"
            for _ in range(worktrees.SYMBOLIC_DEPTH):
                ref = self._ref(name)
                if ref is None:
                    break
                if ref.type != ReferenceType.SYMBOLIC:
                    return Head(_branch(name), str(ref.target))
                name = str(ref.target)
            return Head(_branch(name), None)

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

    @property
    def is_shallow(self) -> bool:
        """Whether the history was cut off when the repository was cloned (`git clone --depth`)."""
        return (self.common_dir / "shallow").exists()

    def ref_names(self) -> tuple[str, ...]:
        """The names of branches, tags and remote branches, as people write them; sorted."""
        with self._lock:
            return short_names(self._repo)

    def find_object(self, name: str) -> str | None:
        """The id of what a branch, a tag, a ref or the beginning of an id names; else None.

        Raises AmbiguousId.
        """
        with self._lock:
            return object_named(self._repo, name)

    def peeled(self, id: str) -> tuple[str, str]:
        """What an object is, or a tag names in the end: its kind ("commit", "tree" or "blob") and its id."""
        for _ in range(_TAGS):
            with self._lock:
                self._look_at(id)
                try:
                    kind = self._repo.odb.read_header(id)[0]
                except (KeyError, ValueError, pygit2.GitError):
                    raise self._missing(id) from None
            if kind != ObjectType.TAG:
                return kind.name.lower(), id
            # The first line of a tag says which object it stands for.
            id = self._read(id, ObjectType.TAG)[len(b"object ") :][:40].decode("ascii", "replace")
        raise self._missing(id)

    def uncommitted(self) -> tuple[str, ...]:
        """The paths at which the work tree is not as HEAD has it, ignored files left out; sorted.

        In a bare repository there are none, and where the state of the work tree cannot be told.
        """
        if self.worktree is None:
            return ()
        with self._lock:
            try:
                return tuple(sorted(self._repo.status(untracked_files="all", ignored=False)))
            except (KeyError, ValueError, OSError, pygit2.GitError):
                return ()

    def commit(self, id: str) -> Commit:
        """A commit by its id; `DamagedRepository` if it is not there or is something else."""
        return objects.parse_commit(id, self._read(id, ObjectType.COMMIT))

    def loose_folders(self) -> frozenset[str]:
        """The first two digits that the ids of loose objects have (gitrepository-layout, "objects")."""
        try:
            return frozenset(name for name in os.listdir(self.common_dir / "objects") if len(name) == 2)
        except OSError:  # the repository is gone, and so are the objects that will be asked for
            return frozenset()

    def commit_data(self, id: str, loose: frozenset[str]) -> bytes:
        """A commit's bytes. Who reads thousands says in which folders loose objects are, as of before."""
        return self._read(id, ObjectType.COMMIT) if id[:2] in loose else self._stored(id, ObjectType.COMMIT)

    def tree_data(self, id: str, loose: frozenset[str]) -> bytes:
        """A tree's bytes, as `commit_data` gives those of a commit."""
        return self._read(id, ObjectType.TREE) if id[:2] in loose else self._stored(id, ObjectType.TREE)

    def has(self, id: str) -> bool:
        """Whether an object of any kind is here."""
        with self._lock:
            return id in self._repo.odb

    def descends(self, id: str, ancestor: str, *, until: str | None = None) -> bool:
        """Whether a commit has another among its ancestors; those of `until` are not looked at."""
        seen = {until}
        waiting = [id]
        while waiting:
            found = waiting.pop()
            if found == ancestor:
                return True
            if found not in seen:
                seen.add(found)
                with suppress(DamagedRepository):  # such as the parents where a shallow clone ends
                    waiting += self.commit(found).parents
        return False

    def tree(self, id: str) -> tuple[Entry, ...]:
        """A tree's entries, in Git's order."""
        return objects.parse_tree(self._read(id, ObjectType.TREE))

    def differing(self, one: str | None, other: str | None) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
        """The entries of each of two trees that the other does not have; None stands for an empty tree."""
        return self._comparison.differing(one, other)

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

    def blob_within(self, id: str, most: int) -> bytes | None:
        """A blob's bytes; None if it has more than `most`, and these are not read then."""
        try:
            return self._read(id, ObjectType.BLOB, most)
        except LargeObject:
            return None

    def blob_size(self, id: str) -> int:
        """A blob's length in bytes, without reading it."""
        with self._lock:
            self._look_at(id)
            try:
                return self._repo.odb.read_header(id)[1]
            except (KeyError, pygit2.GitError):
                raise self._missing(id) from None

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

    def worktrees_of(self, branch: str) -> tuple[Worktree, ...]:
        """Every work tree, main or linked, in which a branch is checked out or being rebased."""
        return worktrees.worktrees_of(branch, self.common_dir, self._main)

    def worktree_at(self, git_dir: Path) -> Worktree | None:
        """The work tree, main or linked, that a Git directory belongs to; None if it has none."""
        return worktrees.worktree_at(git_dir, self.common_dir, self._main)

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
        ref = self._ref(name)
        return None if ref is None or ref.type == ReferenceType.SYMBOLIC else str(ref.target)

    def _ref(self, name: str) -> pygit2.Reference | None:
        try:
            return self._repo.lookup_reference(name)
        except (KeyError, ValueError):
            return None
        except (OSError, pygit2.GitError):
            raise DamagedRepository(
                f"`{name}` of the repository cannot be read",
                fix="Its file in the Git folder is damaged; the end of its file in `logs` says what it held.",
                ref=name,
            ) from None

    @cached_property
    def _comparison(self) -> TreeComparison:
        return TreeComparison(lambda id: self._read(id, ObjectType.TREE))

    def _tree(self, id: str) -> pygit2.Tree:
        self._look_at(id)
        try:
            found = self._repo[id]
        except (KeyError, ValueError, pygit2.GitError):
            raise self._missing(id) from None
        if not isinstance(found, pygit2.Tree):
            raise self._missing(id)
        return found

    def _read(self, id: str, kind: ObjectType, most: int | None = None) -> bytes:
        loose = self._loose(id, most)
        if loose is not None:
            if loose[0] != kind.name.lower():
                raise self._missing(id)
            self._know(id)
            return loose[1]
        return self._stored(id, kind, most)

    def _stored(self, id: str, kind: ObjectType, most: int | None = None) -> bytes:
        """An object's bytes as libgit2 reads them: from a pack, or from another repository's objects."""
        with self._lock:
            try:
                if most is not None and self._repo.odb.read_header(id)[1] > most:
                    raise LargeObject(id)
                found, data = self._repo.odb.read(id)
            except (KeyError, ValueError, pygit2.GitError):
                raise self._missing(id) from None
        if found != kind:
            raise self._missing(id)
        return data

    def _look_at(self, id: str) -> None:
        """Raise `DamagedRepository` for a loose object that is not whole, before libgit2 reads it."""
        if id in self._whole:
            return
        self._loose(id)
        self._know(id)

    def _loose(self, id: str, most: int | None = None) -> tuple[str, bytes] | None:
        """Kind and bytes of an object that is in no pack; None if there is none of this id."""
        try:
            return read_loose(self.common_dir, id, most)
        except BrokenObject:
            raise self._missing(id) from None

    def _missing(self, id: str) -> DamagedRepository:
        """The error for an object that is not there, or is not what its place asks for."""
        return missing(id)

    def _know(self, id: str) -> None:
        """Remember that an object is whole."""
        if len(self._whole) >= _LOOKED_AT:
            self._whole.clear()
        self._whole.add(id)
