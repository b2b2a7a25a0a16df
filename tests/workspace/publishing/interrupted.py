"""An operation that runs a callback while it is planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from workspace.document.splices import EditContext
from workspace.edits.operation import Operation, Outcome
from workspace.snapshot.overlay import Overlay


class Interrupted(Operation):
    """An operation without changes; it runs a callback when it is planned for the first time."""

    name: ClassVar[str] = "interrupted"

    def __init__(self, happen: Callable[[], object]) -> None:
        self.happen: Callable[[], object] | None = happen

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        happen, self.happen = self.happen, None
        if happen:
            happen()
        return Outcome("README.md", {}, "Nothing", False)
