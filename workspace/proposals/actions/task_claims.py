"""The claims of tasks in protected documents, which change only by a reviewed proposal.

Such a claim is an event of the discussion, in a folder for the branch and the month. So the number of events
in a folder is limited, and claims of an earlier month that are still valid are read from its folder. An event
is ignored if the claim that it replaces was valid at its time, and is not the claim that its writer had
proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.tasks import Claim
from workspace.errors import WorkspaceError
from workspace.git.store import require_writable
from workspace.proposal_ids import derive_id
from workspace.proposals.actions.repository import find_target, make_key_reused_error
from workspace.proposals.events import Claimed
from workspace.snapshot.overlay import Overlay
from workspace.writing.idempotency import check_idempotency_key

if TYPE_CHECKING:
    from workspace.edits.task_claim import ClaimTask
    from workspace.proposals.actions.repository import Actor, ProposalRepository
    from workspace.proposals.events import Event
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


class TaskClaims:
    """The claims of tasks in the discussion of the served branch. Thread-safe."""

    def __init__(self, repository: ProposalRepository) -> None:
        self._repository = repository

    def list_valid(self, time: datetime) -> Mapping[tuple[str, str], Claim]:
        """Return the claims that are valid at a time, by the path and id of their tasks.

        Raises DetachedHead, InvalidTarget.
        """
        branch, _ = find_target(self._repository.workspace)
        claims = replay_claims(self._list_events(branch, time))
        return {key: claim for key, claim in claims.items() if claim.is_valid_at(time)}

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
        location = operation.locate(Overlay(workspace.snapshot()))
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
            if not isinstance(body, Claimed) or (body.path, body.task) != (location.path, id):
                raise make_key_reused_error(used_in=earlier_result.commit)
            claim = Claim.parse(body.claim) if body.claim is not None else None
            return ClaimResult(location, claim, earlier_result.commit, is_new=False)
        for _ in range(_MAX_ATTEMPTS):
            current = self._find(branch, operation.time, location)
            claim = operation.compute_claim(location, current)
            if dry_run:
                return ClaimResult(location, claim, None)
            body = Claimed(
                location.path, id, str(claim) if claim else None, str(current) if current else None
            )

            def check(current: Claim | None = current) -> None:
                if self._find(branch, operation.time, location) != current:
                    raise _ClaimChanged

            try:
                result = self._repository.append(folder, [body], actor, key, check=check, branch=branch)
            except _ClaimChanged:
                continue
            return ClaimResult(location, claim, result.commit, not result.is_repeat)
        raise AssertionError("the claim of a task changed at each attempt")

    def _find(self, branch: str, time: datetime, location: TaskLocation) -> Claim | None:
        claims = replay_claims(self._list_events(branch, time))
        return claims.get((location.path, location.task.id or ""))

    def _list_events(self, branch: str, time: datetime) -> Iterator[Event]:
        """Yield the events of the month before and of this month, in order."""
        earlier_time = time.replace(day=1) - timedelta(days=1)
        for folder in (_derive_folder(branch, earlier_time), _derive_folder(branch, time)):
            yield from self._repository.list_events(folder)


def replay_claims(events: Iterable[Event]) -> dict[tuple[str, str], Claim]:
    """Return the last claim of each task by its path and id, also one that has expired."""
    claims: dict[tuple[str, str], Claim] = {}
    for event in events:
        body = event.body
        if not isinstance(body, Claimed):
            continue
        key = body.path, body.task
        current = claims.get(key)
        is_held = current is not None and current.is_valid_at(event.time)
        if is_held and body.previous != str(current):
            continue
        if body.claim is None:
            claims.pop(key, None)
        else:
            claims[key] = Claim.parse(body.claim)
    return claims


def _derive_folder(branch: str, time: datetime) -> str:
    """Return the id of the folder of a branch's claims in the month of a time."""
    return derive_id(f"claims of {branch} in {time:%Y-%m}")
