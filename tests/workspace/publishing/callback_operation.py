"""An operation that runs a callback, such as a concurrent commit, when it is planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from workspace.document.splices import EditContext
from workspace.edits.operation import Operation, Outcome
from workspace.snapshot.overlay import Overlay


class CallbackOperation(Operation):
    """An operation without changes; it runs a callback when it is planned for the first time."""

    name: ClassVar[str] = "run_callback"

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        callback, self.callback = self.callback, None
        if callback:
            callback()
        return Outcome("README.md", {}, "Nothing", False)
