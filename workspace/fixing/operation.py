"""fix: every document of a workspace put right in one operation, and so in one commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.config import LimitExceeded
from workspace.edits.operation import Operation, Outcome
from workspace.fixing.fixing import fixed
from workspace.fixing.kept import Kept
from workspace.fixing.mend import Left
from workspace.snapshot import NotADocument
from workspace.validation.files import UnreadableFile

if TYPE_CHECKING:
    from workspace.document import Document
    from workspace.edits.edit import Style
    from workspace.fixing.fixers import Fixers
    from workspace.fixing.mend import Fixed, Mend
    from workspace.overlay import Overlay

UNREADABLE = "unreadable-document"
"""The rule that tells of documents that cannot be read, and so cannot be mended."""

Progress = Callable[[float, float | None, str | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FixDocuments(Operation):
    """Puts the documents at these paths right; what has to be left is said in the answer and stops nothing.

    `paths` are documents, all of them where there are none; `fixers` makes what is looked for at the
    state that is mended. The answer holds `fixed`, one `Fixed` for each document with mends, and `left`.
    """

    name: ClassVar[str] = "fix"

    fixers: Callable[[Overlay], Fixers]
    paths: tuple[str, ...] = ()
    progress: Progress | None = None

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lays each document that is put right over the snapshot."""
        fixers = self.fixers(overlay)
        there = overlay.snapshot.documents
        paths = [path for path in self.paths or there if path in there]
        kept = Kept(overlay.snapshot.config.links.dialect)
        mends: dict[str, tuple[Mend, ...]] = {}
        left: list[Left] = []
        for one in fixed_documents(paths, overlay.document, fixers, left, self.progress):
            try:
                overlay.put(one.document)
            except LimitExceeded as error:
                left.append(Left(one.mends[0].rule, one.document.path, 0, error.message))
            else:
                kept.add(one)
                mends[one.document.path] = one.mends
        answer = {"mends": mends, "left": left}
        return Outcome("", answer, summary(mends), bool(mends), survival=kept.survival())


def fixed_documents(
    paths: Sequence[str],
    read: Callable[[str], Document],
    fixers: Fixers,
    left: list[Left],
    progress: Progress | None = None,
) -> Iterator[Fixed]:
    """Each document that has mends, put right; what was left of all is added to `left`."""
    for number, path in enumerate(paths):
        if progress:
            progress(number, len(paths), None)
        try:
            one = fixed(read(path), fixers)
        except NotADocument:
            continue
        except (LimitExceeded, UnreadableFile) as error:
            left.append(Left(UNREADABLE, path, 0, error.message))
            continue
        left += one.left
        if one.mends:
            yield one


def summary(mends: Mapping[str, Sequence[Mend]]) -> str:
    """What was done, in a line: `Fix 3 documents: 12 missing-anchor, 1 broken-link`."""
    if not mends:
        return "Fix nothing"
    counts = Counter(mend.rule for done in mends.values() for mend in done)
    told = ", ".join(f"{count:,} {rule}" for rule, count in sorted(counts.items()))
    where = next(iter(mends)) if len(mends) == 1 else f"{len(mends):,} documents"
    return f"Fix {where}: {told}"
