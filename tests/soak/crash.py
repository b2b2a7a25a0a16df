"""A forked child that is killed immediately before its n-th change of the file system."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from enum import Enum

from workspace.errors import WorkspaceError

# The audit events (PEP 578) of calls that change a file system, raised before each call.
_CHANGE_EVENTS = frozenset(
    f"os.{name}"
    for name in ("rename", "link", "remove", "mkdir", "rmdir", "chmod", "utime", "truncate", "symlink")
)
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# The system kills a child that runs longer; the test then fails.
_TIMEOUT_S = 60
_REFUSED_EXIT_CODE = 3


class ChildOutcome(Enum):
    """The outcome of a child: its action succeeded, was refused with a WorkspaceError, or was killed."""

    DONE = "done"
    REFUSED = "refused"
    KILLED = "killed"


def fork_and_kill(action: Callable[[], object], *, change_number: int) -> ChildOutcome:
    """Run an action in a forked child that is killed (SIGKILL) before the change with this number, if any."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _run_and_exit(action, change_number)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL, f"the child ended by signal {os.WTERMSIG(status)}"
        return ChildOutcome.KILLED
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, _REFUSED_EXIT_CODE), "the child failed; its traceback is above"
    return ChildOutcome.DONE if code == 0 else ChildOutcome.REFUSED


def _run_and_exit(action: Callable[[], object], change_number: int) -> None:
    code = 1
    try:
        signal.alarm(_TIMEOUT_S)
        _arm(change_number)
        action()
        code = 0
    except WorkspaceError:
        code = _REFUSED_EXIT_CODE
    except BaseException:
        traceback.print_exc()
    finally:
        # The parent's exit handlers and tests must not run here.
        os._exit(code)


def _arm(change_number: int) -> None:
    change_count = 0

    def kill_at_change(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal change_count
        if event == "open":
            flags = arguments[2]
            if not isinstance(flags, int) or not flags & _WRITE_FLAGS:
                return
        elif event not in _CHANGE_EVENTS:
            return
        change_count += 1
        if change_count == change_number:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(kill_at_change)
