"""`docyard admin servers`: list, add, change and remove servers, and their associations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from docyard.cli.main import SuggestingGroup
from docyard.cli.server_database import server_config
from docyard.commands import options
from docyard.commands.admin import object_changes
from docyard.commands.admin.object_changes import Target

F = TypeVar("F", bound=Callable[..., Any])
_KIND = "server"


def _field_options(command: F) -> F:
    """Add the options of the fields of a server."""
    for option in (
        click.option("--max-tokens", type=int, help="The largest number of tokens of an answer."),
        click.option("--tool-prefix", metavar="PREFIX", help="The prefix of the names of all tools."),
        click.option(
            "--contextual-search/--no-contextual-search",
            default=None,
            help="Offer search_documentation_contextual.",
        ),
        click.option("--host", metavar="HOST", help="The host name by which clients find the server."),
        click.option("--name", "title", metavar="TEXT", help="The name for people."),
    ):
        command = option(command)
    return command


def _build_fields(fields: dict[str, Any]) -> dict[str, Any]:
    fields["name"] = fields.pop("title")
    return fields


@click.group(cls=SuggestingGroup, name="servers")
def command() -> None:
    """List, add, change and remove servers, and associate them with namespaces.

    A server is found at /o/ORG/SERVER/mcp, and by its host if it has one.

    \b
    Example:
        docyard admin servers add acme docs --namespace api --config server.toml
        docyard admin servers set acme docs --host docs.example.org
        docyard admin servers associate acme docs guides
    """


@command.command(name="list", short_help="List the servers.")
@object_changes.organization_argument(required=False)
@server_config
@options.as_json
def list_servers(organization: str | None, config: Path | None, as_json: bool) -> int:
    """List the servers of all organizations, or of one.

    \b
    Example:
        docyard admin servers list acme
    """
    return object_changes.list_objects(config, _KIND, organization, as_json=as_json)


@command.command(name="add", short_help="Add a server.")
@object_changes.organization_argument()
@object_changes.name_argument(_KIND, "SERVER")
@_field_options
@click.option(
    "--namespace", "namespaces", metavar="NAME", multiple=True, help="A namespace that it searches."
)
@server_config
@options.as_json
def add(organization: str, name: str, config: Path | None, as_json: bool, **fields: Any) -> int:
    """Add a server to an organization. SERVER is part of its URL: lower-case letters, digits and '-'.

    \b
    Example:
        docyard admin servers add acme docs --namespace api --namespace guides
    """
    return object_changes.add_object(
        config, Target(_KIND, organization, name), _build_fields(fields), as_json=as_json
    )


@command.command(name="set", short_help="Change the fields of a server.")
@object_changes.organization_argument()
@object_changes.name_argument(_KIND, "SERVER")
@_field_options
@object_changes.defaults("name", "host", "tool_prefix", "max_tokens")
@object_changes.expected
@server_config
@options.as_json
def set_fields(
    organization: str,
    name: str,
    default_names: tuple[str, ...],
    expected: str | None,
    config: Path | None,
    as_json: bool,
    **fields: Any,
) -> int:
    """Change the fields of a server that are given as options.

    \b
    Example:
        docyard admin servers set acme docs --host docs.example.org --max-tokens 3000
        docyard admin servers set acme docs --default host
    """
    return object_changes.change_object(
        config,
        Target(_KIND, organization, name),
        _build_fields(fields),
        default_names,
        expected=expected,
        as_json=as_json,
    )


@command.command(name="rename", short_help="Change the slug of a server.")
@object_changes.organization_argument()
@object_changes.name_argument(_KIND, "SERVER")
@click.argument("new_name", metavar="NEW")
@object_changes.expected
@server_config
@options.as_json
def rename(
    organization: str, name: str, new_name: str, expected: str | None, config: Path | None, as_json: bool
) -> int:
    """Change the slug of a server, which is part of its URL.

    \b
    Example:
        docyard admin servers rename acme docs manuals
    """
    return object_changes.rename_object(
        config, Target(_KIND, organization, name), new_name, expected=expected, as_json=as_json
    )


@command.command(name="associate", short_help="Associate a server with a namespace.")
@object_changes.organization_argument()
@object_changes.name_argument(_KIND, "SERVER")
@click.argument("namespace", metavar="NAMESPACE")
@server_config
@options.as_json
def associate(organization: str, name: str, namespace: str, config: Path | None, as_json: bool) -> int:
    """Associate a server with a namespace of its organization, so that the server searches it.

    \b
    Example:
        docyard admin servers associate acme docs api
    """
    return object_changes.change_association(
        config, Target(_KIND, organization, name), namespace, is_added=True, as_json=as_json
    )


@command.command(name="dissociate", short_help="End the association with a namespace.")
@object_changes.organization_argument()
@object_changes.name_argument(_KIND, "SERVER")
@click.argument("namespace", metavar="NAMESPACE")
@server_config
@options.as_json
def dissociate(organization: str, name: str, namespace: str, config: Path | None, as_json: bool) -> int:
    """End the association of a server with a namespace. The namespace and its records stay.

    \b
    Example:
        docyard admin servers dissociate acme docs api
    """
    return object_changes.change_association(
        config, Target(_KIND, organization, name), namespace, is_added=False, as_json=as_json
    )


@command.command(name="remove", short_help="Remove a server.")
@object_changes.organization_argument()
@object_changes.name_argument(_KIND, "SERVER")
@object_changes.yes
@object_changes.expected
@server_config
@options.as_json
def remove(
    organization: str, name: str, yes: bool, expected: str | None, config: Path | None, as_json: bool
) -> int:
    """Remove a server with its records. Its namespaces stay.

    \b
    Example:
        docyard admin servers remove acme docs --yes
    """
    return object_changes.remove_object(
        config, Target(_KIND, organization, name), is_confirmed=yes, expected=expected, as_json=as_json
    )
