"""Reading objects: commits, trees and blobs by their ids, whether they lie loose or in packs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import pygit2
from pygit2.enums import ObjectType

from workspace.errors import WorkspaceError
from workspace.git import objects
from workspace.git.loose import BrokenObject, LargeObject, is_loose, read_loose
from workspace.git.objects import Commit, Entry
from workspace.git.repository import DamagedRepository, missing, open_repository
from workspace.git.tree_comparison import TreeComparison

_LOOKED_AT = 50_000
_TAGS = 10  # tags that name one another
_ATTEMPTS = 5
_TRUSTED = 1.0  # seconds for which a repository that was opened again counts as up to date

T = TypeVar("T")


class ObjectReader:
    """The objects of a repository; safe in several threads.

    `common_dir` is the Git directory that all its work trees share. What is asked for by its id and is not
    there, is broken, or is of another kind, is a `DamagedRepository`.
    """

    def __init__(self, repo: pygit2.Repository, common_dir: Path) -> None:
        self._lock = threading.RLock()
        self._whole: set[str] = set()
        self._repo = repo
        self._packs: frozenset[str] | None = None
        self._reopened = 0.0
        self.common_dir = common_dir

    def commit(self, id: str) -> Commit:
        """A commit by its id."""
        return objects.parse_commit(id, self._read(id, ObjectType.COMMIT))

    def commit_data(self, id: str, loose: frozenset[str]) -> bytes:
        """A commit's bytes. Who reads thousands says in which folders loose objects are, as of before."""
        return self._passed(id, "commit", loose) or self._stored(id, ObjectType.COMMIT)

    def tree(self, id: str) -> tuple[Entry, ...]:
        """A tree's entries, in Git's order."""
        return objects.parse_tree(self._read(id, ObjectType.TREE))

    def tree_data(self, id: str, loose: frozenset[str]) -> bytes:
        """A tree's bytes, as `commit_data` gives those of a commit."""
        return self._passed(id, "tree", loose) or self._stored(id, ObjectType.TREE)

    def loose_folders(self) -> frozenset[str]:
        """The first two digits that the ids of loose objects have (gitrepository-layout, "objects")."""
        try:
            return frozenset(name for name in os.listdir(self.common_dir / "objects") if len(name) == 2)
        except OSError:  # the repository is gone, and so are the objects that will be asked for
            return frozenset()

    def entry(self, tree: str, name: str) -> Entry | None:
        """The entry of one name in a tree, found without reading the others; None if there is none."""
        with self._lock:
            try:
                found = self._tree(tree)[name]
            except (KeyError, TypeError, UnicodeEncodeError):  # a name with a surrogate is no path
                return None
            return Entry(name, str(found.id), int(found.filemode))

    def differing(self, one: str | None, other: str | None) -> tuple[tuple[Entry, ...], tuple[Entry, ...]]:
        """The entries of each of two trees that the other does not have; None stands for an empty tree."""
        return self._comparison.differing(one, other)

    def blob(self, id: str) -> bytes:
        """A blob's bytes."""
        return self._read(id, ObjectType.BLOB)

    def data(self, id: str, kind: str) -> bytes:
        """Return the bytes of an object; `kind` is "blob", "tree" or "commit"."""
        return self._read(id, ObjectType[kind.upper()])

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
            return self._ask(id, lambda: self._repo.odb.read_header(id))[1]

    def has(self, id: str) -> bool:
        """Whether an object of any kind is here."""
        with self._lock:
            return id in self._repo.odb

    def missing_on_disk(self, ids: Iterable[str]) -> list[str]:
        """Return those of some objects that are in no file and in no pack now.

        libgit2 answers `has` also from its cache of objects, and from packs that were removed since. So the
        repository is opened again, but only if one of the objects has no file of its own.
        """
        absent = [id for id in ids if not is_loose(self.common_dir, id)]
        if not absent:
            return []
        stored = self._opened().odb
        return [id for id in absent if id not in stored]

    def peeled(self, id: str) -> tuple[str, str]:
        """What an object is, or a tag names in the end: its kind ("commit", "tree" or "blob") and its id."""
        for _ in range(_TAGS):
            with self._lock:
                self._look_at(id)
                kind = self._ask(id, lambda: self._repo.odb.read_header(id))[0]  # noqa: B023
            if kind != ObjectType.TAG:
                return kind.name.lower(), id
            # The first line of a tag says which object it stands for.
            id = self._read(id, ObjectType.TAG)[len(b"object ") :][:40].decode("ascii", "replace")
        raise self._missing(id)

    @cached_property
    def _comparison(self) -> TreeComparison:
        return TreeComparison(lambda id: self._read(id, ObjectType.TREE))

    def _tree(self, id: str) -> pygit2.Tree:
        self._look_at(id)
        found = self._ask(id, lambda: self._repo[id])
        if not isinstance(found, pygit2.Tree):
            raise self._missing(id)
        return found

    def _passed(self, id: str, kind: str, loose: frozenset[str]) -> bytes | None:
        """The bytes of a loose object; None for one that is empty or in no file of its own."""
        try:
            found = read_loose(self.common_dir, id) if id[:2] in loose else None
        except BrokenObject:
            raise self._missing(id) from None
        if found is not None and found[0] != kind:
            raise self._missing(id)
        return found[1] if found is not None else None

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
            if most is not None and self._ask(id, lambda: self._repo.odb.read_header(id))[1] > most:
                raise LargeObject(id)
            found, data = self._ask(id, lambda: self._repo.odb.read(id))
        if found != kind:
            raise self._missing(id)
        return data

    def _ask(self, id: str, read: Callable[[], T]) -> T:
        """Return what `read` gets of an object from libgit2, again where Git has repacked meanwhile."""
        for _ in range(_ATTEMPTS):
            try:
                return read()
            except (KeyError, ValueError, OSError, pygit2.GitError):
                if not self._reopen():
                    break
        raise self._missing(id)

    def _reopen(self) -> bool:
        """Open the repository again if its packs changed: libgit2 goes on reading those that were removed.

        Return False if nothing suggests that a second look finds more.
        """
        try:
            packs = frozenset(os.listdir(self.common_dir / "objects" / "pack"))
        except OSError:
            packs = frozenset()
        # The packs of a repository that lends its objects are not listed here.
        if packs == self._packs and time.monotonic() < self._reopened + _TRUSTED:
            return False
        try:
            self._repo = self._opened()
        except WorkspaceError:  # it was removed, or cannot be read any more
            return False
        self._packs, self._reopened = packs, time.monotonic()
        return True

    def _opened(self) -> pygit2.Repository:
        """Open the repository."""
        return open_repository(self.common_dir)

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
