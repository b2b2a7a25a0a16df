"""Plans: operations applied in memory, in order, with the result of each.

After each operation the links are updated, and warnings name the links that are broken.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from workspace.config.config import HEADING_READ_COST_BYTES
from workspace.errors import WorkspaceError
from workspace.snapshot.overlay import Overlay
from workspace.writing.read_before_write import OverwriteCheck

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.splices import EditContext
    from workspace.edits.operation import Operation, Outcome
    from workspace.links.inbound_links import InboundLinkFinder
    from workspace.links.updates import LinkUpdates
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.read_before_write import Precondition

MAX_REPORTED_LINKS = 100
"""The maximum number of rewritten files, and also of broken links, that a result lists."""

_MAX_NAMES_IN_HINT = 3


def update_links_of_step(
    operation: Operation,
    outcome: Outcome,
    before: Overlay,
    after: Overlay,
    inbound_links: InboundLinkFinder | None,
) -> tuple[Outcome, Sequence[tuple[Document, Document]]]:
    """Update the links and the dependencies of tasks in `after`, the result of an operation on `before`.

    Return the outcome with fields and hints about them, and pairs of documents before and after. The pairs
    are the documents that were moved, or whose links or dependencies were changed.
    """
    offset_map = outcome.offset_map
    if offset_map is None:
        return outcome, ()
    # Imported late, because a server can answer its first calls without reading links.
    from workspace.links.inbound_links import InboundLinkScanner
    from workspace.links.updates import update_links
    from workspace.links.warnings import find_link_warnings
    from workspace.writing.dependency_updates import update_dependencies

    warnings = find_link_warnings(before, after, offset_map)
    moved_documents = [
        (before.document(path), after.document(new_path))
        for path, new_path in offset_map.path_map.items()
        if new_path is not None and new_path != path
    ]
    dependency_updates = update_dependencies(before, after, offset_map)
    offset_map = dependency_updates.offset_map
    updates = update_links(before, after, offset_map, inbound_links or InboundLinkScanner())
    result = {**outcome.result, **_summarize_updates(updates, reports_zero=operation.reports_links)}
    if dependency_updates.counts:
        result["dependencies_rewritten"] = sum(dependency_updates.counts.values())
    if updates.new_anchors:
        anchors = result.get("anchors_added")
        result["anchors_added"] = [*(anchors if isinstance(anchors, list) else ()), *updates.new_anchors]
    hints = (*outcome.hints, *_list_hints(updates))
    if dependency_updates.lost_dependencies:
        names = [f"{task} on {reference}" for task, reference in dependency_updates.lost_dependencies]
        hints += (f"tasks that depend on a task that is not there any more: {_format_names(names)}",)
    if dependency_updates.new_ids:
        new_ids = _format_names(dependency_updates.new_ids)
        hints += (f"new ids of moved tasks, because theirs were in use: {new_ids}",)
    return replace(outcome, result=result, hints=hints, link_warnings=warnings), (
        *moved_documents,
        *dependency_updates.revised_documents,
        *updates.revised_documents,
    )


def add_link_warnings(outcome: Outcome, overlay: Overlay) -> Outcome:
    """Return an outcome with hints for the links that are still broken in `overlay`, after the batch."""
    if not outcome.link_warnings:
        return outcome
    from workspace.links.warnings import format_warnings

    return replace(outcome, hints=(*outcome.hints, *format_warnings(overlay, outcome.link_warnings)))


def _summarize_updates(updates: LinkUpdates, *, reports_zero: bool) -> dict[str, object]:
    summary: dict[str, object] = {}
    if reports_zero or updates.link_counts:
        summary["links_rewritten"] = updates.total_count
        summary["files_rewritten"] = sorted(updates.link_counts)[:MAX_REPORTED_LINKS]
    if updates.broken_links:
        summary["broken_links"] = [link._asdict() for link in updates.broken_links[:MAX_REPORTED_LINKS]]
        summary["broken_links_total"] = len(updates.broken_links)
    return summary


def _list_hints(updates: LinkUpdates) -> list[str]:
    hints: list[str] = []
    if updates.misdirected_links:
        locations = _format_names([f"{link.file} line {link.line}" for link in updates.misdirected_links])
        hints.append(f"links that could not be updated: {locations}")
    if updates.unread_paths:
        hints.append(
            f"files too large to read, whose links were not updated: {_format_names(updates.unread_paths)}"
        )
    return hints


def _format_names(names: Sequence[str]) -> str:
    omitted_text = f" and {len(names) - _MAX_NAMES_IN_HINT} more" if len(names) > _MAX_NAMES_IN_HINT else ""
    return ", ".join(names[:_MAX_NAMES_IN_HINT]) + omitted_text


class BatchMode(StrEnum):
    """The mode of a batch: commit the operations that succeed (`each`), or nothing if one fails (`all`)."""

    EACH = "each"
    ALL = "all"


class StepStatus(StrEnum):
    """The status of one operation of a batch."""

    DONE = "done"
    FAILED = "failed"
    ROLLED_BACK = "undone"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One operation of a batch: its outcome, or its error.

    `operation` is None if the operation could not be parsed.
    """

    operation: Operation | None
    status: StepStatus
    outcome: Outcome | None = None
    error: WorkspaceError | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Operations applied to a snapshot in memory.

    `changes` maps the path of each document to commit to its bytes; None for a removed document.
    `written_digests` are the digests of texts that the caller wrote. They count as read after the commit.
    """

    snapshot: Snapshot
    overlay: Overlay
    steps: tuple[PlanStep, ...]
    changes: Mapping[str, bytes | None]
    written_digests: frozenset[bytes] = frozenset()

    @property
    def summaries(self) -> tuple[str, ...]:
        """One line for each operation with a change."""
        return tuple(
            step.outcome.summary
            for step in self.steps
            if step.status is StepStatus.DONE and step.outcome and step.outcome.is_change
        )


def build_plan(
    snapshot: Snapshot,
    operations: Sequence[Operation | WorkspaceError],
    mode: BatchMode,
    context: EditContext,
    precondition: Precondition | None = None,
    inbound_links: InboundLinkFinder | None = None,
) -> Plan:
    """Apply operations to a snapshot. An operation with an error does not change the documents.

    With `precondition`, an operation may remove only text that the caller has read or written, unless the
    workspace allows more. Without a precondition, no text is checked. Addresses are resolved in the earlier
    snapshots of the precondition, if there are any: the batch is also run there, and each address is mapped
    from there to the snapshot.

    Each step also updates the links to moved or renamed sections and files. `inbound_links` finds the files
    with such links; without it, every document is scanned.

    An error in `operations` replaces an operation that could not be parsed, and is the error of its step.
    Raises LimitExceeded for more operations, or more text, than the workspace allows in one call.
    """
    snapshot.config.limits.check_call(len(operations), sum(map(_count_text_bytes, operations)))
    batch = _BatchRun(snapshot, context, precondition, inbound_links, is_single=len(operations) == 1)
    steps: list[PlanStep] = []
    for operation in operations:
        if isinstance(operation, WorkspaceError):
            steps.append(PlanStep(None, StepStatus.FAILED, error=operation))
        else:
            steps.append(batch.run(operation))
            snapshot.config.limits.check_read_bytes(batch.read_cost_bytes, len(steps))
        if mode is BatchMode.ALL and steps[-1].status is StepStatus.FAILED:
            return _roll_back(snapshot, steps, operations)
    final_steps = tuple(_add_step_warnings(step, batch.overlay) for step in steps)
    digests = frozenset(batch.overwrite_check.written_digests)
    return Plan(snapshot, batch.overlay, final_steps, batch.overlay.changes(), digests)


class _BatchRun:
    """The run of a batch on the snapshot, and on the earlier commits in which its addresses are resolved.

    If `is_single` is True, the batch has one operation, so nothing is stored for later operations.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        context: EditContext,
        precondition: Precondition | None,
        inbound_links: InboundLinkFinder | None,
        *,
        is_single: bool,
    ) -> None:
        needs_digests = not is_single or (precondition and precondition.seen_texts) is not None
        self.overwrite_check = OverwriteCheck(precondition, snapshot, needs_digests=needs_digests)
        self.overlay = Overlay(snapshot)
        # The cost of the documents that were parsed again, for the limit of a call.
        self.read_cost_bytes = 0
        self._edit_context = context
        earlier_snapshots = precondition.list_earlier_snapshots(snapshot) if precondition else ()
        self._earlier_overlays = [Overlay(earlier_snapshot) for earlier_snapshot in earlier_snapshots]
        self._base = precondition.base if precondition else None
        self._inbound_links = inbound_links
        self._is_single = is_single

    def run(self, operation: Operation) -> PlanStep:
        """Apply one operation to the snapshot and to the earlier commits.

        The changes of the earlier commits are used only to resolve addresses of later operations.
        """
        draft = self.overlay.copy()
        try:
            mapped_operation = operation
            if self._earlier_overlays:
                mapped_operation = operation.map_addresses(self._earlier_overlays, self.overlay, self._base)
            outcome = mapped_operation.apply(draft, self._edit_context)
            if outcome.is_change:
                self.overwrite_check.check(mapped_operation, self.overlay, draft)
                outcome, revised_documents = update_links_of_step(
                    mapped_operation, outcome, self.overlay, draft, self._inbound_links
                )
                self.overwrite_check.record_revised_texts(revised_documents)
        except WorkspaceError as error:
            step = PlanStep(operation, StepStatus.FAILED, error=error)
        else:
            step = PlanStep(operation, StepStatus.DONE, outcome=outcome)
            if not self._is_single:
                self.read_cost_bytes += sum(
                    _estimate_read_cost(draft.find(path)) for path in draft.list_changed_paths(self.overlay)
                )
            self.overlay = draft
        if not self._is_single:
            self._earlier_overlays = [
                self._replay(operation, index) for index in range(len(self._earlier_overlays))
            ]
        return step

    def _replay(self, operation: Operation, index: int) -> Overlay:
        """Return an earlier overlay after the operation; unchanged if the operation fails there."""
        draft = self._earlier_overlays[index].copy()
        try:
            earlier_overlays = self._earlier_overlays[:index]
            operation.map_addresses(earlier_overlays, self._earlier_overlays[index], self._base).apply(
                draft, self._edit_context
            )
        except WorkspaceError:
            return self._earlier_overlays[index]
        return draft


