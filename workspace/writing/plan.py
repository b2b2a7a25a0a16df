"""Plans: operations applied in memory, in order, with the result of each.

After each operation the links are updated, and warnings name the links that are broken.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from workspace.config.config import HEADING_BYTES
from workspace.errors import WorkspaceError
from workspace.snapshot.overlay import Overlay
from workspace.writing.read_before_write import OverwriteCheck

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.splices import Style
    from workspace.edits import Operation, Outcome
    from workspace.links.inbound import Inbound
    from workspace.links.updates import LinkUpdates
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.read_before_write import Precondition

MAX_REPORTED = 100
"""Files and links that an answer lists at most."""

_NAMED = 3


def update_links(
    operation: Operation, outcome: Outcome, before: Overlay, after: Overlay, inbound: Inbound | None
) -> tuple[Outcome, Sequence[tuple[Document, Document]]]:
    """Update the links in `after`, which an operation made of `before`.

    Answers with what the operation tells by then, and the documents whose texts are elsewhere, or have other
    links: as they were and as they are.
    """
    survival = outcome.survival
    if survival is None:
        return outcome, ()
    # Imported here because a server answers its first questions without looking at links.
    from workspace.links.inbound import ScannedInbound
    from workspace.links.updates import update_links
    from workspace.links.warnings import find_link_warnings

    doubted = find_link_warnings(before, after, survival)
    moved = [
        (before.document(path), after.document(now))
        for path, now in survival.documents.items()
        if now is not None and now != path
    ]
    relinked = update_links(before, after, survival, inbound or ScannedInbound())
    answer = {**outcome.answer, **_summarize_relinked(relinked, always=operation.tells_links)}
    if relinked.anchored:
        known = answer.get("anchors_added")
        answer["anchors_added"] = [*(known if isinstance(known, list) else ()), *relinked.anchored]
    hints = (*outcome.hints, *_list_hints(relinked))
    return replace(outcome, answer=answer, hints=hints, doubts=doubted), (*moved, *relinked.revised)


def add_warnings(outcome: Outcome, overlay: Overlay) -> Outcome:
    """Return an outcome with its warnings, after the whole batch."""
    if not outcome.doubts:
        return outcome
    from workspace.links.warnings import format_warnings

    return replace(outcome, hints=(*outcome.hints, *format_warnings(overlay, outcome.doubts)))


def _summarize_relinked(relinked: LinkUpdates, *, always: bool) -> dict[str, object]:
    told: dict[str, object] = {}
    if always or relinked.files:
        told["links_rewritten"] = relinked.total
        told["files_rewritten"] = sorted(relinked.files)[:MAX_REPORTED]
    if relinked.broken:
        told["broken_links"] = [link._asdict() for link in relinked.broken[:MAX_REPORTED]]
        told["broken_links_total"] = len(relinked.broken)
    return told


def _list_hints(relinked: LinkUpdates) -> list[str]:
    hints: list[str] = []
    if relinked.left:
        where = _format_names([f"{link.file} line {link.line}" for link in relinked.left])
        hints.append(f"links that would have to be written anew were left as they were: {where}")
    if relinked.unread:
        hints.append(
            f"too large to be read, so links there stay as they were: {_format_names(relinked.unread)}"
        )
    return hints


def _format_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


class Mode(StrEnum):
    """The scope of a batch: keep the operations that succeed (`each`), or nothing if one fails (`all`)."""

    EACH = "each"
    ALL = "all"


class StepStatus(StrEnum):
    """The result of one operation of a batch."""

    DONE = "done"
    FAILED = "failed"
    UNDONE = "undone"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One operation of a batch: its outcome, or its error."""

    operation: Operation | None
    status: StepStatus
    outcome: Outcome | None = None
    error: WorkspaceError | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Operations applied to a snapshot in memory; `changes` are those that a commit would make.

    `owned` are the digests of the texts that the caller has seen once they are committed, as it wrote them.
    """

    snapshot: Snapshot
    overlay: Overlay
    steps: tuple[PlanStep, ...]
    changes: Mapping[str, bytes | None]
    owned: frozenset[bytes] = frozenset()

    @property
    def summaries(self) -> tuple[str, ...]:
        """One line for each operation that changed something."""
        return tuple(
            step.outcome.summary
            for step in self.steps
            if step.status is StepStatus.DONE and step.outcome and step.outcome.is_change
        )


def plan(
    snapshot: Snapshot,
    operations: Sequence[Operation | WorkspaceError],
    mode: Mode,
    style: Style,
    proof: Precondition | None = None,
    inbound: Inbound | None = None,
) -> Plan:
    """Apply operations to a snapshot. An error leaves the documents as they were before its operation.

    Words are taken away only with a proof that the caller knows them; without `proof`, that is not asked.
    Addresses mean what they mean in the commit that the proof names, if it names one, as if the batch were
    run there: so it is, and each address is carried from there to the snapshot.

    Links to what an operation moved or named anew follow in the same step; `inbound` tells where to look for
    them, and without it every document is looked into.

    An error among the operations stands for one that could not even be read: its step fails with it.
    Raises LimitExceeded for more operations, or more text, than the workspace allows in one call.
    """
    snapshot.config.limits.check_call(len(operations), sum(map(_count_text_bytes, operations)))
    batch = _Batch(snapshot, style, proof, inbound, is_alone=len(operations) == 1)
    steps: list[PlanStep] = []
    for operation in operations:
        if isinstance(operation, WorkspaceError):
            steps.append(PlanStep(None, StepStatus.FAILED, error=operation))
        else:
            steps.append(batch.run(operation))
            snapshot.config.limits.check_reading(batch.read, len(steps))
        if mode is Mode.ALL and steps[-1].status is StepStatus.FAILED:
            return _roll_back(snapshot, steps, operations)
    told = tuple(_add_step_warnings(step, batch.overlay) for step in steps)
    return Plan(snapshot, batch.overlay, told, batch.overlay.changes(), frozenset(batch.ledger.owned))


class _Batch:
    """A running batch: over the snapshot, and over the states that its addresses were meant for.

    For an operation that `is_alone` nothing is remembered that only a later one would ask.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        style: Style,
        proof: Precondition | None,
        inbound: Inbound | None,
        *,
        is_alone: bool,
    ) -> None:
        self.ledger = OverwriteCheck(
            proof, snapshot, is_asked=not is_alone or (proof and proof.sight) is not None
        )
        self.overlay = Overlay(snapshot)
        self.read = 0  # bytes of documents that were parsed anew, and for each heading what it takes beside
        self._style = style
        self._past = [Overlay(state) for state in (proof.past(snapshot) if proof else ())]
        self._base = proof.base if proof else None
        self._inbound = inbound
        self._is_alone = is_alone

    def run(self, operation: Operation) -> PlanStep:
        """Apply one operation.

        What it does to the states of the past only says what later addresses mean.
        """
        draft = self.overlay.copy()
        try:
            meant = operation.map_addresses(self._past, self.overlay, self._base) if self._past else operation
            outcome = meant.apply(draft, self._style)
            if outcome.is_change:
                self.ledger.check(meant, self.overlay, draft)
                outcome, revised = update_links(meant, outcome, self.overlay, draft, self._inbound)
                self.ledger.carry(revised)
        except WorkspaceError as error:
            step = PlanStep(operation, StepStatus.FAILED, error=error)
        else:
            step = PlanStep(operation, StepStatus.DONE, outcome=outcome)
            if not self._is_alone:
                self.read += sum(_count_bytes(draft.find(path)) for path in draft.revised(self.overlay))
            self.overlay = draft
        if not self._is_alone:
            self._past = [self._replayed(operation, place) for place in range(len(self._past))]
        return step

    def _replayed(self, operation: Operation, place: int) -> Overlay:
        draft = self._past[place].copy()
        try:
            past = self._past[:place]
            operation.map_addresses(past, self._past[place], self._base).apply(draft, self._style)
        except WorkspaceError:
            return self._past[place]
        return draft


def _add_step_warnings(step: PlanStep, overlay: Overlay) -> PlanStep:
    return replace(step, outcome=add_warnings(step.outcome, overlay)) if step.outcome else step


def _count_bytes(document: Document | None) -> int:
    return len(document.data) + HEADING_BYTES * document.heading_count if document else 0


def _count_text_bytes(operation: Operation | WorkspaceError) -> int:
    """Return the bytes of text that an operation brings, as UTF-8."""
    if not is_dataclass(operation):
        return 0
    values = [getattr(operation, field.name) for field in fields(operation)]
    return sum(len(value.encode("utf-8", "replace")) for value in values if isinstance(value, str))


def _roll_back(
    snapshot: Snapshot, steps: list[PlanStep], operations: Sequence[Operation | WorkspaceError]
) -> Plan:
    undone = [PlanStep(step.operation, StepStatus.UNDONE, step.outcome) for step in steps[:-1]]
    rest = [
        PlanStep(None if isinstance(operation, WorkspaceError) else operation, StepStatus.NOT_RUN)
        for operation in operations[len(steps) :]
    ]
    return Plan(snapshot, Overlay(snapshot), (*undone, steps[-1], *rest), {})
