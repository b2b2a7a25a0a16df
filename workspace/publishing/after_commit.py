"""The rule for a failure after a commit: the call succeeds, and its response lists the failed steps.

A client that receives an error repeats its call, and would write twice. So a publication records its commit
in the record of its call. From then on, `run_with_caveat` replaces the result of a failed step by a default.
The response to any other failure is a success with that commit.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from workspace.errors import WorkspaceError
from workspace.git.repository import DamagedRepository

log = logging.getLogger("docyard")

T = TypeVar("T")


@dataclass(slots=True)
class CommitRecord:
    """The last commit that a call made, and a sentence for each later step that failed.

    `proposal` is the id of the proposal whose discussion contains that commit.
    """

    commit: str | None = None
    proposal: str | None = None
    caveats: list[str] = field(default_factory=list)


# A context variable, because many function calls are between the response and the commit. A new thread has no
# `CommitRecord`.
_RECORD: ContextVar[CommitRecord | None] = ContextVar("commits of this call", default=None)


@contextmanager
def record_commits() -> Iterator[CommitRecord]:
    """Record the commits that are made in the block, for the code that builds the response.

    An outer record also gets the last commit, because a step after the block can fail too.
    """
    outer = _RECORD.get()
    token = _RECORD.set(record := CommitRecord())
    try:
        yield record
    finally:
        _RECORD.reset(token)
        if outer is not None and record.commit is not None:
            outer.commit, outer.proposal = record.commit, record.proposal


@contextmanager
def ignore_preliminary_commits() -> Iterator[None]:
    """Ignore the commits that are made in the block: they have no effect without a later commit.

    A failure between the two commits is a failure of the call. The preliminary commit is not visible in
    Docyard.
    """
    token = _RECORD.set(None)
    try:
        yield
    finally:
        _RECORD.reset(token)


def note_commit(commit: str | None, *, proposal: str | None = None) -> None:
    """Record the commit that the call, or an equal earlier call, has made; None is ignored."""
    record = _RECORD.get()
    if record is not None and commit is not None:
        record.commit, record.proposal = commit, proposal


def has_committed() -> bool:
    """Return True if the call has made a commit, so that it must not return a failure."""
    record = _RECORD.get()
    return record is not None and record.commit is not None


def run_with_caveat(step: Callable[[], T], default: T, caveat: str) -> T:
    """Run a step; if it fails after a commit, log the failure, record `caveat`, and return `default`.

    Before a commit, or without a record, the error of the step is raised.
    """
    try:
        return step()
    except Exception as error:
        record = _RECORD.get()
        if record is None or record.commit is None:
            raise
        record.caveats.append(f"Committed, but {caveat}: {describe_failure(error)}")
        return default


def describe_failure(error: Exception) -> str:
    """Log the failure of a step after a commit, and return its reason.

    An expected error has a message for users. Any other error is logged with its traceback and a reference.
    A damaged repository is logged with the object and the traceback, because the next call may not meet it.
    """
    if isinstance(error, DamagedRepository):
        id = error.details.get("id")
        log.warning("a step after a commit failed: %s, object %s", error, id, exc_info=error)
        return error.message
    if isinstance(error, WorkspaceError):
        log.warning("a step after a commit failed: %s", error)
        return error.message
    import secrets

    reference = secrets.token_hex(4)
    log.error("a step after a commit failed, reference %s", reference, exc_info=error)
    return f"{_describe_reason(error)} (the log has the details under {reference})"


def _describe_reason(error: Exception) -> str:
    # The text of an unexpected exception may contain an absolute path, so only its kind is returned.
    match error:
        case MemoryError():
            return "there was not enough memory"
        case OSError(errno=int(number)):
            return os.strerror(number).lower()
        case ImportError():
            return "a module of Docyard could not be loaded"
        case _:
            return "an internal error of Docyard"
