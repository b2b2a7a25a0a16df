"""Three versions made one: what both sides did to a base, unit by unit; the rest is conflicts.

The trees of commits merged: documents unit by unit, every other file as a whole.

sides.py     what each side did to the base
merge.py     three trees made one
room.py      whether what comes can stand where it is to stand
deciding.py  conflicts by path, and the resolutions that decide them
commits.py   the bases of two commits, and what several of them agree on
world.py     the files after a merge, for those who look at links there
"""

from __future__ import annotations

from workspace.merge.commits import UnrelatedHistories, merge_commits
from workspace.merge.trees import (
    PLACE,
    WHOLE,
    FileConflict,
    Merge,
    Resolutions,
    Room,
    file_at,
    merge_snapshots,
)

__all__ = [
    "PLACE",
    "WHOLE",
    "FileConflict",
    "Merge",
    "Resolutions",
    "Room",
    "UnrelatedHistories",
    "file_at",
    "merge_commits",
    "merge_snapshots",
]
