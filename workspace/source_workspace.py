"""A read-only workspace of one documentation source: one ref of a repository, or one folder at this ref."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError
from workspace.git.reader import AmbiguousId, GitReader
from workspace.git.repository import NotARepository
from workspace.proposals.proposal import AmbiguousProposal
from workspace.revisions import NotACommit, RefNotFound, resolve_ref
from workspace.snapshot.snapshot import Snapshot
from workspace.workspace import Workspace

if TYPE_CHECKING:
    from typing import Self


class FolderMissing(WorkspaceError):
    """An error: the commit that a source serves does not contain its folder."""

    code: ClassVar[str] = "FOLDER_MISSING"

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"the served commit has no folder '{folder[:200]}'",
            fix="Correct `folder` in the file of sources.",
        )


class SourceWorkspace(Workspace):
    """A workspace at one ref. A branch is followed; a tag or a commit never changes.

    With a `folder`, only the documents in this folder exist. A reader can name the served commit and its
    ancestors, and no other commit of the repository.
    """

    def __init__(
        self,
        git: GitReader,
        *,
        branch: str | None = None,
        commit: str | None = None,
        folder: str | None = None,
    ) -> None:
        super().__init__(git, branch=branch, durable=False)
        self._commit = commit
        self._folder = folder

    @classmethod
    def open_source(cls, path: Path, ref: str | None = None, folder: str | None = None) -> Self:
        """Open a repository at a ref; without a ref, at the branch that is checked out.

        Raises NotARepository, UnsupportedRepository, RefNotFound, FolderMissing, and the errors of
        `resolve_ref`.
        """
        git = GitReader(path)
        _check_root(git, path)
        branch = (ref or "").removeprefix("refs/heads/")
        if not branch:
            workspace = cls(git, folder=folder)
        elif git.tip(branch) is not None:
            workspace = cls(git, branch=branch, folder=folder)
        else:
            commit = resolve_ref(git, branch.removeprefix("refs/tags/"), None)
            workspace = cls(git, commit=commit, folder=folder)
        workspace._check_folder()
        return workspace

    @property
    def is_fixed(self) -> bool:
        """Return True if the ref is a tag or a commit, which never changes."""
        return self._commit is not None

    def tip(self, branch: str | None = None) -> str | None:
        """Return the served commit; None before the first commit. Raises the errors of `Branch.tip`."""
        return self._commit if self._commit is not None and branch is None else super().tip(branch)

    def at(self, ref: str | None) -> Snapshot:
        """Return the snapshot of the served commit, or of one of its ancestors.

        Raises RefNotFound for any other commit, and the errors of `Workspace.at`.
        """
        try:
            snapshot, tip = super().at(ref), self.tip()
        except (AmbiguousId, AmbiguousProposal, NotACommit, RefNotFound):
            # These errors could name what is not served.
            raise _make_ref_error() from None
        if snapshot.commit == tip or (
            snapshot.commit is not None and tip is not None and self.git.is_descendant(tip, snapshot.commit)
        ):
            return snapshot
        raise _make_ref_error()

    def _check_folder(self) -> None:
        """Raise FolderMissing if there are commits, and the served one does not contain the folder."""
        snapshot = self.snapshot()
        if self._folder is None or snapshot.commit is None:
            return
        entry = snapshot.entry(self._folder)
        if entry is None or not entry.is_tree:
            raise FolderMissing(self._folder)

    def _create_snapshot(self, commit: str | None, previous: Snapshot | None) -> Snapshot:
        return Snapshot(self.git, commit, self._cache, previous, folder=self._folder)


def _make_ref_error() -> RefNotFound:
    """Return the error for a ref that is not served, which is the same whether it exists or not."""
    return RefNotFound(
        "the ref names no commit of this source",
        fix="Leave out the ref, or name the commit of an earlier answer.",
    )


def _check_root(git: GitReader, path: Path) -> None:
    """Raise NotARepository if a path is a folder in a repository, because all of it would be served."""
    root = git.worktree or git.git_dir
    if path.resolve() not in (root.resolve(), git.git_dir.resolve()):
        raise NotARepository(
            "it is a folder in a repository", fix="Name the repository in `repo`, and its folder in `folder`."
        )
