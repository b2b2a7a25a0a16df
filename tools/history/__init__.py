"""The tools that tell and take back the past, in the order in which a client sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.history import restore_document, view_history

if TYPE_CHECKING:
    from tools.tool import Tool

FAMILY: tuple[Tool, ...] = (view_history.TOOL, restore_document.TOOL)
