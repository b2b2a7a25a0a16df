"""The write of one call: plan and publish it, and repeat both if another writer moves the branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from workspace.document.splices import EditContext
from workspace.errors import WorkspaceError
from workspace.git.messages import PERSON_TRAILER, PROPOSAL_TRAILER, format_commit_message
from workspace.git.objects import Signature
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore, require_writable
from workspace.git.worktrees import find_unfinished_operation
from workspace.proposal_ids import parse_branch_id
from workspace.publishing.after_commit import run_with_caveat
from workspace.publishing.batch import Batch
from workspace.publishing.checkout import WorktreeBusy
from workspace.publishing.publish import publish_with_retry
from workspace.publishing.recovery import recover_if_needed, restore_all_pruned
from workspace.snapshot.overlay import Overlay
from workspace.writing.idempotency import get_request_log
from workspace.writing.plan import Plan, build_plan
from workspace.writing.read_before_write import Precondition, resolve_base_commit

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.document.document import Document
    from workspace.edits.operation import Operation
    from workspace.policy.tokens import Person
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.idempotency import KeyedRequest, RecordedRequest
    from workspace.writing.plan import BatchMode, PlanStep
    from workspace.writing.read_before_write import SeenTexts


class DetachedHead(WorkspaceError):
    """An error: HEAD is detached, so there is no branch to write to."""

    code = "DETACHED_HEAD"


class SigningRequired(WorkspaceError):
    """An error: the repository requires signed commits, which Docyard does not make."""

    code = "SIGNING_REQUIRED"


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of a batch: its commit (or the tip, if nothing was committed), and its steps.

    `recorded_request` is the request of an earlier call with the same key. Then `commit` is the commit of
    that call, and nothing was planned.
    """

    commit: str | None
    is_committed: bool
    plan: Plan
    recorded_request: RecordedRequest | None = None

    @property
    def steps(self) -> tuple[PlanStep, ...]:
        """The operations, in order."""
        return self.plan.steps

    @property
    def changes(self) -> Mapping[str, bytes | None]:
        """The bytes of each changed document; None for a removed document."""
        return self.plan.changes

    @property
    def has_damaged_object(self) -> bool:
        """Return True if an operation failed because an object is missing or broken."""
        return any(isinstance(step.error, DamagedRepository) for step in self.steps)

    def document(self, path: str) -> Document | None:
        """Return a document after the batch, or None if no document can be read at the path."""
        try:
            return self.plan.overlay.document(path)
        except WorkspaceError:
            return None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteRequest:
    """The operations of one call, and the texts that its caller has read.

    Most fields are the parameters of `Workspace.write`. With `skip_policy`,
    a dry run is not checked against the policy and the guards. `check_new_request` is called for a keyed
    request that no commit has recorded, if the branch has protected paths and is not a proposal's. It may
    raise an error to refuse the request. `trailers` are further trailers of the commit. `confirm` is called
    under Docyard's lock right before the commit, and may raise an error too.
    """

    workspace: Branch
    operations: Sequence[Operation | WorkspaceError]
    mode: BatchMode
    tool: str
    client: str
    message: str | None
    dry_run: bool
    base_commit: str | None
    seen_texts: SeenTexts | None
    keyed_request: KeyedRequest | None
    check_new_request: Callable[[KeyedRequest], None] | None
    person: Person | None = None
    skip_policy: bool = False
    trailers: Mapping[str, str] = field(default_factory=dict)
    confirm: Callable[[], None] | None = None

    def write(self) -> WriteResult:
        """Plan the operations and publish the changes. Raises the errors of `Workspace.write`.

        The first plan is made before Docyard's lock is acquired. If another writer moves the branch
        meanwhile, the operations are applied again to the new tip, under Docyard's lock. If a Git command
        moves the branch during this, they are applied again under Git's locks.
        """
        store, branch = self._require_writable()
        try:
            result = self._plan(branch, None)
        except DamagedRepository:
            if not restore_all_pruned(store):
                raise
            result = self._plan(branch, None)
        else:
            # If the missing object cannot be restored, the result stays: only its step fails.
            if result.has_damaged_object and restore_all_pruned(store):
                result = self._plan(branch, None)
        if self.dry_run:
            self._check_policy(branch, result)
            return result
        if not result.changes:
            # A retry of a call that was interrupted after its commit has no changes, but may need recovery.
            recover_if_needed(store)
            return result
        first_snapshot = result.plan.snapshot

        def build(tip: str | None) -> Batch | None:
            nonlocal result
            if result.commit != tip:
                result = self._plan(branch, first_snapshot)
            if not result.changes:
                return None
            self._check_policy(branch, result)
            return self._make_batch(branch, result)

        durable = self.workspace.durable and first_snapshot.config.fsync
        commit = publish_with_retry(store, branch, build, durable=durable)
        if commit is None:
            return result
        result.plan.overlay.cache_documents()
        run_with_caveat(
            partial(self._record_written_texts, result), None, "the text that you wrote counts as unread"
        )
        return WriteResult(commit, True, result.plan)

    def _record_written_texts(self, result: WriteResult) -> None:
        """Add the texts that the client wrote to the texts that it has read."""
        if self.seen_texts is not None:
            self.seen_texts.add(result.plan.written_digests)

    def _plan(self, branch: str, first_snapshot: Snapshot | None) -> WriteResult:
        """Apply the operations to the tip in memory, or return the earlier result of the same request.

        The tip is that of `branch`, even if another branch is checked out now. `first_snapshot` is the
        snapshot of the first plan, if this plan is another one.
        """
        snapshot = self.workspace.snapshot(self.workspace.tip(branch))
        if self.keyed_request is not None and not self.dry_run:
            recorded_request = get_request_log(self.workspace).find_recorded_request(
                snapshot.commit, self.keyed_request
            )
            if recorded_request is not None:
                return WriteResult(
                    recorded_request.commit,
                    False,
                    Plan(snapshot, Overlay(snapshot), (), {}),
                    recorded_request,
                )
            if (
                self.check_new_request is not None
                and snapshot.config.protect
                and not is_proposal_branch(branch)
            ):
                self.check_new_request(self.keyed_request)
        context = EditContext(
            snapshot.config.anchors,
            datetime.now(UTC).date().isoformat(),
            is_anchor_optional=snapshot.config.anchors_on_new == "as-document",
        )
        precondition = Precondition(self._read_base_snapshot(), self.seen_texts, first_snapshot)
        new_plan = build_plan(
            snapshot, self.operations, self.mode, context, precondition, self.workspace.inbound_links
        )
        if new_plan.changes and not self.dry_run:
            check_signing(snapshot)
        return WriteResult(snapshot.commit, False, new_plan)

    def _check_policy(self, branch: str, result: WriteResult) -> None:
        """Raise an error if the policy or a guard refuses the changes; the policy exempts proposals."""
        if not result.changes or (self.skip_policy and self.dry_run):
            return
        # Imported late, because a server can answer its first calls without the policy.
        from workspace.policy.protection import check_direct_write

        if not is_proposal_branch(branch):
            check_direct_write(result.plan.snapshot, result.changes)
        for guard in tuple(self.workspace.guards.values()):
            guard(result.plan.snapshot, result.changes)
        if self.confirm is not None and not self.dry_run:
            self.confirm()

    def _read_base_snapshot(self) -> Snapshot | None:
        name = self.base_commit
        return (
            None if name is None else self.workspace.snapshot(resolve_base_commit(self.workspace.git, name))
        )

    def _make_batch(self, branch: str, result: WriteResult) -> Batch:
        """Return the changes of a plan as a batch, which becomes one commit."""
        text = format_commit_message(
            result.plan.summaries,
            paths=sorted(result.changes),
            message=self.message,
            tool=self.tool,
            client=self.client,
            trailers={
                **build_trailers(branch, self.person),
                **self.trailers,
                **(self.keyed_request.build_trailers(result.plan) if self.keyed_request else {}),
            },
        )
        author = make_author_signature(self.workspace, self.person)
        return Batch(branch, result.commit, result.changes, text, author)

    def _require_writable(self) -> tuple[GitStore, str]:
        """Return the repository and the branch; in a dry run, the branch is "" if HEAD is detached.

        Raises ReadOnly, WorktreeBusy, DetachedHead, and the errors of `Branch.tip`.
        """
        git = require_writable(self.workspace.git)
        self.workspace.tip()  # raises an error for a deleted repository, where HEAD is missing too
        branch = self.workspace.branch
        operation = find_unfinished_operation(git.git_dir) if branch is None else None
        if operation is not None and not self.dry_run:
            raise WorktreeBusy(f"{operation} is in progress")
        if branch is None and not self.dry_run:
            raise DetachedHead(
                "HEAD is detached, so there is no branch to write to",
                fix="Check out a branch with git switch NAME, or give the command --branch NAME.",
            )
        return git, branch or ""


