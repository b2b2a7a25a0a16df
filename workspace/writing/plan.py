"""Plans: operations run in memory, in order, with the story of each.

What follows an operation: links are mended, and its answer says which, and what leads nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from workspace.config.config import HEADING_BYTES
from workspace.errors import WorkspaceError
from workspace.snapshot.overlay import Overlay
from workspace.writing.read_before_write import Ledger

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.splices import Style
    from workspace.edits import Operation, Outcome
    from workspace.links.inbound import Inbound
    from workspace.links.updates import LinkUpdates
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.read_before_write import Proof

MOST_TOLD = 100


"""Files and links that an answer lists at most."""


_NAMED = 3


def follow(
    operation: Operation, outcome: Outcome, before: Overlay, after: Overlay, inbound: Inbound | None
) -> tuple[Outcome, Sequence[tuple[Document, Document]]]:
    """Mend the links in `after`, which an operation made of `before`.

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
    answer = {**outcome.answer, **_told(relinked, always=operation.tells_links)}
    if relinked.anchored:
        known = answer.get("anchors_added")
        answer["anchors_added"] = [*(known if isinstance(known, list) else ()), *relinked.anchored]
    hints = (*outcome.hints, *_hints(relinked))
    return replace(outcome, answer=answer, hints=hints, doubts=doubted), (*moved, *relinked.revised)


def warned(outcome: Outcome, overlay: Overlay) -> Outcome:
    """Return an outcome with its warnings, when the whole batch has run."""
    if not outcome.doubts:
        return outcome
    from workspace.links.warnings import format_warnings

    return replace(outcome, hints=(*outcome.hints, *format_warnings(overlay, outcome.doubts)))


def _told(relinked: LinkUpdates, *, always: bool) -> dict[str, object]:
    told: dict[str, object] = {}
    if always or relinked.files:
        told["links_rewritten"] = relinked.total
        told["files_rewritten"] = sorted(relinked.files)[:MOST_TOLD]
    if relinked.broken:
        told["broken_links"] = [link._asdict() for link in relinked.broken[:MOST_TOLD]]
        told["broken_links_total"] = len(relinked.broken)
    return told


def _hints(relinked: LinkUpdates) -> list[str]:
    hints: list[str] = []
    if relinked.left:
        where = _named([f"{link.file} line {link.line}" for link in relinked.left])
        hints.append(f"links that would have to be written anew were left as they were: {where}")
    if relinked.unread:
        hints.append(f"too large to be read, so links there stay as they were: {_named(relinked.unread)}")
    return hints


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


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
    """Operations applied to a snapshot in memory; `changes` is what a commit of them would hold.

    `owned` are the digests of the texts that the caller has seen once they are committed, as it wrote them.
    """

    snapshot: Snapshot
    overlay: Overlay
    steps: tuple[Step, ...]
    changes: Mapping[str, bytes | None]
    owned: frozenset[bytes] = frozenset()

    @property
    def summaries(self) -> tuple[str, ...]:
        """One line for each operation that changed something."""
        return tuple(
            step.outcome.summary
            for step in self.steps
            if step.status is Status.DONE and step.outcome and step.outcome.is_change
        )


def plan(
    snapshot: Snapshot,
    operations: Sequence[Operation | WorkspaceError],
    mode: Mode,
    style: Style,
    proof: Proof | None = None,
    inbound: Inbound | None = None,
) -> Plan:
    """Run operations over a snapshot. An error leaves the documents as they were before its operation.

    Words are taken away only with a proof that the caller knows them; without `proof`, that is not asked.
    Addresses mean what they mean in the commit that the proof names, if it names one, as if the batch were
    run there: so it is, and each address is carried from there to the snapshot.

    Links to what an operation moved or named anew follow in the same step; `inbound` tells where to look for
    them, and without it every document is looked into.

    An error among the operations stands for one that could not even be read: its step fails with it.
    Raises LimitExceeded for more operations, or more text, than the workspace allows in one call.
    """
    snapshot.config.limits.check_call(len(operations), sum(map(_size, operations)))
    batch = _Batch(snapshot, style, proof, inbound, is_alone=len(operations) == 1)
    steps: list[Step] = []
    for operation in operations:
        if isinstance(operation, WorkspaceError):
            steps.append(Step(None, Status.FAILED, error=operation))
        else:
            steps.append(batch.run(operation))
            snapshot.config.limits.check_reading(batch.read, len(steps))
        if mode is Mode.ALL and steps[-1].status is Status.FAILED:
            return _taken_back(snapshot, steps, operations)
    told = tuple(_warned(step, batch.overlay) for step in steps)
    return Plan(snapshot, batch.overlay, told, batch.overlay.changes(), frozenset(batch.ledger.owned))


class _Batch:
    """A batch while it runs: over the snapshot, and beside it over the states that it was meant for.

    For an operation that `is_alone` nothing is remembered that only a later one would ask.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        style: Style,
        proof: Proof | None,
        inbound: Inbound | None,
        *,
        is_alone: bool,
    ) -> None:
        self.ledger = Ledger(proof, snapshot, is_asked=not is_alone or (proof and proof.sight) is not None)
        self.overlay = Overlay(snapshot)
        self.read = 0  # bytes of documents that were parsed anew, and for each heading what it takes beside
        self._style = style
        self._past = [Overlay(state) for state in (proof.past(snapshot) if proof else ())]
        self._base = proof.base if proof else None
        self._inbound = inbound
        self._is_alone = is_alone

    def run(self, operation: Operation) -> Step:
        """Return one operation.

        What it does to the states of the past only says what later addresses mean.
        """
        draft = self.overlay.copy()
        try:
            meant = operation.map_addresses(self._past, self.overlay, self._base) if self._past else operation
            outcome = meant.apply(draft, self._style)
            if outcome.is_change:
                self.ledger.check(meant, self.overlay, draft)
                outcome, revised = follow(meant, outcome, self.overlay, draft, self._inbound)
                self.ledger.carry(revised)
        except WorkspaceError as error:
            step = Step(operation, Status.FAILED, error=error)
        else:
            step = Step(operation, Status.DONE, outcome=outcome)
            if not self._is_alone:
                self.read += sum(_weight(draft.find(path)) for path in draft.revised(self.overlay))
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


def _warned(step: Step, overlay: Overlay) -> Step:
    return replace(step, outcome=warned(step.outcome, overlay)) if step.outcome else step


def _weight(document: Document | None) -> int:
    return len(document.data) + HEADING_BYTES * document.heading_count if document else 0


def _size(operation: Operation | WorkspaceError) -> int:
    """Return the bytes of text that an operation brings, as UTF-8."""
    if not is_dataclass(operation):
        return 0
    values = [getattr(operation, field.name) for field in fields(operation)]
    return sum(len(value.encode("utf-8", "replace")) for value in values if isinstance(value, str))


def _taken_back(
    snapshot: Snapshot, steps: list[Step], operations: Sequence[Operation | WorkspaceError]
) -> Plan:
    undone = [Step(step.operation, Status.UNDONE, step.outcome) for step in steps[:-1]]
    rest = [
        Step(None if isinstance(operation, WorkspaceError) else operation, Status.NOT_RUN)
        for operation in operations[len(steps) :]
    ]
    return Plan(snapshot, Overlay(snapshot), (*undone, steps[-1], *rest), {})
