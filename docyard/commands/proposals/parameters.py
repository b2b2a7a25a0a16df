"""Arguments and options that several commands of proposals share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from docyard.cli import completion
from docyard.commands import options

F = TypeVar("F", bound=Callable[..., Any])


def _reject_blank(fix: str) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """Return a callback that raises UsageError for an argument without text, such as an unset variable."""

    def check(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
        if value is not None and not value.strip() and not context.resilient_parsing:
            name = (parameter.metavar or parameter.name or "").strip("[]").partition("[")[0]
            raise click.UsageError(f"{name} is empty: {fix}")
        return value

    return check


def proposal_id(command: F) -> F:
    """Add `ID`: the parameter `proposal_id`, the id of a proposal or a prefix of it, or its branch's name."""
    return click.argument(
        "proposal_id",
        metavar="ID",
        callback=_reject_blank("name a proposal by its id, which `docyard proposals list` shows"),
        shell_complete=completion.complete_proposals,
    )(command)


def address(command: F) -> F:
    """Add `[FILE[#SECTION]]`: the parameter `address`, None for the whole proposal."""
    return click.argument(
        "address",
        metavar="[FILE[#SECTION]]",
        required=False,
        callback=_reject_blank("name a document or a section, or omit the argument for the whole proposal"),
        shell_complete=completion.complete_proposal_addresses,
    )(command)


def since_review(command: F) -> F:
    """Add `--since-review` and `--token-file`: the parameters `since_review` and `token_file`."""
    return click.option(
        "--since-review",
        is_flag=True,
        help="Show only the changes since your last review, without those of the target.",
    )(token_file(command))


def commit(command: F) -> F:
    """Add `--commit COMMIT`: the parameter `commit`, None for the current tip of the proposal."""
    return click.option(
        "--commit",
        metavar="COMMIT",
        shell_complete=completion.complete_proposal_tip,
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
