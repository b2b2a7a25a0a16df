"""The claims of tasks in protected documents, which change only by a reviewed proposal.

Such a claim is an event of the discussion, in a folder for the branch and the month. So the number of events
in a folder is limited, and claims of an earlier month that are still valid are read from its folder. An event
is ignored if the claim that it replaces was valid at its time, and is not the claim that its writer had
proved.

A document may become protected, or unprotected, while a task is claimed. So an event may replace the claim in
a task's field, and a valid claim of an event counts in every document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import resolve_task
from workspace.document.tasks import Claim
from workspace.errors import WorkspaceError
from workspace.git.store import require_writable
from workspace.history.moved_addresses import Moves
from workspace.proposal_ids import derive_id
from workspace.proposals.actions.repository import find_target, make_key_reused_error
from workspace.proposals.events import Claimed
from workspace.snapshot.overlay import Overlay
from workspace.writing.idempotency import check_idempotency_key

if TYPE_CHECKING:
    from workspace.edits.task_claim import ClaimTask
    from workspace.proposals.actions.repository import Actor, ProposalRepository
    from workspace.proposals.events import Event
    from workspace.snapshot.snapshot import Snapshot
    from workspace.task_graph import TaskLocation

_MAX_ATTEMPTS = 20


class TaskNeedsId(WorkspaceError):
    """An error: a task of a protected document has no id, so an event cannot name it."""

    code = "TASK_NEEDS_ID"


class _ClaimChanged(Exception):
    """The claim of a task changed after it was read."""


class ClaimResult(NamedTuple):
    """A task and its claim after an operation (None after a release), and the commit of the event.

    `commit` is None for a dry run. `is_new` is False if an earlier call with the same key appended the event.
    """

    location: TaskLocation
    claim: Claim | None
    commit: str | None
    is_new: bool = True


class RecordedClaims(NamedTuple):
    """The claims in events at a time, and the claims that events replaced.

    `claims` has the last claim of each task by its path and id, also one that has expired. `replaced` has the
    claims of events or fields that events renewed or released, with the paths and ids. `old_paths` has the
    paths in the events of documents that were renamed, by the key of the claim.
    """

    claims: Mapping[tuple[str, str], Claim]
    replaced: Set[tuple[str, str, Claim]]
    time: datetime
    old_paths: Mapping[tuple[str, str], str]

    def find(self, path: str, id: str, field_claim: Claim | None) -> Claim | None:
        """Return the claim of a task: of an event, else the claim in its field unless an event replaced it.

        A valid claim precedes one that has expired.
        """
        claim = self.claims.get((path, id))
        if field_claim is None or (path, id, field_claim) in self.replaced:
            return claim
        return claim if claim is not None and claim.is_valid_at(self.time) else field_claim


class TaskClaims:
    """The claims of tasks in the discussion of the served branch. Thread-safe."""

    def __init__(self, repository: ProposalRepository) -> None:
        self._repository = repository

    def read(self, snapshot: Snapshot, time: datetime) -> RecordedClaims | None:
        """Return the claims in events at a time, with the paths of a snapshot; None without any.

        A valid claim follows its document, if that was renamed.
        """
        workspace = self._repository.workspace
        if workspace.branch is None:
            return None
        recorded = replay_claims(self._list_events(workspace.branch, time), time)
        if not recorded.claims and not recorded.replaced:
            return None
        claims, old_paths = dict(recorded.claims), {}
        for (path, id), claim in recorded.claims.items():
            key = self._find_current_path(snapshot, path) if claim.is_valid_at(time) else path, id
            if not _is_valid(claims.get(key), time):
                claims[key], old_paths[key] = claim, path
        return recorded._replace(claims=claims, old_paths=old_paths)

    def _find_current_path(self, snapshot: Snapshot, path: str) -> str:
        """Return the path to which a document was renamed; its old path if there is none."""
        if path in snapshot.documents:
            return path
        workspace = self._repository.workspace
        move = workspace.shared(Moves, lambda: Moves(workspace.git)).find(snapshot, path)
        return path if move is None else move.path

    def decides(self, operation: ClaimTask) -> bool:
        """Return True if events decide who holds the task of an operation, whatever its field says."""
        snapshot = self._repository.workspace.snapshot()
        recorded = self.read(snapshot, operation.time)
        if recorded is None:
            return False
        try:
            _, task = resolve_task(snapshot.document(operation.file), operation.slug)
        except WorkspaceError:  # the operation reports the error
            return False
        claim = recorded.find(operation.file, task.id or "", task.claim)
        return claim != task.claim and any(_is_valid(item, operation.time) for item in (claim, task.claim))

    def run(
        self, operation: ClaimTask, actor: Actor, *, key: str | None = None, dry_run: bool = False
    ) -> ClaimResult:
        """Append the event of a claim, its renewal or its release.

        Raises TaskClaimed, TaskNotReady, TaskNeedsId, KeyReused, the errors of `ClaimTask.locate`, and those
        of `ProposalRepository.append`.
        """
        workspace = self._repository.workspace
        require_writable(workspace.git)
        branch, _ = find_target(workspace)
        if key is not None:
            check_idempotency_key(key)
        snapshot = workspace.snapshot()
        location = operation.locate(Overlay(snapshot))
        id = location.task.id
        if id is None:
            raise TaskNeedsId(
                f"'{location.address}' of {location.path} has no id, and the document is protected",
                fix="Write {#id} at the end of its title in a proposal, or claim a task that has an id.",
            )
        folder = _derive_folder(branch, operation.time)
        earlier_result = self._repository.find_events_by_key(folder, key)
        if earlier_result is not None:
            [body] = [event.body for event in earlier_result.events]
            if not isinstance(body, Claimed) or (
                (self._find_current_path(snapshot, body.path), body.task) != (location.path, id)
            ):
                raise make_key_reused_error(used_in=earlier_result.commit)
            claim = Claim.parse(body.claim) if body.claim is not None else None
            return ClaimResult(location, claim, earlier_result.commit, is_new=False)
        for _ in range(_MAX_ATTEMPTS):
            current, path = self._find(snapshot, operation.time, location)
            claim = operation.compute_claim(location, current)
            if dry_run:
                return ClaimResult(location, claim, None)
            previous = str(current) if _is_valid(current, operation.time) else None
            body = Claimed(path, id, str(claim) if claim else None, previous)

            def check(current: Claim | None = current) -> None:
                if self._find(snapshot, operation.time, location)[0] != current:
                    raise _ClaimChanged

            try:
                result = self._repository.append(folder, [body], actor, key, check=check, branch=branch)
            except _ClaimChanged:
                continue
            return ClaimResult(location, claim, result.commit, not result.is_repeat)
        raise AssertionError("the claim of a task changed at each attempt")

    def _find(self, snapshot: Snapshot, time: datetime, location: TaskLocation) -> tuple[Claim | None, str]:
        """Return the claim of a task, and the path of its document in events."""
        path, task = location.path, location.task
        recorded = self.read(snapshot, time)
        if recorded is None:
            return task.claim, path
        id = task.id or ""
        return recorded.find(path, id, task.claim), recorded.old_paths.get((path, id), path)

    def _list_events(self, branch: str, time: datetime) -> Iterator[Event]:
        """Yield the events of the month before and of this month, in order."""
        earlier_time = time.replace(day=1) - timedelta(days=1)
        for folder in (_derive_folder(branch, earlier_time), _derive_folder(branch, time)):
            yield from self._repository.list_events(folder)


def replay_claims(events: Iterable[Event], time: datetime) -> RecordedClaims:
    """Return the claims in events."""
    claims: dict[tuple[str, str], Claim] = {}
    replaced: set[tuple[str, str, Claim]] = set()
    for event in events:
        body = event.body
        if not isinstance(body, Claimed):
            continue
        key = body.path, body.task
        current = claims.get(key)
        previous = Claim.parse(body.previous) if body.previous is not None else None
        if _is_valid(current, event.time) and previous != current:
            continue
        if previous is not None:
            replaced.add((*key, previous))
        if body.claim is None:
            claims.pop(key, None)
        else:
            claims[key] = Claim.parse(body.claim)
            replaced.discard((*key, claims[key]))
    return RecordedClaims(claims, replaced, time, {})


def _is_valid(claim: Claim | None, time: datetime) -> bool:
    return claim is not None and claim.is_valid_at(time)


def _derive_folder(branch: str, time: datetime) -> str:
    """Return the id of the folder of a branch's claims in the month of a time."""
    return derive_id(f"claims of {branch} in {time:%Y-%m}")
