"""remove_document: a whole document taken out of the workspace; Git keeps its history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.edits.operation import Operation, Outcome
from workspace.links.survival import Survival
from workspace.paths import check_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.splices import Style
    from workspace.edits.operation import Taken
    from workspace.snapshot.overlay import Overlay


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveDocument(Operation):
    """Removes a document."""

    name: ClassVar[str] = "remove_document"

    path: str

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Takes the document out. Raises InvalidPath, DocumentNotFound."""
        path = check_path(self.path)
        overlay.remove(path)
        answer = {"removed": "document", "path": path}
        return Outcome(path, answer, f"Remove {path}", True, survival=Survival.of_removal(path))

    def taken(self, overlay: Overlay) -> Sequence[Taken]:
        """All its texts; its front matter is none. Raises DocumentNotFound, LimitExceeded."""
        document = overlay.document(check_path(self.path))
        return [(document, document.sections)]
