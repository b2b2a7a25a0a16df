"""Plans: operations run in memory, in order, with the story of each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from workspace.config import LimitExceeded
from workspace.errors import WorkspaceError
from workspace.overlay import Overlay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.edits import Operation, Outcome
    from workspace.edits.edit import Style
    from workspace.snapshot import Snapshot


class Mode(StrEnum):
    """Whether a batch keeps what succeeded (`each`), or nothing unless everything did (`all`)."""

    EACH = "each"
    ALL = "all"


class Status(StrEnum):
    """What became of one operation of a batch."""

    DONE = "done"
    FAILED = "failed"
    UNDONE = "undone"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class Step:
    """One operation of a batch: what it did, or the error that stopped it."""

    operation: Operation | None
    status: Status
    outcome: Outcome | None = None
    error: WorkspaceError | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Operations applied to a snapshot in memory; `changes` is what a commit of them would hold."""

    snapshot: Snapshot
    overlay: Overlay
    steps: tuple[Step, ...]
    changes: Mapping[str, bytes | None]

    @property
    def summaries(self) -> tuple[str, ...]:
        """One line for each operation that changed something."""
        return tuple(
            step.outcome.summary
            for step in self.steps
            if step.status is Status.DONE and step.outcome and step.outcome.is_change
        )


def plan(
    snapshot: Snapshot, operations: Sequence[Operation | WorkspaceError], mode: Mode, style: Style
) -> Plan:
    """Runs operations over a snapshot. An error leaves the documents as they were before its operation.

    An error among the operations stands for one that could not even be read: its step fails with it.
    Raises LimitExceeded for more operations than the workspace allows.
    """
    limit = snapshot.config.limits.operations
    if len(operations) > limit:
        raise LimitExceeded(
            f"{len(operations):,} operations in one call; at most {limit} are allowed",
            fix=f"Send them in calls of {limit} or fewer.",
            limit=limit,
            actual=len(operations),
        )
    overlay = Overlay(snapshot)
    steps: list[Step] = []
    for operation in operations:
        if isinstance(operation, WorkspaceError):
            steps.append(Step(None, Status.FAILED, error=operation))
        else:
            steps.append(_run(operation, overlay, style))
        if mode is Mode.ALL and steps[-1].status is Status.FAILED:
            return _taken_back(snapshot, steps, operations)
    return Plan(snapshot, overlay, tuple(steps), overlay.changes())


def _run(operation: Operation, overlay: Overlay, style: Style) -> Step:
    try:
        return Step(operation, Status.DONE, outcome=operation.apply(overlay, style))
    except WorkspaceError as error:
        return Step(operation, Status.FAILED, error=error)


def _taken_back(
    snapshot: Snapshot, steps: list[Step], operations: Sequence[Operation | WorkspaceError]
) -> Plan:
    undone = [Step(step.operation, Status.UNDONE, step.outcome) for step in steps[:-1]]
    rest = [
        Step(None if isinstance(operation, WorkspaceError) else operation, Status.NOT_RUN)
        for operation in operations[len(steps) :]
    ]
    return Plan(snapshot, Overlay(snapshot), (*undone, steps[-1], *rest), {})
