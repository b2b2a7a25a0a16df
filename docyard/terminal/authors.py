"""Who is at the command line: the person whose token is given, asked for, or in the environment.

A secret is read here and goes no further: it is no argument of a command, and no message holds it.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard import environment
from docyard.terminal.exits import CannotError

if TYPE_CHECKING:
    from workspace.policy.tokens import Person
    from workspace.workspace import Workspace

_MOST = 4_096  # bytes of a file with a token

_FIX = "Name a file of your own, of mode 600, with the token in it and nothing else."


def person_of_caller(workspace: Workspace, token_file: Path | None, *, ask: bool) -> Person | None:
    """Return the person whose token the caller shows; None if none is shown.

    It is looked for in `token_file`, then in DOCYARD_TOKEN; with `ask`, who is at a terminal is asked for it.
    Raises InvalidToken, UnsafeTokens, DamagedTokens, and CannotError for a file that cannot be used.
    """
    from workspace.policy.tokens import Tokens

    secret = secret_of_caller(token_file, ask=ask)
    return None if secret is None else Tokens(workspace.git.common_dir).person(secret)


def secret_of_caller(token_file: Path | None, *, ask: bool) -> str | None:
    """Return the token that the caller shows; None if there is none. Raises CannotError."""
    if token_file is not None:
        return _read(token_file)
    found = environment.token()
    if found is not None or not ask or not environment.is_terminal(sys.stdin):
        return found
    return click.prompt("Token", hide_input=True, err=True, type=str).strip() or None


def _read(file: Path) -> str:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CannotError(f"the file with the token cannot be read ({error.strerror})", fix=_FIX) from None
    try:
        _check(os.fstat(handle).st_mode)
        with open(handle, "rb", closefd=False) as stream:
            data = stream.read(_MOST + 1)
    finally:
        os.close(handle)
    secret = data.decode("utf-8", "replace").strip() if len(data) <= _MOST else ""
    if not secret:
        raise CannotError("the file with the token is empty, or holds more than a token", fix=_FIX)
    return secret


def _check(mode: int) -> None:
    # A pipe is what a shell makes of `<(command)`.
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise CannotError("the file with the token is no file", fix=_FIX)
    if stat.S_ISREG(mode) and mode & 0o077:
        raise CannotError(
            "the file with the token is not used: others can read or write it",
            fix="Run chmod 600 on it; if others could have read it, revoke the token.",
        )
