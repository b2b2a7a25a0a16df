"""fix: all documents of a workspace fixed in one operation, and so in one commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.edits.operation import Operation, Outcome
from workspace.validation.fixes.fix import combine_offset_maps

if TYPE_CHECKING:
    from workspace.document.splices import Style
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot
    from workspace.validation.fixes.change import Fix, FixedBytes, FixResult, SkippedFix


@dataclass(frozen=True, slots=True, kw_only=True)
class FixDocuments(Operation):
    """Puts the documents at these paths right; what has to be left is said in the answer and stops nothing.

    `paths` are documents, all of them where there are none; `mend` looks at those of the commit that is
    mended, and answers for each that has mends, or something that is left. So no other operation of a batch
    comes before this one. The answer holds `changes`, by path, and `left`.
    """

    name: ClassVar[str] = "fix"

    mend: Callable[[Snapshot, Sequence[str]], Sequence[FixResult]]
    paths: tuple[str, ...] = ()

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lay each document that is put right over the snapshot."""
        there = overlay.snapshot.documents
        done = self.mend(overlay.snapshot, [path for path in self.paths or there if path in there])
        changes = {one.path: one.change for one in done if one.change}
        for change in changes.values():
            overlay.lay(change.path, change.after)
        left: list[SkippedFix] = [left for one in done for left in one.left]
        answer = {"changes": changes, "left": left}
        offset_map = combine_offset_maps(one.survival for one in done)
        return Outcome("", answer, format_summary(_mends(changes)), bool(changes), offset_map=offset_map)


def _mends(changes: Mapping[str, FixedBytes]) -> Mapping[str, Sequence[Fix]]:
    return {path: change.mends for path, change in changes.items()}


def format_summary(mends: Mapping[str, Sequence[Fix]]) -> str:
    """Return what was done, in a line: `Fix 3 documents: 12 missing-anchor, 1 broken-link`."""
    if not mends:
        return "Fix nothing"
    counts = Counter(mend.rule for done in mends.values() for mend in done)
    told = ", ".join(f"{count:,} {rule}" for rule, count in sorted(counts.items()))
    where = next(iter(mends)) if len(mends) == 1 else f"{len(mends):,} documents"
    return f"Fix {where}: {told}"
