"""`docyard admin rules`: list, add, change and remove the roles of groups."""

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
_KIND = "rule"


def _group_argument(command: F) -> F:
    return click.argument("group", metavar="GROUP")(command)


def _prefix_option(command: F) -> F:
    return click.option(
        "--prefix", metavar="TEXT", default="", help="Only namespaces whose names begin with this."
    )(command)


def _role_option(command: F) -> F:
    return click.option(
        "--role",
        required=True,
        type=click.Choice(("none", "reader", "writer", "admin")),
        help="The role of the group.",
    )(command)


def _make_target(organization: str, group: str, prefix: str) -> Target:
    from docyard.organizations.objects import format_rule_name

    return Target(_KIND, organization, format_rule_name(group, prefix))


@click.group(cls=SuggestingGroup, name="rules")
def command() -> None:
    """List, add, change and remove the roles of groups in namespaces.

    The rules with the longest matching prefix decide; without a rule, a namespace is denied. The group '*' is
    everyone, also without a token.

    \b
    Example:
        docyard admin rules add acme '*' --role reader --prefix public- --config server.toml
        docyard admin rules add acme engineers --role reader
    """


@command.command(name="list", short_help="List the rules.")
@object_changes.organization_argument(required=False)
@server_config
@options.as_json
def list_rules(organization: str | None, config: Path | None, as_json: bool) -> int:
    """List the rules of all organizations, or of one, as GROUP:PREFIX.

    \b
    Example:
        docyard admin rules list acme
    """
    return object_changes.list_objects(config, _KIND, organization, as_json=as_json)


@command.command(name="add", short_help="Give a group a role.")
@object_changes.organization_argument()
@_group_argument
@_prefix_option
@_role_option
@server_config
@options.as_json
def add(organization: str, group: str, prefix: str, role: str, config: Path | None, as_json: bool) -> int:
    """Give a group a role in the namespaces whose names begin with a prefix.

    \b
    Example:
        docyard admin rules add acme engineers --role writer --prefix api-
    """
    return object_changes.add_object(
        config, _make_target(organization, group, prefix), {"role": role}, as_json=as_json
    )


@command.command(name="set", short_help="Change the role of a rule.")
@object_changes.organization_argument()
@_group_argument
@_prefix_option
@_role_option
@object_changes.expected
@server_config
@options.as_json
def set_fields(
    organization: str,
    group: str,
    prefix: str,
    role: str,
    expected: str | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Change the role of a rule.

    \b
    Example:
        docyard admin rules set acme engineers --role admin
    """
    return object_changes.change_object(
        config,
        _make_target(organization, group, prefix),
        {"role": role},
        expected=expected,
        as_json=as_json,
    )


@command.command(name="remove", short_help="Remove a rule.")
@object_changes.organization_argument()
@_group_argument
@_prefix_option
@object_changes.yes
@object_changes.expected
@server_config
@options.as_json
def remove(
    organization: str,
    group: str,
    prefix: str,
    yes: bool,
    expected: str | None,
    config: Path | None,
    as_json: bool,
) -> int:
    """Remove a rule.

    \b
    Example:
        docyard admin rules remove acme engineers --prefix api- --yes
    """
    return object_changes.remove_object(
        config,
        _make_target(organization, group, prefix),
        is_confirmed=yes,
        expected=expected,
        as_json=as_json,
    )
