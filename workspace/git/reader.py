"""Reading a repository: its objects, branches, work trees and configuration.

A `GitReader` has no method that writes, so a read-only server that holds one cannot. It may be shared by
threads: each call takes the repository's lock, because libgit2's handles are not safe to share without one.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import pygit2
from pygit2.enums import ReferenceType

from workspace.git import worktrees
from workspace.git.ancestry import Graph, descends
from workspace.git.merge_bases import Ancestry, best_common_ancestors
from workspace.git.object_reader import ObjectReader
from workspace.git.objects import Head
from workspace.git.repository import DamagedRepository, open_repository
from workspace.git.revisions import object_named, short_names
from workspace.git.worktrees import Worktree, common_dir_of

_HEADS = "refs/heads/"


def _branch(ref: str) -> str | None:
    return ref.removeprefix(_HEADS) if ref.startswith(_HEADS) else None


class GitReader(ObjectReader):
    """A repository opened for reading: normal, bare, or a linked work tree, also when unborn or detached.

    `git_dir` is this work tree's own Git directory, `common_dir` the one that all its work trees share, and
    `worktree` the folder of files (None in a bare repository).

    Raises:
        NotARepository: `path` is not inside a repository.
        UnsupportedRepository: Docyard does not open repositories of this kind.
    """

    def __init__(self, path: Path) -> None:
        repo = open_repository(path)
        self.git_dir = Path(repo.path or "")
        super().__init__(repo, common_dir_of(self.git_dir))
        self._path = path
        self.worktree = Path(repo.workdir) if repo.workdir else None
        self.bare = repo.is_bare

    def __reduce__(self) -> tuple[type[GitReader], tuple[Path, ...]]:
        """Another process that is given a reader opens the repository for itself."""
        return GitReader, (self.common_dir,)

    def _opened(self) -> pygit2.Repository:
        return open_repository(self._path)

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

    def commit_at(self, ref: str) -> str | None:
        """What a ref of this whole name holds, read afresh; None if there is none, or it is symbolic."""
        with self._lock:
            return self._target(ref)

    def other_tips(self, branch: str) -> frozenset[str]:
        """Return the ids that all refs but this branch hold, read afresh."""
        with self._lock:
            names = self._repo.listall_references()
            found = {self._target(name) for name in names if name != _HEADS + branch}
        return frozenset(id for id in found if id is not None)

    def merge_bases(self, one: str, other: str) -> tuple[str, ...]:
        """The best common ancestors of two commits (git-merge-base), the youngest first; none if unrelated.

        Raises ShallowHistory, DamagedRepository.
        """
        return best_common_ancestors(one, other, Ancestry(Graph(self).node, self.boundary()))

    def descends(self, id: str, ancestor: str, *, until: str | None = None) -> bool:
        """Return True if a commit has another among its ancestors, without looking behind `until`."""
        return descends(Graph(self).parents, id, ancestor, {until})

    def is_branch_name(self, branch: str) -> bool:
        """Whether Git accepts this as a branch's name (git-check-ref-format)."""
        try:
            return not branch.startswith("-") and pygit2.reference_is_valid_name(_HEADS + branch)
        except ValueError:
            return False

    def boundary(self) -> frozenset[str]:
        """The commits whose parents a shallow clone left out (gitformat-shallow)."""
        try:
            return frozenset((self.common_dir / "shallow").read_text("ascii").split())
        except FileNotFoundError:
            return frozenset()

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

    def remotes(self) -> dict[str, str]:
        """The URL of each remote of Git's settings, by name. It may hold a password."""
        found: dict[str, str] = {}
        with self._lock:
            for entry in self._repo.config:
                section, _, rest = entry.name.partition(".")
                name, _, last = rest.rpartition(".")
                if (section, last) == ("remote", "url") and name and entry.value:
                    found.setdefault(name, entry.value)
        return found

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
