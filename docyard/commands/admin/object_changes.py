"""The list, the addition, the change and the removal of objects of any kind, and their options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from docyard import environment
from docyard.commands.admin.access import confirm, open_administration, print_lines
from docyard.terminal import console
from docyard.terminal.exits import Exit

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from docyard.organizations.objects import ObjectKey
    from docyard.organizations.plan import Change

F = TypeVar("F", bound=Callable[..., Any])


class Target(NamedTuple):
    """The object that a command names: its kind, its organization, and its name there."""

    kind: str
    organization: str
    name: str = ""

    @property
    def key(self) -> ObjectKey:
        """The key of the object."""
        from docyard.organizations.objects import Kind, ObjectKey

        return ObjectKey(self.organization, Kind(self.kind), self.name)


def expected(command: F) -> F:
    """Add `--expected VERSION`: the parameter `expected`, None for any version."""
    return click.option(
        "--expected", metavar="VERSION", help="Refuse the change unless `list --json` shows this version."
    )(command)


def yes(command: F) -> F:
    """Add `--yes`: the parameter `yes`."""
    return click.option("--yes", is_flag=True, help="Do not ask for a confirmation.")(command)


def defaults(*names: str) -> Callable[[F], F]:
    """Return a decorator that adds `--default FIELD`: the parameter `default_names`."""
    return click.option(
        "--default",
        "default_names",
        metavar="FIELD",
        type=click.Choice(names),
        multiple=True,
        help=f"Give a field its default value again: {', '.join(names)}.",
    )


def organization_argument(*, required: bool = True) -> Callable[[F], F]:
    """Return a decorator that adds the argument ORG: the parameter `organization`."""
    return click.argument(
        "organization",
        metavar="ORG" if required else "[ORG]",
        required=required,
        shell_complete=_complete_organizations,
    )


def name_argument(kind: str, metavar: str) -> Callable[[F], F]:
    """Return a decorator that adds the name of an object as an argument: the parameter `name`."""

    def complete(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        return _list_candidates(context, kind, incomplete)

    return click.argument("name", metavar=metavar, shell_complete=complete)


def list_objects(
    config: Path | None, kind: str, organization: str | None = None, *, as_json: bool = False
) -> int:
    """Print the objects of a kind; those of one organization if it is named. Raises ObjectNotFound."""
    with open_administration(config) as administration:
        from docyard.organizations.objects import ObjectKey, compute_version, find_object
        from docyard.organizations.plan import describe_key, format_value

        state = administration.read_state()
    if organization is not None:
        find_object(state, ObjectKey(organization))
    objects = {
        key: state[key]
        for key in sorted(state)
        if key.kind == kind and organization in (None, key.organization)
    }
    if as_json:
        entries = [
            {**describe_key(key), "version": compute_version(fields), "fields": fields}
            for key, fields in objects.items()
        ]
        console.print_json({f"{kind}s": entries})
    else:
        rows = [
            (key.path, "; ".join(f"{name}: {format_value(value)}" for name, value in fields.items()))
            for key, fields in objects.items()
        ]
        console.print_table((kind, "fields"), rows)
    return Exit.DONE


def add_object(config: Path | None, target: Target, fields: Mapping[str, Any], *, as_json: bool) -> int:
    """Add an object, and print the change. Fields with the value None have their defaults."""
    with open_administration(config) as administration:
        change = administration.add(target.key, fields)
    return _print_change(change, as_json=as_json)


def change_object(
    config: Path | None,
    target: Target,
    fields: Mapping[str, Any],
    default_names: Sequence[str] = (),
    *,
    expected: str | None,
    as_json: bool,
) -> int:
    """Change the fields of an object that are not None, and print the change.

    The fields of `default_names` have their defaults again.
    """
    given_fields = {name: value for name, value in fields.items() if value is not None}
    with open_administration(config) as administration:
        change = administration.change(
            target.key, {**dict.fromkeys(default_names), **given_fields}, expected=expected
        )
    return _print_change(change, as_json=as_json)


def change_association(
    config: Path | None, target: Target, namespace: str, *, is_added: bool, as_json: bool
) -> int:
    """Add or end the association of a server with a namespace, and print the change."""
    with open_administration(config) as administration:
        change_it = administration.associate if is_added else administration.dissociate
        change = change_it(target.key, namespace)
    return _print_change(change, as_json=as_json)


def rename_object(
    config: Path | None, target: Target, new_name: str, *, expected: str | None, as_json: bool
) -> int:
    """Rename an object, and print its new name."""
    with open_administration(config) as administration:
        from docyard.organizations.plan import describe_key

        key = administration.rename(target.key, new_name, expected=expected)
    if as_json:
        console.print_json(describe_key(key))
    else:
        click.echo(f"rename  {target.kind}  {target.key.path} -> {key.path}")
    return Exit.DONE


def remove_object(
    config: Path | None, target: Target, *, is_confirmed: bool, expected: str | None, as_json: bool
) -> int:
    """Remove an object after a confirmation, and print the change."""
    with open_administration(config) as administration:
        administration.find(target.key)
        confirm(f"Remove the {target.key.label} with all its records?", is_confirmed=is_confirmed)
        change = administration.remove(target.key, expected=expected)
    return _print_change(change, as_json=as_json)


def _print_change(change: Change | None, *, as_json: bool) -> int:
    """Print a change; None is a change that was already made."""
    from docyard.organizations.plan import describe_change, format_change

    if as_json:
        console.print_json(None if change is None else describe_change(change))
    elif change is None:
        click.echo("unchanged")
    else:
        print_lines(format_change(change))
    return Exit.DONE


def _complete_organizations(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    return _list_candidates(context, "organization", incomplete)


def _list_candidates(context: click.Context, kind: str, incomplete: str) -> list[CompletionItem[str]]:
    """Return the names of objects that begin with a text; without a database, an empty list."""
    from click.shell_completion import CompletionItem

    from docyard.cli.completion import MAX_CANDIDATES
    from workspace.errors import WorkspaceError

    try:
        with open_administration(context.params.get("config") or environment.read_config_path()) as opened:
            keys = opened.read_state()
    except WorkspaceError:
        return []
    organization = context.params.get("organization")
    names = {
        key.name or key.organization
        for key in keys
        if key.kind == kind and organization in (None, key.organization)
    }
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)][:MAX_CANDIDATES]
