"""The tools that read files within a budget, in the order in which a client sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.tool import Tool

FAMILY: tuple[Tool, ...] = ()
