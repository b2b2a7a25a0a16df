"""The operation `fix`, which fixes all documents of a workspace in one commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.edits.operation import Operation, Outcome
from workspace.validation.fixes.fix import combine_offset_maps

if TYPE_CHECKING:
    from workspace.document.splices import EditContext
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot
    from workspace.validation.fixes.change import DocumentRewrite, Fix, FixRemark, FixResult


@dataclass(frozen=True, slots=True, kw_only=True)
class FixDocuments(Operation):
    """The fix of the documents at `paths`, or of all documents if `paths` is empty.

    `find_fixes` reads the documents of the commit, and returns a result for each document with fixes or
    skipped findings. So no other operation of a batch may precede this operation. Skipped findings do not
    stop other fixes. The result has `changes`, by path, and `fix_remarks`.
    """

    name: ClassVar[str] = "fix"

    find_fixes: Callable[[Snapshot, Sequence[str]], Sequence[FixResult]]
    paths: tuple[str, ...] = ()

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Put each fixed document into the overlay."""
        documents = overlay.snapshot.documents
        results = self.find_fixes(
            overlay.snapshot, [path for path in self.paths or documents if path in documents]
        )
        changes = {result.path: result.change for result in results if result.change}
        for change in changes.values():
            overlay.put_bytes(change.path, change.after)
        fix_remarks: list[FixRemark] = [
            skipped_fix for result in results for skipped_fix in result.fix_remarks
        ]
        outcome_data = {"changes": changes, "fix_remarks": fix_remarks}
        offset_map = combine_offset_maps(result.offset_map for result in results)
        return Outcome(
            "", outcome_data, format_summary(_list_fixes(changes)), bool(changes), offset_map=offset_map
        )


def _list_fixes(changes: Mapping[str, DocumentRewrite]) -> Mapping[str, Sequence[Fix]]:
    return {path: change.fixes for path, change in changes.items()}


def format_summary(fixes: Mapping[str, Sequence[Fix]]) -> str:
    """Return a summary in a line: `Fix 3 documents: 12 missing-anchor, 1 broken-link`."""
    if not fixes:
        return "Fix nothing"
    counts = Counter(fix.rule for document_fixes in fixes.values() for fix in document_fixes)
    counts_text = ", ".join(f"{count:,} {rule}" for rule, count in sorted(counts.items()))
    target = next(iter(fixes)) if len(fixes) == 1 else f"{len(fixes):,} documents"
    return f"Fix {target}: {counts_text}"
