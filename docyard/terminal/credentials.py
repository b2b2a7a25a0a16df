"""The person at the command line: the owner of the token from a file, the environment or a prompt.

A secret is never an argument of a command, and no message contains it.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from docyard import environment
from docyard.terminal.exits import CommandError

if TYPE_CHECKING:
    from workspace.policy.tokens import KnownPerson
    from workspace.workspace import Workspace

_MAX_TOKEN_FILE_BYTES = 4_096
_TOKEN = re.compile("docyard_[a-z0-9.-]+_[0-9a-f]{48}")

_TOKEN_FILE_FIX = "Name a file of mode 600 that belongs to you and contains only the token."


def identify_owner(workspace: Workspace, token_file: Path | None, *, prompt: bool) -> KnownPerson | None:
    """Return the owner of the user's token; None if the user gives no token.

    The token is read from `token_file`, else from DOCYARD_TOKEN, else from a prompt in the terminal if
    `prompt` is true. Raises InvalidToken, UnsafeTokens, DamagedTokens, and CommandError for an unusable file.
    """
    from workspace.policy.tokens import WRITE_SCOPE, InvalidToken, UnknownSecret

    secret = read_secret(token_file, prompt=prompt)
    if secret is None:
        return None
    try:
        owner = workspace.tokens.authenticate(secret)
    except UnknownSecret as error:
        # A clone that has never used the shared tokens has no note of them.
        if environment.read_engine_urls()[0] is None and workspace.git.config("remote.origin.url"):
            error.fix = (
                f"If the tokens are shared by nodes, set {environment.ENGINE_URL}, as the server has it. "
                f"Otherwise: {error.fix}"
            )
        raise
    if WRITE_SCOPE not in owner.scopes:
        raise InvalidToken(
            f"the token '{owner.person.token}' has no scope {WRITE_SCOPE}", fix="Use a token that may write."
        )
    return owner


def read_secret(token_file: Path | None, *, prompt: bool) -> str | None:
    """Return the user's token; None if the user gives none. Raises CommandError for an unusable file."""
    if token_file is not None:
        return _read_secret_file(token_file)
    secret = environment.read_token()
    if secret is not None or not prompt or not environment.is_terminal(sys.stdin):
        return secret
    return click.prompt("Token", hide_input=True, err=True, type=str).strip() or None


@contextmanager
def create_secret_file(file: Path, *, replace: bool = False) -> Iterator[TextIO]:
    """Create a file of mode 600 for a secret; it is removed if the block raises.

    With `replace`, an existing file that contains only a token is replaced after the block, and stays as it
    is if the block raises. Raises CommandError if the file exists otherwise, or cannot be written.
    """
    is_replaced = replace and file.exists()
    if is_replaced and not _TOKEN.fullmatch(_read_secret_file(file)):
        raise CommandError(f"{file} contains more than a token", fix="Name another file.")
    new_file = file.with_name(f".{file.name}.{secrets.token_hex(4)}") if is_replaced else file
    try:
        descriptor = os.open(new_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.fchmod(descriptor, 0o600)  # the default ACL of the folder may have granted more
    except FileExistsError:
        raise CommandError(
            f"{file} exists already", fix="Name a new file, or replace a file of a token with --replace."
        ) from None
    except OSError as error:
        raise CommandError(
            f"{file} cannot be written ({error.strerror})", fix="Name a new file in a folder of yours."
        ) from None
    try:
        with open(descriptor, "w", encoding="utf-8") as stream:
            yield stream
        if is_replaced:
            new_file.replace(file)
    except BaseException:
        new_file.unlink(missing_ok=True)
        raise


def _read_secret_file(file: Path) -> str:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CommandError(
            f"the token file {file} cannot be read ({error.strerror})", fix=_TOKEN_FILE_FIX
        ) from None
    try:
        _check_mode(file, os.fstat(descriptor).st_mode)
        with open(descriptor, "rb", closefd=False) as stream:
            content = stream.read(_MAX_TOKEN_FILE_BYTES + 1)
    finally:
        os.close(descriptor)
    secret = content.decode("utf-8", "replace").strip() if len(content) <= _MAX_TOKEN_FILE_BYTES else ""
    if not secret:
        raise CommandError(
            f"the token file {file} is empty or contains more than a token", fix=_TOKEN_FILE_FIX
        )
    return secret


def _check_mode(file: Path, mode: int) -> None:
    # A shell passes `<(command)` as a pipe.
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise CommandError(f"the token file {file} must be a regular file or a pipe", fix=_TOKEN_FILE_FIX)
    if stat.S_ISREG(mode) and mode & 0o077:
        raise CommandError(
            f"the token file {file} is readable or writable by other users",
            fix=f"Run `chmod 600 {shlex.quote(str(file))}`; if another user may have read the token, "
            "revoke it.",
        )
