"""The tools that tell and take back the past, in the order in which a client sees them.

descriptions.py      what is told of a commit, and of a change that it made
restore_document.py  restore_document: a document or a section as it was, or a whole commit taken back, as …
seen.py              the sections that a diff shows in full
view_history.py      view_history: which commits changed a document or section, and who wrote each of its …
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.history import restore_document, view_history

if TYPE_CHECKING:
    from tools.tool import Tool

FAMILY: tuple[Tool, ...] = (view_history.TOOL, restore_document.TOOL)
