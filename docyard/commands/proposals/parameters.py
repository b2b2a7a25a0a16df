"""Arguments and options that several of the commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from docyard.cli import completion
from docyard.commands import options

F = TypeVar("F", bound=Callable[..., Any])


def proposal(command: F) -> F:
    """`ID`: the parameter `proposal`, the id of a proposal or the name of its branch."""
    return click.argument("proposal", metavar="ID", shell_complete=completion.complete_proposals)(command)


def place(command: F) -> F:
    """`[FILE[#SECTION]]`: the parameter `place`, None for all of the proposal."""
    return click.argument(
        "place",
        metavar="[FILE[#SECTION]]",
        required=False,
        shell_complete=completion.complete_proposal_addresses,
    )(command)


def commit(command: F) -> F:
    """`--commit COMMIT`: the parameter `commit`, None for the proposal's tip, whatever that is by then."""
    return click.option(
        "--commit", metavar="COMMIT", help="The commit that you looked at; refused if it is another by now."
    )(command)


def token_file(command: F) -> F:
    """`--token-file FILE`: the parameter `token_file`, None where the token comes from elsewhere, or not."""
    return click.option(
        "--token-file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="A file that holds your token. [default: DOCYARD_TOKEN]",
    )(command)


def actor_options(command: F) -> F:
    """Add the options of a command that acts on a proposal: `token_file`, `repo`, `branch` and `as_json`."""
    return token_file(options.repository(options.branch(options.as_json(command))))


def message(purpose: str) -> Callable[[F], F]:
    """`-m TEXT`: the parameter `message`, None where the text comes from elsewhere; `purpose` is its help."""
    return click.option("-m", "--message", metavar="TEXT", help=purpose)
