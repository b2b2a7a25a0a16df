"""A reader of the packs in a folder that is not a repository; one tree stands for all commits.

There are no refs, no configuration, no work tree and no alternates. libgit2 verifies each object against its
id as it is read, so where the folder came from does not matter to what an id stands for.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pygit2

from workspace.git.objects import Commit, Head, Signature
from workspace.git.reader import GitReader, ObjectReader
from workspace.git.repository import DamagedRepository
from workspace.git.worktrees import Worktree

_FIRST_ID = 8 + 256 * 4  # where the sorted ids of a pack's index begin (git-scm, "pack-format", version 2)
_NOBODY = Signature("", "", 0)


class PackedReader(GitReader):
    """The packs in `objects/pack` of a folder. Where a commit is asked for, the id of a tree stands for it.

    `tree` is what a work tree would have checked out. Another process that is given a reader opens the folder
    for itself.
    """

    def __init__(self, folder: Path, tree: str | None = None) -> None:
        # Not `Odb(folder)`: that would also follow `objects/info/alternates` out of the folder.
        odb = pygit2.Odb()
        try:
            odb.add_backend(pygit2.OdbBackendPack(str(folder / "objects")), 1)
        except (OSError, pygit2.GitError):
            raise self._missing(tree or "") from None
        repo = pygit2.Repository()
        repo.set_odb(odb)
        ObjectReader.__init__(self, repo, folder)
        self._path = self.git_dir = folder
        self._tree_id = tree
        self.worktree = None
        self.bare = True

    def __reduce__(self) -> tuple[type[GitReader], tuple[Path, ...]]:
        return PackedReader, (self.common_dir,)

    def hold(self) -> None:
        """Open every pack now, so that each can be read to the end, also once its file is removed."""
        for index in (self.common_dir / "objects" / "pack").glob("*.idx"):
            with suppress(OSError, DamagedRepository):
                with index.open("rb") as stream:
                    stream.seek(_FIRST_ID)
                    id = stream.read(20).hex()
                self.blob_size(id)

    def head(self) -> Head:
        """Return the tree, and no branch."""
        return Head(None, self._tree_id)

    def branches(self) -> tuple[str, ...]:
        """None: there are no refs."""
        return ()

    def tip(self, branch: str) -> str | None:
        """None: there are no refs."""
        return None

    def commit(self, id: str) -> Commit:
        """Return a commit of a tree by nobody, without a parent."""
        return Commit(id, id, (), _NOBODY, _NOBODY, "")

    def config(self, name: str) -> str | None:
        """None: nothing is configured, and nobody's own settings count."""
        return None

    def config_flag(self, name: str, default: bool = False) -> bool:
        """Return the default: nothing is configured."""
        return default

    def worktrees_of(self, branch: str) -> tuple[Worktree, ...]:
        """None: nothing is checked out."""
        return ()

    def worktree_at(self, git_dir: Path) -> Worktree | None:
        """None: nothing is checked out."""
        return None

    def _loose(self, id: str, most: int | None = None) -> tuple[str, bytes] | None:
        return None

    def _reopen(self) -> bool:
        """Return False: nobody repacks an artifact, and what was held open is read to the end."""
        return False

    def _missing(self, id: str) -> DamagedRepository:
        return DamagedRepository(
            "an object of the artifact is missing or broken",
            fix="Copy the whole artifact again, or build it again with `docyard build`.",
            id=id,
        )
