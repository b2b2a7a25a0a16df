"""How a command ends: four exit codes, and one way to say what went wrong and what to do next."""

from __future__ import annotations

import sys
from enum import IntEnum

from workspace.errors import WorkspaceError


class Exit(IntEnum):
    """What the exit code of every command means."""

    DONE = 0
    PROBLEMS = 1
    USAGE = 2
    CANNOT = 3


class CannotError(WorkspaceError):
    """The command cannot do what was asked, for a reason outside its arguments."""

    code = "CANNOT"


def complain(message: str, fix: str = "") -> None:
    """Write an error, and what to do next, to standard error, with invisible characters written out."""
    from tools.answers import visible

    sys.stderr.write(visible(f"error: {message}\n" + (f"  fix: {fix}\n" if fix else "")))
    sys.stderr.flush()
