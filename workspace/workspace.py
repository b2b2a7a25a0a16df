"""The workspace: one branch of one repository, read through snapshots and written batch by batch."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from workspace.addresses import nearest
from workspace.errors import WorkspaceError
from workspace.git import GitReader, GitStore
from workspace.objects import Signature
from workspace.snapshot import DocumentCache, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from workspace.document import Document
    from workspace.edits import Operation
    from workspace.plan import Mode, Plan, Step
    from workspace.publishing import Batch, Recovered

FALLBACK_AUTHOR = ("Docyard", "docyard@localhost")
_ATTEMPTS = 4
_PATIENCE = 30.0  # seconds to wait for the writers of this process
_RETRY_AFTER = 500  # milliseconds


class BranchNotFound(WorkspaceError):
    """The repository has no branch of this name. `branches` are the nearest that it has."""

    code = "BRANCH_NOT_FOUND"


class DetachedHead(WorkspaceError):
    """No branch is checked out, so there is none to write to."""

    code = "DETACHED_HEAD"


class ReadOnly(WorkspaceError):
    """The workspace was opened for reading."""

    code = "READ_ONLY"


class SigningRequired(WorkspaceError):
    """The repository asks for signed commits, which Docyard does not make."""

    code = "SIGNING_REQUIRED"


class Busy(WorkspaceError):
    """Other writers were first, again and again. `retry_after_ms` says when to try again."""

    code: ClassVar[str] = "BUSY"


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a batch: the commit that holds it (or the one that was read), and each step's story."""

    commit: str | None
    is_committed: bool
    plan: Plan

    @property
    def steps(self) -> tuple[Step, ...]:
        """The operations, in order."""
        return self.plan.steps

    @property
    def changes(self) -> Mapping[str, bytes | None]:
        """The bytes of each document that changed; None for one that was removed."""
        return self.plan.changes

    def document(self, path: str) -> Document | None:
        """A document as the batch leaves it; None if it is gone."""
        try:
            return self.plan.overlay.document(path)
        except WorkspaceError:
            return None


