"""One call's writing: planned on the tip, published, and planned again where another writer was first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from workspace.document.splices import Style
from workspace.errors import WorkspaceError
from workspace.git.messages import PERSON, TRAILER, commit_message
from workspace.git.objects import Signature
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore, writable
from workspace.git.worktrees import operation
from workspace.proposal_ids import id_of_branch
from workspace.publishing.after_commit import attempt
from workspace.publishing.batch import Batch
from workspace.publishing.checkout import WorktreeBusy
from workspace.publishing.publish import publish_with_retry
from workspace.publishing.recovery import mend, mend_pruned
from workspace.snapshot.overlay import Overlay
from workspace.writing.idempotency import request_log
from workspace.writing.plan import Plan, plan
from workspace.writing.read_before_write import Proof, known_commit

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.document.document import Document
    from workspace.edits import Operation
    from workspace.policy.tokens import Person
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.idempotency import Recorded, Request
    from workspace.writing.plan import Mode, Step
    from workspace.writing.read_before_write import Sight


class DetachedHead(WorkspaceError):
    """No branch is checked out, so there is none to write to."""

    code = "DETACHED_HEAD"


class SigningRequired(WorkspaceError):
    """The repository asks for signed commits, which Docyard does not make."""

    code = "SIGNING_REQUIRED"


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a batch: the commit that holds it (or the one that was read), and each step's story.

    `repeated` is what an earlier call of the same key was told; then `commit` is that call's, and nothing was
    planned.
    """

    commit: str | None
    is_committed: bool
    plan: Plan
    repeated: Recorded | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The operations, in order."""
        return self.plan.steps

    @property
    def changes(self) -> Mapping[str, bytes | None]:
        """The bytes of each document that changed; None for one that was removed."""
        return self.plan.changes

    @property
    def met_damage(self) -> bool:
        """True if an operation failed because an object is missing or broken."""
        return any(isinstance(step.error, DamagedRepository) for step in self.steps)

    def document(self, path: str) -> Document | None:
        """Return a document as the batch leaves it; None if it is gone."""
        try:
            return self.plan.overlay.document(path)
        except WorkspaceError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What one call asks to be written, and what it knows. The fields are those of `Workspace.write`.

    One that `is_free` is not asked at the gate: it is run only to see what it would change. `check_new` is
    asked about a request that the history of a protected branch does not hold; it may raise what refuses it.
    """

    workspace: Branch
    operations: Sequence[Operation | WorkspaceError]
    mode: Mode
    tool: str
    client: str
    message: str | None
    dry_run: bool
    base_commit: str | None
    sight: Sight | None
    request: Request | None
    check_new: Callable[[Request], None] | None
    person: Person | None = None
    is_free: bool = False

    def write(self) -> Written:
        """Plans, and publishes what changes. Raises what `Workspace.write` does.

        The first plan is made without a lock. If another writer moves the branch meanwhile, the operations
        (not their bytes) are run again on the new tip: in this writer's turn, in which no other Docyard
        writes, and if a person still is first, with Git's locks held.
        """
        store, branch = self._writable()
        try:
            written = self._planned(branch, None)
        except DamagedRepository:
            if self.dry_run or not mend_pruned(store):
                raise
            written = self._planned(branch, None)
        else:
            # What cannot be restored stays the error of its step, so that others of the batch succeed.
            if written.met_damage and not self.dry_run and mend_pruned(store):
                written = self._planned(branch, None)
        if self.dry_run:
            self._ask(branch, written)
            return written
        if not written.changes:
            # A call that was cut short behind its commit point, and is sent again, changes nothing now.
            mend(store)
            return written
        first = written.plan.snapshot

        def build(tip: str | None) -> Batch | None:
            nonlocal written
            if written.commit != tip:
                written = self._planned(branch, first)
            if not written.changes:
                return None
            self._ask(branch, written)
            return self._batch(branch, written)

        durable = self.workspace.durable and first.config.fsync
        commit = publish_with_retry(store, branch, build, durable=durable)
        if commit is None:
            return written
        attempt(partial(self._remember, written), None, "what you wrote counts as unread")
        return Written(commit, True, written.plan)

    def _remember(self, written: Written) -> None:
        """Add what the client has written to what it has read."""
        if self.sight is not None:
            self.sight.add(written.plan.owned)

    def _planned(self, branch: str, first: Snapshot | None) -> Written:
        """The operations run over the tip, in memory; or what the tip's history tells of the same request.

        The tip is that of the branch that is written, whatever is checked out by now. `first` is the tip at
        which the call came in, where that was another.
        """
        snapshot = self.workspace.snapshot(self.workspace.tip(branch))
        if self.request is not None and not self.dry_run:
            recorded = request_log(self.workspace).repeated(snapshot.commit, self.request)
            if recorded is not None:
                return Written(recorded.commit, False, Plan(snapshot, Overlay(snapshot), (), {}), recorded)
            if self.check_new is not None and snapshot.config.protect and not is_for_proposal(branch):
                self.check_new(self.request)
        style = Style(snapshot.config.anchors, datetime.now(UTC).date().isoformat())
        proof = Proof(self._base(), self.sight, first)
        planned = plan(snapshot, self.operations, self.mode, style, proof, self.workspace.inbound)
        if planned.changes and not self.dry_run:
            check_signing(snapshot)
        return Written(snapshot.commit, False, planned)

    def _ask(self, branch: str, written: Written) -> None:
        """Raise what the policy refuses, but not for a proposal, which is there for that, or a guard."""
        if not written.changes or (self.is_free and self.dry_run):
            return
        # Imported here because a server answers its first questions without it.
        from workspace.policy.protection import check_direct

        if not is_for_proposal(branch):
            check_direct(written.plan.snapshot, written.changes)
        for guard in tuple(self.workspace.guards.values()):
            guard(written.plan.snapshot, written.changes)

    def _base(self) -> Snapshot | None:
        name = self.base_commit
        return None if name is None else self.workspace.snapshot(known_commit(self.workspace.git, name))

    def _batch(self, branch: str, written: Written) -> Batch:
        """Return a plan as what one commit will change."""
        text = commit_message(
            written.plan.summaries,
            paths=sorted(written.changes),
            message=self.message,
            tool=self.tool,
            client=self.client,
            trailers={
                **trailers_of(branch, self.person),
                **(self.request.trailers(written.plan) if self.request else {}),
            },
        )
        author = author_now(self.workspace, self.person)
        return Batch(branch, written.commit, written.changes, text, author)

    def _writable(self) -> tuple[GitStore, str]:
        git = writable(self.workspace.git)
        self.workspace.tip()  # says so if the repository is gone, which has no HEAD either
        branch = self.workspace.branch
        begun = operation(git.git_dir) if branch is None else None
        if begun is not None and not self.dry_run:
            raise WorktreeBusy(f"{begun} is in progress")
        if branch is None and not self.dry_run:
            raise DetachedHead(
                "HEAD is detached, so there is no branch to write to",
                fix="Check out a branch with git switch NAME, or give the command --branch NAME.",
            )
        return git, branch or ""


