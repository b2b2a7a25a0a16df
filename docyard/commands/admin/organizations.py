"""`docyard admin organizations`: list, add, change and remove organizations."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.cli.main import SuggestingGroup
from docyard.cli.server_database import server_config
from docyard.commands import options
from docyard.commands.admin import object_changes
from docyard.commands.admin.object_changes import Target

_KIND = "organization"


@click.group(cls=SuggestingGroup, name="organizations")
def command() -> None:
    """List, add, change and remove organizations. An organization owns servers and namespaces.

    \b
    Example:
        docyard admin organizations add acme --name "Acme Inc." --config server.toml
        docyard admin organizations list
    """


@command.command(name="list", short_help="List the organizations.")
@server_config
@options.as_json
def list_organizations(config: Path | None, as_json: bool) -> int:
    """List the organizations.

    \b
    Example:
        docyard admin organizations list --json
    """
    return object_changes.list_objects(config, _KIND, as_json=as_json)


@command.command(name="add", short_help="Add an organization.")
@object_changes.organization_argument()
@click.option("--name", metavar="TEXT", help="The name for people.")
@server_config
@options.as_json
def add(organization: str, name: str | None, config: Path | None, as_json: bool) -> int:
    """Add an organization. ORG is part of URLs: lower-case letters, digits and '-'.

    \b
    Example:
        docyard admin organizations add acme --name "Acme Inc."
    """
    return object_changes.add_object(config, Target(_KIND, organization), {"name": name}, as_json=as_json)


@command.command(name="set", short_help="Change the name of an organization.")
@object_changes.organization_argument()
@click.option("--name", metavar="TEXT", required=True, help="The name for people.")
@object_changes.expected
@server_config
@options.as_json
def set_fields(organization: str, name: str, expected: str | None, config: Path | None, as_json: bool) -> int:
    """Change the name of an organization.

    \b
    Example:
        docyard admin organizations set acme --name "Acme Ltd."
    """
    return object_changes.change_object(
        config, Target(_KIND, organization), {"name": name}, expected=expected, as_json=as_json
    )


@command.command(name="rename", short_help="Change the slug of an organization.")
@object_changes.organization_argument()
@click.argument("new_name", metavar="NEW")
@object_changes.expected
@server_config
@options.as_json
def rename(organization: str, new_name: str, expected: str | None, config: Path | None, as_json: bool) -> int:
    """Change the slug of an organization, which is part of the URLs of its servers.

    \b
    Example:
        docyard admin organizations rename acme acme-inc
    """
    return object_changes.rename_object(
        config, Target(_KIND, organization), new_name, expected=expected, as_json=as_json
    )


@command.command(name="remove", short_help="Remove an organization.")
@object_changes.organization_argument()
@object_changes.yes
@object_changes.expected
@server_config
@options.as_json
def remove(organization: str, yes: bool, expected: str | None, config: Path | None, as_json: bool) -> int:
    """Remove an organization with its servers, namespaces, rules, tokens and records.

    \b
    Example:
        docyard admin organizations remove acme --yes
    """
    return object_changes.remove_object(
        config, Target(_KIND, organization), is_confirmed=yes, expected=expected, as_json=as_json
    )