class Workspace:
    """A served branch: the one that was named, else whichever is checked out. Safe in several threads."""

    def __init__(self, git: GitReader, *, branch: str | None = None, durable: bool = True) -> None:
        self.git = git
        self.durable = durable
        self._named = branch
        self._cache = DocumentCache()
        self._latest: Snapshot | None = None
        self._lock = threading.Lock()
        self._writing = threading.Lock()

    @classmethod
    def open(
        cls, path: Path, *, branch: str | None = None, read_only: bool = False, durable: bool = True
    ) -> Workspace:
        """Opens the repository of a folder. Unless a branch is named, the checked-out one is served.

        A read-only workspace holds an object that has no write methods.
        Raises NotARepository, UnsupportedRepository, BranchNotFound.
        """
        git = GitReader(path) if read_only else GitStore(path)
        if branch is not None:
            branch = branch.removeprefix("refs/heads/")
            if branch != git.head().branch and git.tip(branch) is None:
                branches = git.branches()
                if branch in branches:
                    raise BranchNotFound(
                        f"'{branch}' is only another name (a symbolic ref) for a branch",
                        fix="Name the branch that it leads to.",
                    )
                close = nearest(branch, branches)
                fix = f"Did you mean '{close[0]}'?" if close else "Make it with git branch first."
                raise BranchNotFound(f"no branch '{branch}'", fix=fix, branches=close)
        return cls(git, branch=branch, durable=durable)

    @property
    def branch(self) -> str | None:
        """The served branch; unless it was named, a `git switch` changes it. None on a detached HEAD."""
        return self._named if self._named is not None else self.git.head().branch

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written through this object."""
        return not isinstance(self.git, GitStore)

    @property
    def name(self) -> str:
        """The name of the repository's folder."""
        home = self.git.worktree or self.git.common_dir
        return home.name.removesuffix(".git") or home.parent.name

    def tip(self) -> str | None:
        """The commit that is served now; None before the first."""
        return self.git.head().commit if self._named is None else self.git.tip(self._named)

    def snapshot(self, commit: str | None = None) -> Snapshot:
        """A commit to read: the tip of the served branch unless one is named."""
        wanted = commit or self.tip()
        with self._lock:
            if self._latest is None or self._latest.commit != wanted:
                latest = Snapshot(self.git, wanted, self._cache, self._latest)
                if commit is not None:
                    return latest
                self._latest = latest
            return self._latest

    def exists(self, commit: str) -> bool:
        """Whether a commit is still in the repository."""
        return self.git.has(commit)

    def author(self) -> tuple[str, str]:
        """Name and address that commits carry: Git's configured identity, else Docyard's own."""
        return self.git.identity() or FALLBACK_AUTHOR

    def recover(self) -> Recovered | None:
        """Mends what a writer that died in the middle of a commit left; each write does so first, too.

        None where this workspace writes nothing. Raises Locked, CannotWrite.
        """
        from workspace.publishing import recover

        return recover(self.git) if isinstance(self.git, GitStore) else None

    def write(
        self,
        operations: Sequence[Operation | WorkspaceError],
        *,
        mode: Mode,
        tool: str,
        client: str,
        message: str | None = None,
        dry_run: bool = False,
    ) -> Written:
        """Runs operations over the tip and commits what they change, as one commit.

        If another writer moves the branch first, the operations (not their bytes) are run again on the new
        tip: in this writer's turn, in which no other Docyard writes, and if a person still is first, with
        Git's locks held. Raises ReadOnly, DetachedHead, SigningRequired, LimitExceeded, Busy, and what
        `publish` raises.
        """
        from workspace.publishing import BranchMoved, Publication

        def planned() -> Written:
            return self._plan(operations, mode, dry_run=dry_run)

        with self._turn():
            store, branch = self._writable(dry_run)
            written = planned()
            if dry_run or not written.changes:
                return written
            durable = self.durable and written.plan.snapshot.config.fsync
            with Publication(store, branch, durable=durable) as publication:
                for _ in range(_ATTEMPTS):
                    if written.commit != store.tip(branch):
                        written = planned()
                    if not written.changes:
                        return written
                    batch = self._batch(branch, written, tool=tool, client=client, message=message)
                    try:
                        commit = publication.publish(batch)
                    except BranchMoved:
                        publication.hold()
                        continue
                    return Written(commit, True, written.plan)
        raise Busy(
            f"other programs moved the branch {_ATTEMPTS} times while this was written; nothing was changed",
            fix="Send the same call again.",
            retry_after_ms=_RETRY_AFTER,
        )

    def _plan(
        self, operations: Sequence[Operation | WorkspaceError], mode: Mode, *, dry_run: bool
    ) -> Written:
        """The operations run over the tip, in memory."""
        from workspace.edits.edit import Style
        from workspace.plan import plan

        snapshot = self.snapshot()
        style = Style(snapshot.config.anchors, datetime.now(UTC).date().isoformat())
        planned = plan(snapshot, operations, mode, style)
        if planned.changes and not dry_run:
            self._check_signing(snapshot)
        return Written(snapshot.commit, False, planned)

    def _batch(self, branch: str, written: Written, *, tool: str, client: str, message: str | None) -> Batch:
        """A plan as what one commit will change."""
        from workspace.messages import commit_message
        from workspace.publishing import Batch

        now = datetime.now().astimezone()
        offset = now.utcoffset()
        name, email = self.author()
        text = commit_message(
            written.plan.summaries, paths=sorted(written.changes), message=message, tool=tool, client=client
        )
        minutes = int(offset.total_seconds() // 60) if offset else 0
        author = Signature(name, email, int(now.timestamp()), minutes)
        return Batch(branch, written.commit, written.changes, text, author)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """One writer of this process at a time. Raises Busy."""
        if not self._writing.acquire(timeout=_PATIENCE):
            raise Busy(
                "other calls are being written, one after the other",
                fix="Send the same call again.",
                retry_after_ms=_RETRY_AFTER,
            )
        try:
            yield
        finally:
            self._writing.release()

    def _writable(self, dry_run: bool) -> tuple[GitStore, str]:
        if not isinstance(self.git, GitStore):
            raise ReadOnly("this workspace is served read-only", fix="Start the server without --read-only.")
        branch = self.branch
        if branch is None and not dry_run:
            raise DetachedHead(
                "HEAD is detached, so there is no branch to write to",
                fix="Check out a branch with git switch NAME, or start the server with --branch NAME.",
            )
        return self.git, branch or ""

    def _check_signing(self, snapshot: Snapshot) -> None:
        if snapshot.config.signing != "off" and self.git.config_flag("commit.gpgsign"):
            raise SigningRequired(
                "this repository asks for signed commits (commit.gpgsign), and Docyard makes unsigned ones",
                fix='Set signing = "off" in docyard.toml if unsigned commits are acceptable here.',
            )
