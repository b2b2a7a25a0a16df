"""What a reviewer sees of a proposal: what it changes, what else touches that, and what a merge would do.

It reads, and writes nothing. What it finds is kept by the commits that it is of, so it never grows stale.

bases.py      the commit of its target that a proposal is compared with
changes.py    what it changes, document by document
commits.py    by which commits of its own
touching.py   which sections that touches, and where two changes meet
preview.py    what a merge would make of it now
checks/       what a merge would make worse: links, anchors, types, tasks
comments.py   where the text is now that a comment is about
reviewing.py  who is asked
"""

from __future__ import annotations

from workspace.proposals.comments import Comments, PlacedThread
from workspace.proposals.review.changes import Changes, ProposedCommit
from workspace.proposals.review.checks import CHECKS, CheckResult, Problem
from workspace.proposals.review.overlaps import Overlap
from workspace.proposals.review.review import Preview, Reviewing

__all__ = [
    "CHECKS",
    "Changes",
    "CheckResult",
    "Comments",
    "Overlap",
    "PlacedThread",
    "Preview",
    "Problem",
    "ProposedCommit",
    "Reviewing",
]
