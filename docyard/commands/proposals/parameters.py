"""Arguments and options that several commands of proposals share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from docyard.cli import completion
from docyard.commands import options

F = TypeVar("F", bound=Callable[..., Any])


def proposal_id(command: F) -> F:
    """Add `ID`: the parameter `proposal_id`, the id of a proposal or a prefix of it, or its branch's name."""
    return click.argument("proposal_id", metavar="ID", shell_complete=completion.complete_proposals)(command)


def address(command: F) -> F:
    """Add `[FILE[#SECTION]]`: the parameter `address`, None for the whole proposal."""
    return click.argument(
        "address",
        metavar="[FILE[#SECTION]]",
        required=False,
        shell_complete=completion.complete_proposal_addresses,
    )(command)


def commit(command: F) -> F:
    """Add `--commit COMMIT`: the parameter `commit`, None for the current tip of the proposal."""
    return click.option(
        "--commit",
        metavar="COMMIT",
        help="The commit that you reviewed; refused if it is not the tip.",
    )(command)


def token_file(command: F) -> F:
    """Add `--token-file FILE`: the parameter `token_file`, None if the option is not given."""
    return click.option(
        "--token-file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="A file that contains your token. [default: DOCYARD_TOKEN]",
    )(command)


def actor_options(command: F) -> F:
    """Add the options of a command that acts on a proposal: `token_file`, `repo`, `branch` and `as_json`."""
    return token_file(options.repository(options.branch(options.as_json(command))))


def message(purpose: str) -> Callable[[F], F]:
    """Return a decorator that adds `-m TEXT`: the parameter `message`. `purpose` is the help text."""
    return click.option("-m", "--message", metavar="TEXT", help=purpose)
