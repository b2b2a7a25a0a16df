"""`docyard tokens`: who may approve and merge what is protected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard import environment
from docyard.cli.main import NearestGroup
from docyard.commands import options
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.authors import read_secret
from docyard.terminal.exits import CannotError, Exit

if TYPE_CHECKING:
    from workspace.policy.tokens import Person, Tokens
    from workspace.workspace import Workspace


@click.group(
    cls=NearestGroup, name="tokens", short_help="Make and revoke the tokens by which people are known."
)
def command() -> None:
    """Make and revoke the tokens by which people are known.

    Approving a proposal, and merging one that changes what is protected, needs a person's token. Tokens are
    kept with this repository alone: no clone, fetch or push carries them.

    \b
    Example:
        docyard tokens add ana --name "Ana Li" --email ana@example.org
        docyard tokens list
        docyard tokens revoke ana
    """


@command.command(name="add", short_help="Make a token, and print its secret.")
@click.argument("token", metavar="NAME")
@click.option("--name", metavar="NAME", help="The person's name. [default: Git's user.name]")
@click.option("--email", metavar="ADDRESS", help="Their address. [default: Git's user.email]")
@options.repository
@options.as_json
def add(token: str, name: str | None, email: str | None, repo: Path | None, as_json: bool) -> int:
    """Make a token, and print its secret: once, since it is kept nowhere.

    NAME is what docyard.toml calls it (approvers, merge): lower-case letters, digits, '.' and '-'. Without
    --name and --email it is for the person of Git's settings. Tokens of one address are one person, who
    approves once.

    \b
    Example:
        docyard tokens add ana
        docyard tokens add ben --name "Ben Ode" --email ben@example.org
    """
    from workspace.policy.tokens import is_same

    workspace = open_workspace(repo)
    name, email = _identity(workspace, name, email)
    tokens = _tokens(workspace)
    secret = tokens.add(token, name, email)
    person = tokens.person(secret)
    if as_json:
        console.print_json({**_data(person), "secret": secret})
        return Exit.DONE
    others = [one.token for one in tokens.list() if is_same(one, person) and one != person]
    _say(
        secret,
        "",
        f"This is the token of {_format_person(person)}. It is not shown again: keep it where "
        "only they can read it.",
        *([f"They have {', '.join(others)} too; all of them together give one approval."] if others else []),
        f"  next: set {environment.TOKEN} to it, or write it to a file of mode 600 for --token-file",
    )
    return Exit.DONE


@command.command(name="list", short_help="List the tokens that this repository knows.")
@options.repository
@options.as_json
def listing(repo: Path | None, as_json: bool) -> int:
    """List the tokens that this repository knows: their names, and whose they are.

    \b
    Example:
        docyard tokens list --json
    """
    people = _tokens(open_workspace(repo)).list()
    if as_json:
        console.print_json({"tokens": [_data(person) for person in people]})
    elif not people:
        _say("There are no tokens.", "  next: docyard tokens add NAME")
    else:
        console.print_table(("token", "name", "address"), people)
    return Exit.DONE


@command.command(name="revoke", short_help="Take a token away.")
@click.argument("token", metavar="NAME")
@options.repository
@options.as_json
def revoke(token: str, repo: Path | None, as_json: bool) -> int:
    """Take a token away. Approvals that were given with it no longer count, where nothing was merged yet.

    \b
    Example:
        docyard tokens revoke ana
    """
    person = _tokens(open_workspace(repo)).revoke(token)
    if as_json:
        console.print_json({**_data(person), "revoked": True})
    else:
        _say(f"Revoked the token {person.token} of {_format_person(person)}.")
    return Exit.DONE


@command.command(name="trust", short_help="Let a token that was made elsewhere count here too.")
@click.argument("token", metavar="NAME")
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help=f"A file with the token, of mode 600. [default: {environment.TOKEN}, or asked for]",
)
@click.option("--name", metavar="NAME", required=True, help="The person's name.")
@click.option("--email", metavar="ADDRESS", required=True, help="Their address.")
@options.repository
@options.as_json
def trust(
    token: str, token_file: Path | None, name: str, email: str, repo: Path | None, as_json: bool
) -> int:
    """Let a token that was made with another copy of the repository count here too.

    What was approved with it there, and pushed, then counts here. Whoever runs this repository can make
    approvals in its name from then on: trust a token only where you trust them.

    \b
    Example:
        docyard tokens trust ana --name "Ana Li" --email ana@example.org --token-file ~/ana.token
    """
    workspace = open_workspace(repo)
    file = None if token_file is None else environment.get_current_directory() / token_file.expanduser()
    secret = read_secret(file, ask=True)
    if secret is None:
        raise CannotError(
            "there is no token to trust",
            fix=f"Set {environment.TOKEN}, or name a file of mode 600 with --token-file.",
        )
    if not secret.startswith(f"docyard_{token}_"):
        raise CannotError(
            "this token has another name", fix="Name it as it was named where it was made, or give the other."
        )
    person = _tokens(workspace).trust(secret, name, email)
    if as_json:
        console.print_json({**_data(person), "trusted": True})
    else:
        _say(f"The token {person.token} of {_format_person(person)} counts here from now on.")
    return Exit.DONE


def _tokens(workspace: Workspace) -> Tokens:
    from workspace.policy.tokens import Tokens

    return Tokens(workspace.git.common_dir)


def _identity(workspace: Workspace, name: str | None, email: str | None) -> tuple[str, str]:
    """Return the given name and address, else those of Git's settings. Raises CannotError without one."""
    own = workspace.git.identity()
    if own is None and (name is None or email is None):
        raise CannotError(
            "it is not known whose token this is: Git's user.name and user.email are not set",
            fix="Give --name and --email.",
        )
    own_name, own_email = own or ("", "")
    return own_name if name is None else name, own_email if email is None else email


def _data(person: Person) -> dict[str, object]:
    return {"token": person.token, "name": person.name, "email": person.email}


def _format_person(person: Person) -> str:
    return f"{person.name} <{person.email}>"


def _say(*lines: str) -> None:
    from tools.errors import escape_invisible

    for line in lines:
        click.echo(escape_invisible(line))
