"""The commands, options and settings of 0.1.0 exist, and the settings have their defaults.

`interface-0.1.0.json` lists them. It was written from `docs/commands.md` and from the schema of
`WorkspaceConfig` of 0.1.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from docyard.cli.main import docyard
from workspace.config.config import WorkspaceConfig

INTERFACE = json.loads(Path(__file__).with_name("interface-0.1.0.json").read_bytes())


def find_options(name: str) -> set[str]:
    """Return the options of a command, such as those of `proposals list`."""
    command: click.Command = docyard
    context = click.Context(command)
    for part in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(context, part)
        assert found is not None, name
        command, context = found, click.Context(found, parent=context)
    parameters = command.get_params(context)
    return {option for item in parameters for option in (*item.opts, *item.secondary_opts)}


def list_settings(node: dict[str, Any], definitions: dict[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Yield each setting of a JSON schema with its default; `[]` is an array of tables, `*` any key."""
    if "$ref" in node:
        node = definitions[node["$ref"].rpartition("/")[2]] | {"default": node.get("default")}
    for choice in node.get("anyOf", ()):
        if "$ref" in choice:
            yield from list_settings(choice, definitions, path)
    for name, child in node.get("properties", {}).items():
        yield from list_settings(child, definitions, f"{path}.{name}" if path else name)
    if "$ref" in node.get("items", {}):
        yield from list_settings(node["items"], definitions, f"{path}[]")
    elif isinstance(values := node.get("additionalProperties"), dict) and "$ref" in values:
        yield from list_settings(values, definitions, f"{path}.*")
    elif "properties" not in node:
        yield path, node.get("default", "REQUIRED")


def test_commands_and_options_of_0_1_0_exist() -> None:
    assert len(INTERFACE["commands"]) == 40
    missing = {
        name: sorted(removed)
        for name, options in INTERFACE["commands"].items()
        if (removed := {*options} - find_options(name))
    }
    assert missing == {}


def test_settings_of_0_1_0_exist_with_their_defaults() -> None:
    schema = WorkspaceConfig.model_json_schema(by_alias=True)
    settings = dict(list_settings(schema, schema["$defs"], ""))
    settings = json.loads(json.dumps(settings, default=str))
    old_settings = INTERFACE["settings"]
    assert len(old_settings) > 30
    assert {name: settings.get(name, "missing") for name in old_settings} == old_settings
