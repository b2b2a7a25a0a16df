"""A read-only workspace of one documentation source: one ref of a repository, or one folder at this ref."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workspace.git.reader import GitReader
from workspace.revisions import RefNotFound, resolve_ref
from workspace.snapshot.snapshot import Snapshot
from workspace.workspace import Workspace

if TYPE_CHECKING:
    from typing import Self


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

        Raises NotARepository, UnsupportedRepository, RefNotFound, and the errors of `resolve_ref`.
        """
        git = GitReader(path)
        branch = (ref or "").removeprefix("refs/heads/")
        if not branch:
            return cls(git, folder=folder)
        if git.tip(branch) is not None:
            return cls(git, branch=branch, folder=folder)
        return cls(git, commit=resolve_ref(git, branch.removeprefix("refs/tags/"), None), folder=folder)

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
        snapshot, tip = super().at(ref), self.tip()
        if snapshot.commit == tip or (
            snapshot.commit is not None and tip is not None and self.git.is_descendant(tip, snapshot.commit)
        ):
            return snapshot
        raise RefNotFound(
            "the ref names a commit that this source does not contain",
            fix="Leave out the ref, or name the commit of an earlier answer.",
        )

    def _create_snapshot(self, commit: str | None, previous: Snapshot | None) -> Snapshot:
        return Snapshot(self.git, commit, self._cache, previous, folder=self._folder)
