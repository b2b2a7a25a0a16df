"""A reader of the packs in a folder that is not a repository; the id of a tree is also the id of its commit.

The reader has no refs, no configuration, no work tree and no alternates. libgit2 verifies each object against
its id as it is read, so objects from an untrusted folder cannot be forged.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pygit2

from workspace.git.objects import Commit, Head, Signature
from workspace.git.reader import GitReader, ObjectReader
from workspace.git.repository import DamagedRepository
from workspace.git.worktrees import Worktree

# The start of the sorted ids in a pack's index, in bytes (git-scm, "pack-format", version 2).
_FIRST_ID_OFFSET = 8 + 256 * 4
_NO_AUTHOR = Signature("", "", 0)


class PackedReader(GitReader):
    """The packs in `objects/pack` of a folder. The id of a tree is used as the id of its commit.

    `tree` is the tree of HEAD. Another process that unpickles a reader opens the folder again,
    without `tree`.
    """

    def __init__(self, folder: Path, tree: str | None = None) -> None:
        # Not `Odb(folder)`, which would also read `objects/info/alternates`, and so files outside of the
        # folder.
        odb = pygit2.Odb()
        try:
            odb.add_backend(pygit2.OdbBackendPack(str(folder / "objects")), 1)
        except (OSError, pygit2.GitError):
            raise self._make_missing_error(tree or "", "the folder has no packs") from None
        repo = pygit2.Repository()
        repo.set_odb(odb)
        ObjectReader.__init__(self, repo, folder)
        self._path = self.git_dir = folder
        self._tree_id = tree
        self.worktree = None
        self.is_bare = True

    def __reduce__(self) -> tuple[type[GitReader], tuple[Path, ...]]:
        return PackedReader, (self.common_dir,)

    def open_packs(self) -> None:
        """Open every pack, so that it remains readable after its file is removed.

        libgit2 closes a pack again if the process has read `MAX_OPEN_PACKS` other ones since.
        """
        for index in (self.common_dir / "objects" / "pack").glob("*.idx"):
            with suppress(OSError, DamagedRepository):
                with index.open("rb") as stream:
                    stream.seek(_FIRST_ID_OFFSET)
                    id = stream.read(20).hex()
                self.blob_size(id)

    def head(self) -> Head:
        """Return the tree as the commit, and no branch."""
        return Head(None, self._tree_id)

    def branches(self) -> tuple[str, ...]:
        """Return no names, because a folder of packs has no refs."""
        return ()

    def tip(self, branch: str) -> str | None:
        """Return None, because a folder of packs has no refs."""
        return None

    def commit(self, id: str) -> Commit:
        """Return a commit of a tree, without an author or a parent."""
        return Commit(id, id, (), _NO_AUTHOR, _NO_AUTHOR, "")

    def config(self, name: str) -> str | None:
        """Return None: the folder has no configuration, and the user's settings are ignored."""
        return None

    def config_flag(self, name: str, default: bool = False) -> bool:
        """Return the default, because the folder has no configuration."""
        return default

    def worktrees_of(self, branch: str) -> tuple[Worktree, ...]:
        """Return no work trees, because nothing is checked out."""
        return ()

    def worktree_at(self, git_dir: Path) -> Worktree | None:
        """Return None, because nothing is checked out."""
        return None

    def _read_loose(self, id: str, max_bytes: int | None = None) -> tuple[str, bytes] | None:
        return None

    def _reopen(self) -> bool:
        """Return False: artifacts are never repacked, and open packs stay readable."""
        return False

    def _make_missing_error(self, id: str, reason: str) -> DamagedRepository:
        return DamagedRepository(
            f"an object of the artifact is missing or broken: {id[:12]} ({reason})",
            fix="Copy the full artifact again, or build it again with `docyard build`.",
            id=id,
        )
