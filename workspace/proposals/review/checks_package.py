"""The checks of a merge: what it would make worse than its target is, held against the rules of `validation`.

check.py      what a check is, and what it answers
state.py      a workspace before and after a merge, as rules see its documents
switching.py  comments that switch rules off, which no proposal can use to escape
sources.py    the documents that a merge may have made worse
running.py    the checks are run
"""

from __future__ import annotations

from workspace.proposals.review.check import CHECKS, CheckResult, Problem
from workspace.proposals.review.checks import check_merge

__all__ = ["CHECKS", "CheckResult", "Problem", "check_merge"]
