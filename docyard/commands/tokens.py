"""`docyard tokens`: the tokens of people, which approvals and merges of protected changes need."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard import environment
from docyard.cli import token_options
from docyard.cli.main import SuggestingGroup
from docyard.cli.server_database import read_engine_options, server_config
from docyard.commands import options
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.credentials import create_secret_file, read_secret
from docyard.terminal.exits import CommandError, Exit
from docyard.terminal.suggested_commands import complete_commands
from docyard.wording import format_count

if TYPE_CHECKING:
    from workspace.policy.tokens import KnownPerson, Person
    from workspace.workspace import Workspace


@click.group(
    cls=SuggestingGroup,
    name="tokens",
)
def command() -> None:
    """Create, rotate and revoke the tokens that identify people.

    An approval of a proposal, and a merge that changes protected paths, needs a person's token. Tokens are
    stored only in this repository: no clone, fetch or push transfers them. Nodes that share a database of
    indexes share the tokens, too, if the repository has a remote: then DOCYARD_SERVER__ENGINE__URL or the
    file of --config names the database.

    \b
    Example:
        docyard tokens add ana --name "Ana Li" --email ana@example.org
        docyard tokens list
        docyard tokens rotate ana
        docyard tokens revoke ana
    """


_output = click.option(
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the secret to a new file of mode 600 for --token-file, and not to standard output.",
)
_replace = click.option(
    "--replace", is_flag=True, help="With --output: replace an existing file that contains only a token."
)


@command.command(name="add", short_help="Create a token, and print its secret.")
@click.argument("token_name", metavar="NAME")
@click.option("--name", metavar="NAME", help="The person's name. [default: Git's user.name]")
@click.option("--email", metavar="ADDRESS", help="The person's address. [default: Git's user.email]")
@token_options.scopes
@token_options.expires
@_output
@_replace
@options.repository
@server_config
@options.as_json
def add(
    token_name: str,
    name: str | None,
    email: str | None,
    scopes: tuple[str, ...],
    expires_at: int | None,
    output: Path | None,
    replace: bool,
    repo: Path | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Create a token, and print its secret once on standard output: the secret is not stored.

    NAME is the name in docyard.toml (approvers, merge): lower-case letters, digits, '.' and '-'. Without
    --name and --email the token is for the person of Git's settings; --name needs --email. Tokens with the
    same address belong to one person, who approves once. Without --scope the token may do everything; with
    --scope docs:read it can neither write nor approve. An expired token no longer works, and its earlier
    approvals stay valid.

    \b
    Example:
        docyard tokens add ana --output ~/ana.token
        docyard tokens add reader --scope docs:read --expires 90d
        docyard tokens add ben --name "Ben Ode" --email ben@example.org
    """
    from workspace.policy.tokens import ALL_SCOPES, is_same_person

    workspace = _open_workspace(repo, config)
    name, email = _resolve_identity(workspace, name, email)
    tokens = workspace.tokens
    create = partial(
        tokens.add,
        token_name,
        name,
        email,
        scopes=token_options.include_lower_scopes(scopes) or ALL_SCOPES,
        expires_at=expires_at,
    )
    secret, file = _create_secret(create, output, replace=replace)
    owner = tokens.authenticate(secret)
    person = owner.person
    if as_json:
        place = (
            {"secret": secret} if file is None else {"file": str(environment.get_current_directory() / file)}
        )
        console.print_json({**_owner_to_data(owner), **place})
        return Exit.DONE
    other_tokens = [
        other.token for other in tokens.list() if is_same_person(other, person) and other != person
    ]
    notes = (
        [f"This person also has {', '.join(other_tokens)}; together they count as one approval."]
        if other_tokens
        else []
    )
    if file is not None:
        _print_lines(
            f"Wrote the token of {_format_person(person)} to {file}. {_describe_recipient(owner)}",
            *notes,
        )
        return Exit.DONE
    _print_secret(
        secret,
        f"This is the token of {_format_person(person)}. The secret is not shown again. "
        f"{_describe_recipient(owner)}",
        *notes,
        f"  next: set {environment.TOKEN} to the token, or write it to a file of mode 600 for --token-file",
    )
    return Exit.DONE


def _create_secret(
    create: Callable[[], str], output: Path | None, *, replace: bool
) -> tuple[str, Path | None]:
    """Return a new secret, and the file to which it was written, as the user named it, if there is one.

    The file is created first, so that no secret is lost if it cannot be. Raises CommandError, and UsageError
    for `replace` without a file.
    """
    if replace and output is None:
        raise click.UsageError("--replace needs --output")
    if output is not None:
        environment.get_current_directory()  # a deleted folder has its own error
    file = None if output is None else output.expanduser()
    with nullcontext() if file is None else create_secret_file(file, replace=replace) as stream:
        secret = create()
        if stream is not None:
            stream.write(f"{secret}\n")
    return secret, file


