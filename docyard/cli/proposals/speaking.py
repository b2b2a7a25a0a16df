"""Who speaks at the command line, and in which words."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from docyard.environment import is_terminal, variables
from docyard.terminal.exits import CannotError

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.proposals.actions import Actor
    from workspace.workspace import Workspace

TOOL, CLIENT = "proposals", "command line"
TOKEN_FIX = "Give your token by DOCYARD_TOKEN or --token-file; `docyard tokens add NAME` makes one."
"""What to do at a shell where only a person's token will do."""

_MOST = 1 << 20  # bytes of a text that is piped in or named: above what any proposal keeps
_SCISSORS = "<!-- docyard: "


def actor_of_caller(workspace: Workspace, token_file: Path | None, *, ask: bool = False) -> Actor:
    """Who types the command: a person by their token where there is one, else by Git's own identity.

    `ask` lets a person at a terminal be asked for the token. Raises what reading or knowing a token raises.
    """
    from docyard.cli.authors import person_of_caller
    from workspace.proposals import Author, KnownBy
    from workspace.proposals.actions import Actor

    person = person_of_caller(workspace, token_file, ask=ask)
    if person is None:
        return Actor(Author(*workspace.author(), KnownBy.GIT), TOOL, CLIENT)
    return Actor(Author(person.name, person.email, KnownBy.TOKEN, person.token), TOOL, CLIENT, person)


def words_of_caller(message: str | None, about: str, *, may_be_empty: bool = False) -> str:
    """A text: that of an option, else what is piped in, else what is written in the editor that Git uses.

    `about` is a line that tells the editor's user what the text is for. Raises CannotError where there is
    none, unless it may be empty.
    """
    text = message if message is not None else _typed(about) if is_terminal(sys.stdin) else _piped()
    if not text.strip() and not may_be_empty:
        raise CannotError("there is no text, so nothing was said", fix="Give it with -m TEXT.")
    return text


def text_of(file: str) -> str:
    """The text of a file; `-` is standard input. Raises CannotError for what cannot be read."""
    if file == "-":
        return _piped()
    try:
        with open(file, "rb") as stream:
            data = stream.read(_MOST + 1)
    except OSError as error:
        raise CannotError(
            f"the file cannot be read: {error.strerror or type(error).__name__}",
            fix="Name one that is there.",
        ) from error
    return _decoded(data)


def _piped() -> str:
    stream = getattr(sys.stdin, "buffer", None)
    return _decoded(stream.read(_MOST + 1) if stream is not None else sys.stdin.read().encode())


def _decoded(data: bytes) -> str:
    if len(data) > _MOST:
        raise CannotError("the text is over 1 MiB", fix="Say less of it here, and the rest in a document.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CannotError("the text is not UTF-8", fix="Save it as UTF-8, and try again.") from error


def _typed(about: str) -> str:
    """What a person writes in an editor, above the line that tells them what it is for."""
    import click

    lead = f"{_SCISSORS}{about} What stands from here on is left out; an empty text says nothing. -->\n"
    editor = variables().get("GIT_EDITOR")
    written = click.edit(f"\n\n{lead}", editor=editor, extension=".md") or ""
    return written.partition(_SCISSORS)[0].strip()
