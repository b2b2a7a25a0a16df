"""`docyard admin tokens`: the access tokens of a server: create, list and revoke."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docyard.cli import token_options
from docyard.cli.main import SuggestingGroup
from docyard.cli.server_database import open_server_database, server_config
from docyard.commands import options
from docyard.terminal import console
from docyard.terminal.exits import Exit

if TYPE_CHECKING:
    from docyard.identity.access_tokens import AccessToken

_OPERATOR_NAME = "-"
_OPERATOR_PRINCIPAL = "operator"


@click.group(cls=SuggestingGroup, name="tokens")
def command() -> None:
    """Create, list and revoke the access tokens of a server of organizations.

    ORG is the slug of an organization, or '-' for a token of the operator, whose groups count in every
    organization. The rules of the token's groups decide which namespaces it may use.

    \b
    Example:
        docyard admin tokens add acme ci --group engineers --expires 90d --config server.toml
        docyard admin tokens list acme
        docyard admin tokens revoke acme ci
    """


@command.command(name="add", short_help="Create a token, and print its secret.")
@click.argument("organization", metavar="ORG")
@click.argument("name", metavar="NAME")
@token_options.scopes
@click.option(
    "--group", "groups", metavar="GROUP", multiple=True, help="A group of the token. Can be repeated."
)
@token_options.expires
@server_config
@options.as_json
def add(
    organization: str,
    name: str,
    scopes: tuple[str, ...],
    groups: tuple[str, ...],
    expires_at: int | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Create a token, and print its secret once: the secret is not stored. The default scope is docs:read.

    \b
    Example:
        docyard admin tokens add acme ci --group engineers
        docyard admin tokens add acme bot --scope docs:write --group writers --expires 4w
    """
    from docyard.identity.access_tokens import AccessTokens

    slug = _parse_organization(organization)
    all_scopes = token_options.include_lower_scopes(scopes or ("docs:read",))
    with open_server_database(config) as database:
        secret = AccessTokens(database).add(
            slug,
            name,
            all_scopes,
            groups,
            None if expires_at is None else expires_at * 1_000,
            record=_build_record("add_access_token", slug, name),
        )
    if as_json:
        data = {
            "organization": slug,
            "name": name,
            "scopes": sorted(all_scopes),
            "groups": sorted(set(groups)),
            "expires_at": expires_at,
            "secret": secret,
        }
        console.print_json(data)
        return Exit.DONE
    expiry = f" It expires at {token_options.format_time(expires_at)} UTC." if expires_at is not None else ""
    click.echo(secret)
    click.echo(f"The secret is not shown again: store it where only its user can read it.{expiry}", err=True)
    return Exit.DONE


@command.command(name="list", short_help="List the tokens.")
@click.argument("organization", metavar="[ORG]", required=False)
@server_config
@options.as_json
def list_tokens(organization: str | None, config: Path | None, as_json: bool) -> int:
    """List the tokens of all organizations, or of one, also those that were revoked or have expired.

    \b
    Example:
        docyard admin tokens list acme --json
    """
    from docyard.identity.access_tokens import AccessTokens

    slug = None if organization is None else _parse_organization(organization)
    with open_server_database(config) as database:
        tokens = [
            token
            for token in AccessTokens(database).list(slug)
            if organization is None or token.organization == slug
        ]
    if as_json:
        console.print_json({"tokens": [_token_to_data(token) for token in tokens]})
        return Exit.DONE
    rows = [
        (
            token.organization or _OPERATOR_NAME,
            token.name,
            " ".join(sorted(token.scopes)),
            " ".join(sorted(token.groups)),
            "revoked"
            if token.revoked_at is not None
            else token_options.format_time(None if token.expires_at is None else token.expires_at / 1_000),
        )
        for token in tokens
    ]
    console.print_table(("organization", "name", "scopes", "groups", "expires"), rows)
    return Exit.DONE


@command.command(name="revoke", short_help="Revoke a token.")
@click.argument("organization", metavar="ORG")
@click.argument("name", metavar="NAME")
@server_config
@options.as_json
def revoke(organization: str, name: str, config: Path | None, as_json: bool) -> int:
    """Revoke a token. Running servers refuse it within five seconds.

    \b
    Example:
        docyard admin tokens revoke acme ci
    """
    from docyard.identity.access_tokens import AccessTokens

    slug = _parse_organization(organization)
    with open_server_database(config) as database:
        AccessTokens(database).revoke(
            slug,
            name,
            record=_build_record("revoke_access_token", slug, name),
        )
    if as_json:
        console.print_json({"organization": slug, "name": name, "revoked": True})
    else:
        click.echo(f"Revoked the access token {name}.")
    return Exit.DONE


def _build_record(action: str, organization: str | None, name: str) -> Any:
    """Return the function that appends an entry to the audit log, in the transaction of a change."""
    from docyard.organizations.audit import build_audit_recorder

    return build_audit_recorder(_OPERATOR_PRINCIPAL, action, name, organization)


def _parse_organization(text: str) -> str | None:
    """Return the slug of an organization; None for the operator."""
    return None if text == _OPERATOR_NAME else text


def _token_to_data(token: AccessToken) -> dict[str, object]:
    return {
        "organization": token.organization,
        "name": token.name,
        "scopes": sorted(token.scopes),
        "groups": sorted(token.groups),
        "created_at": token.created_at // 1_000,
        "expires_at": None if token.expires_at is None else token.expires_at // 1_000,
        "revoked_at": None if token.revoked_at is None else token.revoked_at // 1_000,
    }
