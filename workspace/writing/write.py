"""The write of one call: planned on the tip, published, and planned again if another writer was first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from workspace.document.splices import Style
from workspace.errors import WorkspaceError
from workspace.git.messages import PERSON_TRAILER, PROPOSAL_TRAILER, format_commit_message
from workspace.git.objects import Signature
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore, require_writable
from workspace.git.worktrees import find_unfinished_operation
from workspace.proposal_ids import parse_branch_id
from workspace.publishing.after_commit import attempt
from workspace.publishing.batch import Batch
from workspace.publishing.checkout import WorktreeBusy
from workspace.publishing.publish import publish_with_retry
from workspace.publishing.recovery import recover_if_needed, restore_all_pruned
from workspace.snapshot.overlay import Overlay
from workspace.writing.idempotency import request_log
from workspace.writing.plan import Plan, plan
from workspace.writing.read_before_write import Precondition, resolve_base_commit

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.document.document import Document
    from workspace.edits import Operation
    from workspace.policy.tokens import Person
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.idempotency import RecordedRequest, Request
    from workspace.writing.plan import Mode, PlanStep
    from workspace.writing.read_before_write import SeenTexts


class DetachedHead(WorkspaceError):
    """No branch is checked out, so there is no branch to write to."""

    code = "DETACHED_HEAD"


class SigningRequired(WorkspaceError):
    """The repository requires signed commits, which Docyard does not make."""

    code = "SIGNING_REQUIRED"


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of a batch: the commit that holds it (or the one that was read), and its steps.

    `repeated` is what an earlier call of the same key was told; then `commit` is that call's, and nothing was
    planned.
    """

    commit: str | None
    is_committed: bool
    plan: Plan
    repeated: RecordedRequest | None = None

    @property
    def steps(self) -> tuple[PlanStep, ...]:
        """The operations, in order."""
        return self.plan.steps

    @property
    def changes(self) -> Mapping[str, bytes | None]:
        """The bytes of each document that changed; None for one that was removed."""
        return self.plan.changes

    @property
    def has_met_damage(self) -> bool:
        """Return True if an operation failed because an object is missing or broken."""
        return any(isinstance(step.error, DamagedRepository) for step in self.steps)

    def document(self, path: str) -> Document | None:
        """Return a document after the batch; None if it is removed."""
        try:
            return self.plan.overlay.document(path)
        except WorkspaceError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
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
    sight: SeenTexts | None
    request: Request | None
    check_new: Callable[[Request], None] | None
    person: Person | None = None
    skip_policy: bool = False

    def write(self) -> WriteResult:
        """Plans, and publishes what changes. Raises what `Workspace.write` does.

        The first plan is made without a lock. If another writer moves the branch meanwhile, the operations
        (not their bytes) are run again on the new tip: in this writer's turn, in which no other Docyard
        writes, and if a person still is first, with Git's locks held.
        """
        store, branch = self._writable()
        try:
            written = self._plan(branch, None)
        except DamagedRepository:
            if self.dry_run or not restore_all_pruned(store):
                raise
            written = self._plan(branch, None)
        else:
            # What cannot be restored stays the error of its step, so that others of the batch succeed.
            if written.has_met_damage and not self.dry_run and restore_all_pruned(store):
                written = self._plan(branch, None)
        if self.dry_run:
            self._check_policy(branch, written)
            return written
        if not written.changes:
            # A call that was cut short behind its commit point, and is sent again, changes nothing now.
            recover_if_needed(store)
            return written
        first = written.plan.snapshot

        def build(tip: str | None) -> Batch | None:
            nonlocal written
            if written.commit != tip:
                written = self._plan(branch, first)
            if not written.changes:
                return None
            self._check_policy(branch, written)
            return self._batch(branch, written)

        durable = self.workspace.durable and first.config.fsync
        commit = publish_with_retry(store, branch, build, durable=durable)
        if commit is None:
            return written
        attempt(partial(self._remember, written), None, "what you wrote counts as unread")
        return WriteResult(commit, True, written.plan)

    def _remember(self, written: WriteResult) -> None:
        """Add the text that the client has written to the text that it has read."""
        if self.sight is not None:
            self.sight.add(written.plan.owned)

    def _plan(self, branch: str, first: Snapshot | None) -> WriteResult:
        """Return the operations applied to the tip, in memory; or the earlier result of the same request.

        The tip is that of the branch that is written, whatever is checked out by now. `first` is the tip at
        which the call came in, where that was another.
        """
        snapshot = self.workspace.snapshot(self.workspace.tip(branch))
        if self.request is not None and not self.dry_run:
            recorded = request_log(self.workspace).find_repeated(snapshot.commit, self.request)
            if recorded is not None:
                return WriteResult(
                    recorded.commit, False, Plan(snapshot, Overlay(snapshot), (), {}), recorded
                )
            if self.check_new is not None and snapshot.config.protect and not is_proposal_branch(branch):
                self.check_new(self.request)
        style = Style(snapshot.config.anchors, datetime.now(UTC).date().isoformat())
        proof = Precondition(self._base(), self.sight, first)
        planned = plan(snapshot, self.operations, self.mode, style, proof, self.workspace.inbound)
        if planned.changes and not self.dry_run:
            check_signing(snapshot)
        return WriteResult(snapshot.commit, False, planned)

    def _check_policy(self, branch: str, written: WriteResult) -> None:
        """Raise the refusal of the policy, except for a proposal, and that of a guard."""
        if not written.changes or (self.skip_policy and self.dry_run):
            return
        # Imported here because a server answers its first questions without it.
        from workspace.policy.protection import check_direct

        if not is_proposal_branch(branch):
            check_direct(written.plan.snapshot, written.changes)
        for guard in tuple(self.workspace.guards.values()):
            guard(written.plan.snapshot, written.changes)

    def _base(self) -> Snapshot | None:
        name = self.base_commit
        return (
            None if name is None else self.workspace.snapshot(resolve_base_commit(self.workspace.git, name))
        )

    def _batch(self, branch: str, written: WriteResult) -> Batch:
        """Return a plan as the changes of one commit."""
        text = format_commit_message(
            written.plan.summaries,
            paths=sorted(written.changes),
            message=self.message,
            tool=self.tool,
            client=self.client,
            trailers={
                **build_trailers(branch, self.person),
                **(self.request.trailers(written.plan) if self.request else {}),
            },
        )
        author = author_now(self.workspace, self.person)
        return Batch(branch, written.commit, written.changes, text, author)

    def _writable(self) -> tuple[GitStore, str]:
        git = require_writable(self.workspace.git)
        self.workspace.tip()  # says so if the repository is gone, which has no HEAD either
        branch = self.workspace.branch
        begun = find_unfinished_operation(git.git_dir) if branch is None else None
        if begun is not None and not self.dry_run:
            raise WorktreeBusy(f"{begun} is in progress")
        if branch is None and not self.dry_run:
            raise DetachedHead(
                "HEAD is detached, so there is no branch to write to",
                fix="Check out a branch with git switch NAME, or give the command --branch NAME.",
            )
        return git, branch or ""


