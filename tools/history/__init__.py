"""The tools that show the history and restore from it, in the order of a client's list.

descriptions.py      descriptions of commits and of their changes
restore_document.py  restore_document: restores a document or section, or reverts a commit
shown_sections.py    the sections that a diff shows in full
view_history.py      view_history: shows the commits of a document or section, and the author of each line
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.history import restore_document, view_history

if TYPE_CHECKING:
    from tools.tool import Tool

TOOLS: tuple[Tool, ...] = (view_history.TOOL, restore_document.TOOL)
