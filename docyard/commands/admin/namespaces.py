"""`docyard admin namespaces`: list, add, change and remove namespaces."""

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
_KIND = "namespace"


def _field_options(command: F) -> F:
    """Add the options of the fields of a namespace, which are those of a source in a file of sources."""
    for name, metavar, text in (
        ("key", "FILE", "The key that the artifact was built with."),
        ("every", "TIME", "The time between two fetches of the URL, such as 5m."),
        ("permalink", "TEMPLATE", "The URL of a section, such as https://example.org/{page}#{anchor}."),
        ("description", "TEXT", "A description for agents."),
        ("folder", "PATH", "Only this folder of the repository."),
        ("ref", "REF", "The branch, tag or commit; a branch is followed."),
        ("url", "URL", "The URL of a repository, which is cloned and followed."),
        ("artifact", "OUT", "An artifact that `docyard build --out OUT` built."),
        ("repo", "PATH", "A repository on this machine."),
    ):
        command = click.option(f"--{name}", metavar=metavar, help=text)(command)
    return command


@click.group(cls=SuggestingGroup, name="namespaces")
def command() -> None:
    """List, add, change and remove namespaces: the documentation sources of organizations.

    Paths are relative to the folder of the configuration file.

    \b
    Example:
        docyard admin namespaces add acme api --repo /srv/git/api.git --config server.toml
        docyard admin namespaces set acme api --ref v2
    """


@command.command(name="list", short_help="List the namespaces.")
@object_changes.organization_argument(required=False)
@server_config
@options.as_json
def list_namespaces(organization: str | None, config: Path | None, as_json: bool) -> int:
    """List the namespaces of all organizations, or of one.

    \b
    Example:
        docyard admin namespaces list acme --json
    """
    return object_changes.list_objects(config, _KIND, organization, as_json=as_json)


@command.command(name="add", short_help="Add a namespace.")
@object_changes.organization_argument()
@object_changes.name_argument(_KIND, "NAME")
@_field_options
@server_config
@options.as_json
def add(organization: str, name: str, config: Path | None, as_json: bool, **fields: Any) -> int:
    """Add a namespace with exactly one of --repo, --artifact and --url.

    \b
    Example:
        docyard admin namespaces add acme api --repo /srv/git/api.git --folder docs
        docyard admin namespaces add acme guides --url https://github.com/acme/guides.git --every 5m
    """
    return object_changes.add_object(config, Target(_KIND, organization, name), fields, as_json=as_json)


@command.command(name="set", short_help="Change the settings of a namespace.")
@object_changes.organization_argument()
@object_changes.name_argument(_KIND, "NAME")
@_field_options
@object_changes.defaults(
    "repo", "artifact", "url", "ref", "folder", "description", "permalink", "every", "key"
)
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
    """Change the settings of a namespace that are given as options.

    \b
    Example:
        docyard admin namespaces set acme api --ref v2 --default folder
        docyard admin namespaces set acme api --url https://github.com/acme/api.git --default repo
    """
    return object_changes.change_object(
        config,
        Target(_KIND, organization, name),
        fields,
        default_names,
        expected=expected,
        as_json=as_json,
    )


@command.command(name="rename", short_help="Change the name of a namespace.")
@object_changes.organization_argument()
@object_changes.name_argument(_KIND, "NAME")
@click.argument("new_name", metavar="NEW")
@object_changes.expected
@server_config
@options.as_json
def rename(
    organization: str, name: str, new_name: str, expected: str | None, config: Path | None, as_json: bool
) -> int:
    """Change the name of a namespace. Its associations and records stay; rules go by the new name.

    \b
    Example:
        docyard admin namespaces rename acme api api-v1
    """
    return object_changes.rename_object(
        config, Target(_KIND, organization, name), new_name, expected=expected, as_json=as_json
    )


@command.command(name="remove", short_help="Remove a namespace.")
@object_changes.organization_argument()
@object_changes.name_argument(_KIND, "NAME")
@object_changes.yes
@object_changes.expected
@server_config
@options.as_json
def remove(
    organization: str, name: str, yes: bool, expected: str | None, config: Path | None, as_json: bool
) -> int:
    """Remove a namespace with its associations and records. The repository is not changed.

    \b
    Example:
        docyard admin namespaces remove acme api --yes
    """
    return object_changes.remove_object(
        config, Target(_KIND, organization, name), is_confirmed=yes, expected=expected, as_json=as_json
    )