def is_proposal_branch(branch: str) -> bool:
    """Return True for the branch of a proposal, where protected documents may be changed."""
    return parse_branch_id(branch) is not None


def build_trailers(branch: str, person: Person | None) -> dict[str, str]:
    """Return the trailers for the proposal of a branch, and for the token that proved the author."""
    trailers = {PERSON_TRAILER: person.token} if person is not None else {}
    id = parse_branch_id(branch)
    if id is None:
        return trailers
    return {PROPOSAL_TRAILER: id, **trailers}


def author_now(workspace: Branch, person: Person | None = None) -> Signature:
    """Return the author of a commit made now, in the time zone of this machine.

    It is the person that a token has proved, else Git's configured identity.
    """
    now = datetime.now().astimezone()
    offset = now.utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset else 0
    who = (person.name, person.email) if person is not None else workspace.author()
    return Signature(*who, int(now.timestamp()), minutes)


def check_signing(snapshot: Snapshot) -> None:
    """Raise SigningRequired if an unsigned commit on top of this one is not allowed."""
    if snapshot.git.config_flag("commit.gpgsign") and snapshot.config.signing != "off":
        raise SigningRequired(
            "this repository asks for signed commits (commit.gpgsign), and Docyard makes unsigned ones",
            fix='Set signing = "off" in docyard.toml if unsigned commits are acceptable here.',
        )
