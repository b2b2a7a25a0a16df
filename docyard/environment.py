"""The one place that asks the process about its surroundings.

Everything else is told: the repository's folder, the branch and the rest are arguments. The names of the
variables that a user may set stand here too, and the command line shows them in its help.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

REPOSITORY = "DOCYARD_REPO"
BRANCH = "DOCYARD_BRANCH"
READ_ONLY = "DOCYARD_READ_ONLY"
TOOLSETS = "DOCYARD_TOOLSETS"

COMPLETION = "_DOCYARD_COMPLETE"
"""Set by a shell that asks how a word of the command line may go on (click's own name for it)."""


def current_directory() -> Path:
    """The folder that the process was started in, or is in now."""
    return Path.cwd()


def home() -> Path | None:
    """The user's home folder; None where the system knows of none."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def is_terminal(stream: IO[Any]) -> bool:
    """Whether a person is looking at what this stream prints."""
    try:
        return stream.isatty()
    except ValueError:  # a closed stream is nobody's terminal
        return False


def spare_threads() -> None:
    """Let NumPy's linear algebra start no threads, before NumPy is imported: nothing here asks for any.

    Starting them takes as long as the rest of the import. What the user has set stays.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def variables() -> Mapping[str, str]:
    """A copy of the variables of the process, for a child that is to inherit them."""
    return dict(os.environ)


def asks_for_completion() -> bool:
    """Whether this process was started by a shell that completes a word."""
    return COMPLETION in os.environ


def writable(folder: Path) -> bool:
    """Whether this user may create files in a folder."""
    return os.access(folder, os.W_OK | os.X_OK)


def own_command(*arguments: str) -> tuple[str, ...]:
    """The command line that starts this very installation of docyard, from any folder."""
    return (sys.executable or "python", "-m", "docyard", *arguments)
