"""The history of a document or section: which commits changed it, and who wrote each of its lines.

places.py        where something stands in one commit
skipping.py      edits that stand beside a section, told without a parse
origins.py       where it was in the commit before
steps.py         what one commit did, and which of its parents are followed
trail.py         a walk, as far as it was asked for
change.py        a change, as it is told
told.py          what a commit says of itself
brought.py       which proposal a commit came with that does not say so
blame.py         who wrote each line
section_diff.py  two versions as a unified diff
history.py       pages of changes, and what is remembered of them
"""

from __future__ import annotations

from workspace.diff.unified import section_diff
from workspace.history.blame import BlamedLine
from workspace.history.commits import Change, Told
from workspace.history.log import Changes, History, NoHistory

__all__ = ["BlamedLine", "Change", "Changes", "History", "NoHistory", "Told", "section_diff"]
