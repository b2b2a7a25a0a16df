"""From a batch to a commit: one swap of a branch, which the person's checkout follows, or nothing at all."""

from __future__ import annotations

from workspace.publishing.batch import Batch
from workspace.publishing.checkout import WorktreeBusy, WorktreeConflict
from workspace.publishing.locks import AnotherWriter, Busy, CannotWrite, Locked
from workspace.publishing.publish import Publication, publish, publish_with_retry
from workspace.publishing.recovery import Recovered, mend, mend_pruned, recover
from workspace.publishing.refs import BranchMoved, InvalidBranch, RefConflict

__all__ = [
    "AnotherWriter",
    "Batch",
    "BranchMoved",
    "Busy",
    "CannotWrite",
    "InvalidBranch",
    "Locked",
    "Publication",
    "Recovered",
    "RefConflict",
    "WorktreeBusy",
    "WorktreeConflict",
    "mend",
    "mend_pruned",
    "publish",
    "publish_with_retry",
    "recover",
]
