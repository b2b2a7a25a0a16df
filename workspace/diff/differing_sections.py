"""What happened between two versions of one document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.diff.documents import Comparison

if TYPE_CHECKING:
    from workspace.diff.changes import SectionChange
    from workspace.document.document import Document


def section_changes(old: Document | None, new: Document | None) -> tuple[SectionChange, ...]:
    """What happened between two versions of a document, section by section; None is one that is not there.

    In the order of the new version, what is gone behind what stood before it. Of a document that came or
    went, each section is told, and no task or key. Blank lines around a section, line ends, and bytes that
    are no text are no change. Linear in the texts: words are compared by who shows them.
    """
    if old is not None and new is not None and old.data == new.data:
        return ()
    return tuple(Comparison(old, new).changes({}, {}))
