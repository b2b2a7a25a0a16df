"""`min_commit`: a read waits for a commit that a write returned, or reports that it is behind.

The commit of another node arrives in two steps: the clone fetches it, and the index is updated, by this node
or by another one. Both usually take less than a second.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, TypeVar

from tools.arguments import InvalidArguments
from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph, select_reachable
from workspace.writing.read_before_write import UnknownCommit

if TYPE_CHECKING:
    from tools.tool import Context, Data

MAX_WAIT_S = 5.0
"""The seconds for which a read waits for a commit; then it answers, and reports that it is behind."""

BEHIND_CODE = "BEHIND_MIN_COMMIT"

_LAG_REASON = f"the node did not receive 'min_commit' within {MAX_WAIT_S:.0f} seconds"
_LAG_FIX = "Repeat the call in a moment."

_FIRST_DELAY_S, _MAX_DELAY_S = 0.01, 0.2
_ID_PATTERN = re.compile("[0-9a-f]{7,40}")
_ID_CHARACTERS = 40

T = TypeVar("T")


class BehindMinimumCommit(WorkspaceError):
    """An error: a read failed, and the node has not received `min_commit`. The cause is the read's error."""

    code: ClassVar[str] = BEHIND_CODE


def read_at_least(
    context: Context, min_commit: str | None, ref: str | None, read: Callable[[], tuple[T, str | None]]
) -> tuple[T, Data]:
    """Return what `read` returns, and the caveat `behind` if its commit does not contain `min_commit`.

    `read` returns a result and its commit, and is repeated until MAX_WAIT_S seconds after the call began,
    also if the tool runs several times to shorten its answer. Raises InvalidArguments for a malformed id,
    UnknownCommit for one that cannot reach this node, AmbiguousId, BehindMinimumCommit, and the errors of
    `read`.
    """
    if min_commit is None:
        return read()[0], {}
    id = _normalize_id(min_commit)
    deadline = context.started_at + MAX_WAIT_S
    if not _wait_for_clone(context, id, ref, deadline):
        deadline = 0.0
    for delay_s in _list_delays():
        is_last = time.monotonic() + delay_s > deadline
        try:
            result, commit = read()
        except WorkspaceError as error:
            if _contains(context, _read_commit(context, ref), id):
                raise
            if is_last:
                raise _make_behind_error(id, error) from error
        else:
            if _contains(context, commit, id):
                return result, {}
            if is_last:
                return result, {"behind": _describe_lag(id, commit)}
        time.sleep(delay_s)
    raise AssertionError("the delays never end")


def _normalize_id(text: str) -> str:
    id = text.strip().lower()
    if not _ID_PATTERN.fullmatch(id):
        raise InvalidArguments(
            "'min_commit' must be the id of a commit, or at least its first 7 characters",
            fix="Set min_commit to the 'commit' of an answer to a write, or leave min_commit out.",
            field="min_commit",
        )
    return id


def _list_delays() -> Iterator[float]:
    """Yield delays that grow."""
    delay_s = _FIRST_DELAY_S
    while True:
        yield delay_s
        delay_s = min(2 * delay_s, _MAX_DELAY_S)


def _wait_for_clone(context: Context, id: str, ref: str | None, deadline: float) -> bool:
    """Wait until a ref of the clone contains a commit; return False if it does not.

    Raises UnknownCommit, AmbiguousId.
    """
    for delay_s in _list_delays():
        if _contains(context, _read_commit(context, ref), id):
            return True
        if not _may_receive_commits(context):
            if _find_commit(context, id) is None:
                raise UnknownCommit(
                    "'min_commit' is not a commit of this repository",
                    fix="Set min_commit to the 'commit' of an answer to a write. If another node wrote it, "
                    "repeat the call in a moment.",
                    field="min_commit",
                )
            return False
        context.request_fetch()
        if time.monotonic() + delay_s > deadline:
            return False
        time.sleep(delay_s)
    raise AssertionError("the delays never end")


def _may_receive_commits(context: Context) -> bool:
    """Return True if other nodes write, whose commits this one receives."""
    return context.index.is_shared or context.workspace.sync_status().find_remote() is not None


def _read_commit(context: Context, ref: str | None) -> str | None:
    """Return the commit of a ref, or of the tip; None for one that the read will refuse."""
    with suppress(WorkspaceError):
        return context.snapshot(ref).commit
    return None


def _contains(context: Context, commit: str | None, id: str) -> bool:
    """Return True if a commit is that of an id, or a later one."""
    if commit is None or commit.startswith(id):
        return commit is not None
    ancestor = _find_commit(context, id)
    if ancestor is None or not context.workspace.has_commit(commit):
        return False
    return ancestor in select_reachable(Graph(context.workspace.git), commit, [ancestor])


def _find_commit(context: Context, id: str) -> str | None:
    """Return the full id of a commit; None if the clone lacks it. Raises AmbiguousId."""
    full_id = id if len(id) == _ID_CHARACTERS else context.workspace.git.find_object(id)
    return full_id if full_id is not None and context.workspace.has_commit(full_id) else None


def _describe_lag(id: str, commit: str | None) -> Data:
    return {
        "code": BEHIND_CODE,
        "min_commit": id,
        "commit": commit,
        "message": f"{_LAG_REASON}, and answers from an earlier commit. {_LAG_FIX}",
    }


def _make_behind_error(id: str, error: WorkspaceError) -> BehindMinimumCommit:
    message = f"{_LAG_REASON}, and at an earlier commit {error.message}"
    return BehindMinimumCommit(message, fix=_LAG_FIX, min_commit=id)
