"""From a batch to a commit: one swap of a branch, which the person's checkout follows, or nothing at all."""

from __future__ import annotations

from workspace.publishing.batch import Batch
from workspace.publishing.checkout import WorktreeBusy, WorktreeConflict
from workspace.publishing.locks import CannotWrite, Locked
from workspace.publishing.publish import BranchMoved, publish
from workspace.publishing.refs import InvalidBranch, RefConflict

__all__ = [
    "Batch",
    "BranchMoved",
    "CannotWrite",
    "InvalidBranch",
    "Locked",
    "RefConflict",
    "WorktreeBusy",
    "WorktreeConflict",
    "publish",
]
