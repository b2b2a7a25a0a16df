"""Faults, one at a time, at the functions that a call enters after its commit."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import workspace
from workspace.publishing.after_commit import has_committed

_ROOT = Path(workspace.__file__).parents[1]
_PACKAGE_FOLDERS = tuple(str(_ROOT / name) for name in ("docyard", "tools", "index", "workspace"))
# The handler itself, and the release of locks: a fault there is a crash, which tests/faults tests.
_EXCLUDED_FILES = (
    "workspace/publishing/after_commit.py",
    "tools/after_commit.py",
    "workspace/publishing/locks.py",
)
_EXCLUDED_FUNCTIONS = (
    "__exit__",
    "__enter__",
    "_release",
    "release",
    "_unlock_worktree",
    "locked",
    "exclusive",
)

FAULTS: tuple[Callable[[], Exception], ...] = (
    lambda: ImportError("cannot import name 'x' from 'y'", path=str(_ROOT)),
    lambda: RuntimeError(f"a fault at {_ROOT}"),
    lambda: OSError(errno.ENOSPC, "No space left on device", str(_ROOT)),
    MemoryError,
)


def get_step_name(code: CodeType) -> str | None:
    """Return the name of a function of Docyard, as "file:function"; None for all others."""
    name = code.co_filename
    if not name.startswith(_PACKAGE_FOLDERS):
        return None
    file = Path(name).relative_to(_ROOT).as_posix()
    is_inner = code.co_name.startswith("<")  # a comprehension or lambda fails as the function around it does
    if is_inner or file in _EXCLUDED_FILES or code.co_name in _EXCLUDED_FUNCTIONS:
        return None
    return f"{file}:{code.co_qualname}"


@contextmanager
def record_steps() -> Iterator[list[str]]:
    """Record the functions that are entered after a commit, each once, in order."""
    entered_steps: dict[str, None] = {}
    names: dict[CodeType, str | None] = {}

    def trace(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if code not in names:
            names[code] = get_step_name(code)
        if (name := names[code]) is not None and name not in entered_steps and has_committed():
            entered_steps[name] = None

    with _set_trace(trace):
        yield (steps := [])
    steps.extend(entered_steps)


@contextmanager
def raise_fault_at(step: str, make_fault: Callable[[], Exception]) -> Iterator[list[str]]:
    """Raise a fault once, at the first entry into `step` after a commit; the list then contains the step."""
    raised_steps: list[str] = []

    def trace(frame: FrameType, event: str, argument: Any) -> None:
        if not raised_steps and get_step_name(frame.f_code) == step and has_committed():
            raised_steps.append(step)
            raise make_fault()

    with _set_trace(trace):
        yield raised_steps


@contextmanager
def _set_trace(trace: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    previous_trace = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(previous_trace)
