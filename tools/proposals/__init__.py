"""The tools that propose changes and review them, in the order in which a client sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.proposals import create_proposal, update_proposal, view_proposal

if TYPE_CHECKING:
    from tools.tool import Tool

FAMILY: tuple[Tool, ...] = (create_proposal.TOOL, view_proposal.TOOL, update_proposal.TOOL)
