"""The person at the command line: the owner of the token that is given, typed, or in the environment.

A secret is never an argument of a command, and no message contains it.
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


def identify_person(workspace: Workspace, token_file: Path | None, *, ask: bool) -> Person | None:
    """Return the owner of the caller's token; None without a token.

    The token is read from `token_file`, then from DOCYARD_TOKEN; with `ask`, a user at a terminal is prompted
    for it. Raises InvalidToken, UnsafeTokens, DamagedTokens, and CannotError for an unusable file.
    """
    from workspace.policy.tokens import Tokens

    secret = read_secret(token_file, ask=ask)
    return None if secret is None else Tokens(workspace.git.common_dir).person(secret)


def read_secret(token_file: Path | None, *, ask: bool) -> str | None:
    """Return the caller's token; None if there is none. Raises CannotError."""
    if token_file is not None:
        return _read_secret_file(token_file)
    found = environment.read_token()
    if found is not None or not ask or not environment.is_terminal(sys.stdin):
        return found
    return click.prompt("Token", hide_input=True, err=True, type=str).strip() or None


def _read_secret_file(file: Path) -> str:
    try:
        handle = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CannotError(f"the file with the token cannot be read ({error.strerror})", fix=_FIX) from None
    try:
        _check_mode(os.fstat(handle).st_mode)
        with open(handle, "rb", closefd=False) as stream:
            data = stream.read(_MOST + 1)
    finally:
        os.close(handle)
    secret = data.decode("utf-8", "replace").strip() if len(data) <= _MOST else ""
    if not secret:
        raise CannotError("the file with the token is empty, or holds more than a token", fix=_FIX)
    return secret


def _check_mode(mode: int) -> None:
    # A pipe is what a shell makes of `<(command)`.
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise CannotError("the file with the token is no file", fix=_FIX)
    if stat.S_ISREG(mode) and mode & 0o077:
        raise CannotError(
            "the file with the token is not used: others can read or write it",
            fix="Run chmod 600 on it; if others could have read it, revoke the token.",
        )