@command.command(name="list", short_help="List the tokens of this repository.")
@options.repository
@server_config
@options.as_json
def list_tokens(repo: Path | None, config: Path | None, as_json: bool) -> int:
    """List the tokens of this repository, with their names and owners. Expired tokens are marked.

    Outside a terminal, each token is one line of tab-separated columns without headings: token, name,
    address; if any token is restricted, also scopes and the time of expiry.

    \b
    Example:
        docyard tokens list --json
    """
    owners = _open_workspace(repo, config).tokens.list_owners()
    if as_json:
        console.print_json({"tokens": [_owner_to_data(owner) for owner in owners]})
    elif not owners:
        _print_lines("There are no tokens.", "  next: docyard tokens add NAME")
    else:
        restrictions = [_format_restrictions(owner) for owner in owners]
        # Most repositories have no restricted token, and programs read these lines.
        columns = ("scopes", "expires") if any(map(any, restrictions)) else ()
        rows = [
            (*owner.person, *(texts if columns else ()))
            for owner, texts in zip(owners, restrictions, strict=True)
        ]
        console.print_table(("token", "name", "address", *columns), rows)
    return Exit.DONE


@command.command(name="rotate", short_help="Give a token a new secret, and print it.")
@click.argument("token_name", metavar="NAME")
@token_options.expires
@_output
@_replace
@options.repository
@server_config
@options.as_json
def rotate(
    token_name: str,
    expires_at: int | None,
    output: Path | None,
    replace: bool,
    repo: Path | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Give a token a new secret, and print it once. The old secret no longer works from now on.

    Approvals that were given with the old secret stay valid. An expired token needs --expires; otherwise the
    time of expiry stays. If the old secret has leaked, revoke the token
    instead: with the secret, an approval can be forged.

    \b
    Example:
        docyard tokens rotate ana --output ~/ana-2.token
        docyard tokens rotate ana --expires 90d --output ~/ana.token --replace
    """
    tokens = _open_workspace(repo, config).tokens
    secret, file = _create_secret(
        partial(tokens.rotate, token_name, expires_at=expires_at), output, replace=replace
    )
    if as_json:
        owner = tokens.read_all()[token_name]
        place = (
            {"secret": secret} if file is None else {"file": str(environment.get_current_directory() / file)}
        )
        console.print_json({**_owner_to_data(owner), **place})
    elif file is not None:
        _print_lines(
            f"Wrote the new secret of the token {token_name} to {file}. The old one no longer works."
        )
    else:
        _print_secret(secret, f"This is the new secret of the token {token_name}. It is not shown again.")
    return Exit.DONE


@command.command(name="revoke", short_help="Revoke a token.")
@click.argument("token_name", metavar="NAME")
@options.repository
@server_config
@options.as_json
def revoke(token_name: str, repo: Path | None, config: Path | None, as_json: bool) -> int:
    """Revoke a token. Its approvals no longer count, except in merged proposals.

    \b
    Example:
        docyard tokens revoke ana
    """
    person = _open_workspace(repo, config).tokens.revoke(token_name)
    if as_json:
        console.print_json({**_person_to_data(person), "revoked": True})
    else:
        _print_lines(f"Revoked the token {person.token} of {_format_person(person)}.")
    return Exit.DONE


@command.command(name="trust", short_help="Trust a token that was created in another copy.")
@click.argument("token_name", metavar="NAME")
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help=f"A file with the token, of mode 600. [default: {environment.TOKEN}, or a prompt]",
)
@click.option("--name", metavar="NAME", required=True, help="The person's name.")
@click.option("--email", metavar="ADDRESS", required=True, help="The person's address.")
@options.repository
@server_config
@options.as_json
def trust(
    token_name: str,
    token_file: Path | None,
    name: str,
    email: str,
    repo: Path | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Trust a token that was created in another copy of the repository.

    Approvals with the token in the other copy count in this repository after they are fetched. From then on,
    every reader of this repository's token file can approve in the person's name.

    \b
    Example:
        docyard tokens trust ana --name "Ana Li" --email ana@example.org --token-file ~/ana.token
    """
    workspace = _open_workspace(repo, config)
    file = None if token_file is None else token_file.expanduser()
    secret = read_secret(file, prompt=True)
    if secret is None:
        raise CommandError(
            "there is no token to trust",
            fix=f"Set {environment.TOKEN}, or name a file of mode 600 with --token-file.",
        )
    if not secret.startswith(f"docyard_{token_name}_"):
        raise CommandError(
            f"the token's name is not '{token_name}'",
            fix="Use the name from the copy that created the token.",
        )
    person = workspace.tokens.trust(secret, name, email)
    if as_json:
        console.print_json({**_person_to_data(person), "trusted": True})
    else:
        _print_lines(f"The token {person.token} of {_format_person(person)} is trusted from now on.")
    return Exit.DONE


@command.command(name="unshare", short_help="Copy the tokens that nodes share to the file of this clone.")
@options.repository
@server_config
@options.as_json
def unshare(repo: Path | None, config: Path | None, as_json: bool) -> int:
    """Copy the tokens that nodes share to the file of this clone, before it leaves the database of [engine].

    Unset the setting afterwards: a node that still has it uses the shared tokens again, and not this file.
    What is revoked on one side later counts on the other side.

    \b
    Example:
        docyard tokens unshare -C ~/specs
    """
    from index.postgres.shared_tokens import open_shared_tokens

    workspace = _open_workspace(repo, config)
    shared_tokens = open_shared_tokens(workspace, read_engine_options(config))
    if shared_tokens is None:
        raise CommandError(
            "this repository shares no tokens: it has no remote `origin`, or no database of [engine] is set",
            fix=f"Set {environment.ENGINE_URL}, or name the file of the server with --config.",
        )
    count = shared_tokens.export()
    if as_json:
        console.print_json({"tokens": count})
    else:
        _print_lines(f"Copied {format_count(count, 'token')} to the file of this clone.")
    return Exit.DONE


def _open_workspace(repo: Path | None, config: Path | None) -> Workspace:
    """Open the workspace, with the tokens that nodes share by the file of a server or by variables."""
    workspace = open_workspace(repo, checks_settings=False)
    if config is not None:
        from index.postgres.shared_tokens import share_tokens

        share_tokens(workspace, read_engine_options(config))
    return workspace


def _resolve_identity(workspace: Workspace, name: str | None, email: str | None) -> tuple[str, str]:
    """Return the name and address of the options, else of Git's settings. Raises CommandError.

    A name needs an address: otherwise another person's token would have the address of Git's user, and both
    would count as one person.
    """
    if name is not None and email is None:
        raise CommandError(
            "--name needs --email: the address identifies the person",
            fix="Pass the person's --email ADDRESS.",
        )
    git_identity = workspace.git.identity()
    if git_identity is None and (name is None or email is None):
        raise CommandError(
            "the token's owner is unknown: Git's user.name and user.email are not set",
            fix="Pass --name and --email.",
        )
    git_name, git_email = git_identity or ("", "")
    return git_name if name is None else name, git_email if email is None else email


def _owner_to_data(owner: KnownPerson) -> dict[str, object]:
    """Return the data of a token; its restrictions only if it has some."""
    from workspace.policy.tokens import ALL_SCOPES

    data = _person_to_data(owner.person)
    if owner.scopes != ALL_SCOPES:
        data["scopes"] = sorted(owner.scopes)
    if owner.expires_at is not None:
        data["expires_at"] = owner.expires_at
    return data


def _format_restrictions(owner: KnownPerson) -> tuple[str, str]:
    from workspace.policy.tokens import ALL_SCOPES

    scopes = "" if owner.scopes == ALL_SCOPES else " ".join(sorted(owner.scopes))
    expiry = token_options.format_time(owner.expires_at)
    return scopes, f"{expiry} (expired)" if owner.has_expired() else expiry


def _person_to_data(person: Person) -> dict[str, object]:
    return {"token": person.token, "name": person.name, "email": person.email}


def _describe_recipient(owner: KnownPerson) -> str:
    """Return who may have a new token: a person, or an agent if the token cannot approve."""
    if owner.may_review():
        return "Give it to this person alone: it can approve in the person's name."
    return (
        "It cannot approve: give it to the agent or program that acts in this person's name, and to no other."
    )


def _format_person(person: Person) -> str:
    return f"{person.name} <{person.email}>"


def _print_secret(secret: str, *notes: str) -> None:
    """Print a secret alone on standard output, which may be a file, and notes on standard error."""
    from workspace.escapes import escape_invisible

    click.echo(secret)
    for note in notes:
        click.echo(escape_invisible(note), err=True)


def _print_lines(*lines: str) -> None:
    from workspace.escapes import escape_invisible

    for line in lines:
        click.echo(escape_invisible(complete_commands(line)))
