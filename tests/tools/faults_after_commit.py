"""A fault at each function that a call enters after its commit, one per run."""

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
_PACKAGES = tuple(str(_ROOT / name) for name in ("docyard", "tools", "index", "workspace"))
# The handler itself and the release of locks. A fault there is a crash, which tests/faults tests.
_SPARED = ("workspace/publishing/after_commit.py", "tools/after_commit.py", "workspace/publishing/locks.py")
_SPARED_NAMES = ("__exit__", "__enter__", "_release", "release", "_unlock_worktree", "locked", "exclusive")

FAULTS: tuple[Callable[[], Exception], ...] = (
    lambda: ImportError("cannot import name 'x' from 'y'", path=str(_ROOT)),
    lambda: RuntimeError(f"a fault at {_ROOT}"),
    lambda: OSError(errno.ENOSPC, "No space left on device", str(_ROOT)),
    MemoryError,
)


def name_step(code: CodeType) -> str | None:
    """Return the name of a function of Docyard, as "file:function"; None for other functions."""
    name = code.co_filename
    if not name.startswith(_PACKAGES):
        return None
    file = Path(name).relative_to(_ROOT).as_posix()
    is_inner = code.co_name.startswith("<")  # a comprehension or lambda belongs to the enclosing function
    if is_inner or file in _SPARED or code.co_name in _SPARED_NAMES:
        return None
    return f"{file}:{code.co_qualname}"


@contextmanager
def record_steps() -> Iterator[list[str]]:
    """Record the functions entered after a commit, in order, without repetitions."""
    results: dict[str, None] = {}
    names: dict[CodeType, str | None] = {}

    def trace(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if code not in names:
            names[code] = name_step(code)
        if (name := names[code]) is not None and name not in results and has_committed():
            results[name] = None

    with _tracing(trace):
        yield (steps := [])
    steps.extend(results)


@contextmanager
def inject_fault(step: str, fault: Callable[[], Exception]) -> Iterator[list[str]]:
    """Raise a fault at the first entry into `step` after a commit; the list then contains the step."""
    struck: list[str] = []

    def trace(frame: FrameType, event: str, argument: Any) -> None:
        if not struck and name_step(frame.f_code) == step and has_committed():
            struck.append(step)
            raise fault()

    with _tracing(trace):
        yield struck


@contextmanager
def _tracing(trace: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