def is_for_proposal(branch: str) -> bool:
    """Return True if a branch is a proposal's, where what the policy protects may be changed."""
    return id_of_branch(branch) is not None


def trailers_of(branch: str, person: Person | None) -> dict[str, str]:
    """What a commit says of the proposal whose branch it is on, and of the token that proved its author."""
    trailers = {PERSON: person.token} if person is not None else {}
    id = id_of_branch(branch)
    if id is None:
        return trailers
    return {TRAILER: id, **trailers}


def author_now(workspace: Branch, person: Person | None = None) -> Signature:
    """Return the author of a commit that is made at this moment, in the time zone of this machine.

    It is the person that a token has proved, else Git's configured identity.
    """
    now = datetime.now().astimezone()
    offset = now.utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset else 0
    who = (person.name, person.email) if person is not None else workspace.author()
    return Signature(*who, int(now.timestamp()), minutes)


def check_signing(snapshot: Snapshot) -> None:
    """Raise SigningRequired if no unsigned commit may be made on top of this one."""
    if snapshot.git.config_flag("commit.gpgsign") and snapshot.config.signing != "off":
        raise SigningRequired(
            "this repository asks for signed commits (commit.gpgsign), and Docyard makes unsigned ones",
            fix='Set signing = "off" in docyard.toml if unsigned commits are acceptable here.',
        )