def _add_step_warnings(step: PlanStep, overlay: Overlay) -> PlanStep:
    return replace(step, outcome=add_link_warnings(step.outcome, overlay)) if step.outcome else step


def _estimate_read_cost(document: Document | None) -> int:
    """Return the size of a document in bytes, plus a fixed number of bytes for each heading."""
    return len(document.data) + HEADING_READ_COST_BYTES * document.heading_count if document else 0


def _count_text_bytes(operation: Operation | WorkspaceError) -> int:
    """Return the total size of an operation's text fields in bytes of UTF-8."""
    if not is_dataclass(operation):
        return 0
    values = [getattr(operation, field.name) for field in fields(operation)]
    return sum(len(value.encode("utf-8", "replace")) for value in values if isinstance(value, str))


def _roll_back(
    snapshot: Snapshot, steps: list[PlanStep], operations: Sequence[Operation | WorkspaceError]
) -> Plan:
    rolled_back_steps = [
        PlanStep(step.operation, StepStatus.ROLLED_BACK, step.outcome) for step in steps[:-1]
    ]
    skipped_steps = [
        PlanStep(None if isinstance(operation, WorkspaceError) else operation, StepStatus.NOT_RUN)
        for operation in operations[len(steps) :]
    ]
    return Plan(snapshot, Overlay(snapshot), (*rolled_back_steps, steps[-1], *skipped_steps), {})