def is_proposal_branch(branch: str) -> bool:
    """Return True if a branch is the branch of a proposal, where protected documents may be changed."""
    return parse_branch_id(branch) is not None


def build_trailers(branch: str, person: Person | None) -> dict[str, str]:
    """Return the trailers for the proposal of a branch, and for the token of the author."""
    trailers = {PERSON_TRAILER: person.token} if person is not None else {}
    id = parse_branch_id(branch)
    if id is None:
        return trailers
    return {PROPOSAL_TRAILER: id, **trailers}


def make_author_signature(workspace: Branch, person: Person | None = None) -> Signature:
    """Return the author of a new commit, with the current time in the local time zone.

    It is the person that a token identifies, else Git's configured identity.
    """
    now = datetime.now().astimezone()
    offset = now.utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset else 0
    identity = (person.name, person.email) if person is not None else workspace.author()
    return Signature(*identity, int(now.timestamp()), minutes)


def check_signing(snapshot: Snapshot) -> None:
    """Raise SigningRequired if Git requires signed commits, and docyard.toml does not allow unsigned ones."""
    if snapshot.git.config_flag("commit.gpgsign") and snapshot.config.signing != "off":
        raise SigningRequired(
            "this repository requires signed commits (commit.gpgsign), and Docyard makes unsigned commits",
            fix='Set signing = "off" in docyard.toml if unsigned commits are acceptable here.',
        )
