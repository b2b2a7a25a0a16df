"""The reference of the configuration, generated from the models that read it.

Each table of a file has its settings with type, default, meaning and an example. Types, limits and defaults
are those of the models' JSON schemas; meanings and examples are written at the models' fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from docyard import environment

if TYPE_CHECKING:
    from pydantic import BaseModel

Schema = Mapping[str, Any]

_OTHER_VARIABLES = (
    (
        environment.TOKEN,
        "The token with which a person approves or merges. In the files of hosts for a shared server: "
        "the agent's token ([http.md](http.md#two-meanings-of-docyard_token)).",
        "policy.md#tokens-identify-people",
    ),
    (environment.REMOTE_TOKEN, "The token for the remote.", "remotes.md#credentials-and-connections"),
    (
        environment.REMOTE_USER,
        "The user name that belongs to this token.",
        "remotes.md#credentials-and-connections",
    ),
    (environment.CREDENTIALS, "The file of credentials.", "remotes.md#credentials-and-connections"),
    (environment.SSH_KEY, "The file of the private key.", "remotes.md#credentials-and-connections"),
    (environment.FORGE_TOKEN, "The token for pull requests.", "forges.md"),
    (environment.FORGE_URL, "The address of a forge that is not at the host of the remote.", "forges.md"),
    (environment.WEBHOOK_SECRET, "The secret of webhooks.", "forges.md#webhooks"),
    (environment.EMBEDDING_KEY, "The key of the embedding provider.", "meaning.md#providers"),
    (environment.PAGERS[0], "The pager of long output, before `GIT_PAGER` and `PAGER`.", "commands.md"),
)
"""The variables that no option reads, each with its meaning and the page about it."""


class Setting(NamedTuple):
    """A setting of a table: its name, its schema, and whether the table needs it."""

    name: str
    schema: Schema
    is_required: bool

    @property
    def example(self) -> Any:
        """The example of the model, else the default; None if there is neither."""
        candidates = (self.schema, *self.schema.get("anyOf", ()))
        examples = [example for schema in candidates for example in schema.get("examples", ())]
        return examples[0] if examples else self.schema.get("default")


class Table(NamedTuple):
    """A table of a file: `header` is `[limits]`, `[[protect]]` or `[sources.NAME]`, or empty at the top."""

    header: str
    meaning: str
    settings: Sequence[Setting]

    @property
    def title(self) -> str:
        """The name of the table without brackets."""
        return self.header.strip("[]")


def list_tables(model: type[BaseModel]) -> Iterator[Table]:
    """Yield the tables of a file that a model reads, each before the tables in it."""
    schema = model.model_json_schema()
    yield from _list_tables(schema, schema.get("$defs", {}), "", is_list=False)


def _list_tables(schema: Schema, definitions: Schema, path: str, *, is_list: bool) -> Iterator[Table]:
    required = schema.get("required", ())
    settings, inner_tables = [], []
    for name, field in schema["properties"].items():
        inner_path = f"{path}.{name}" if path else name
        value = _resolve(field, definitions)
        items = _resolve(value.get("items", {}), definitions)
        values = _resolve(value.get("additionalProperties") or {}, definitions)
        if "properties" in value:
            inner_tables.append((value, inner_path, False))
        elif "properties" in items:
            inner_tables.append((items, inner_path, True))
        elif "properties" in values:
            inner_tables.append((values, f"{inner_path}.NAME", False))
        else:
            settings.append(Setting(name, {**value, **field}, name in required))
    if settings:
        header = f"[[{path}]]" if is_list else f"[{path}]" if path else ""
        yield Table(header, " ".join(schema.get("description", "").split()), settings)
    for inner_schema, inner_path, is_inner_list in inner_tables:
        yield from _list_tables(inner_schema, definitions, inner_path, is_list=is_inner_list)


def _resolve(schema: Schema, definitions: Schema) -> Schema:
    """Return the schema that a reference names, or the one of an optional value that is not null."""
    if "anyOf" in schema:
        schema = next(item for item in schema["anyOf"] if item.get("type") != "null")
    reference = schema.get("$ref")
    return definitions[reference.rpartition("/")[2]] if reference else schema


def describe_type(schema: Schema) -> str:
    """Return the type and the limits of a setting, as text for people."""
    if schema.get("format") == "interval":
        return 'seconds, or text such as `"5m"`'
    if "enum" in schema:
        return " or ".join(f'`"{value}"`' for value in schema["enum"])
    if "const" in schema:
        return f'`"{schema["const"]}"`'
    match schema.get("type"):
        case "array":
            is_choice = "enum" in schema["items"]
            return f"list of {describe_type(schema['items'])}" if is_choice else "list of texts"
        case "object":
            return "table of texts"
        case "string":
            return "secret" if schema.get("format") == "password" else "text"
        case "boolean":
            return "`true` or `false`"
        case "integer" | "number":
            return f"number, {schema['minimum']:,} to {schema['maximum']:,}"
    raise ValueError(f"a setting has a schema without a type for people: {schema}")


def format_toml(value: Any) -> str:
    """Return a value as TOML on one line: a table is an inline table."""
    if isinstance(value, Mapping):
        items = ", ".join(f"{name} = {format_toml(item)}" for name, item in value.items())
        return f"{{ {items} }}" if items else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_toml, value))}]"
    # A JSON text, number or boolean is also valid TOML.
    return json.dumps(value, ensure_ascii=False)


def render_configuration_page() -> str:
    """Return the reference page of docyard.toml, of a server's settings, of sources and of variables."""
    from docyard.settings.file import ServerSettings
    from index.sources.settings import SourcesFile
    from workspace.config.config import WorkspaceConfig

    lines = [
        "# Configuration",
        "",
        "Generated from the settings by `make docs`. Every setting is optional unless its default is "
        "*required*. An unknown setting is an error.",
        "",
        "| file | who writes it | what it sets |",
        "|---|---|---|",
        "| [`docyard.toml`](#docyardtoml) | authors of the documents | the workspace, its rules and limits |",
        "| [`server.toml`](#servertoml) | the operator | a server: `docyard serve --config server.toml` |",
        "| [`sources.toml`](#sourcestoml) | the operator | the documentations that one server offers: "
        "`docyard serve --sources sources.toml` |",
        "",
        "[Variables](#variables) set options of commands, secrets, and the settings of a server. "
        "Other files: [`.taxonomy.toml`](taxonomy.md), [document types](templates.md), and the "
        "[organizations](organizations.md) of a server.",
        "",
        "## docyard.toml",
        "",
        "It is at the root of the repository; the file of the served commit counts. `docyard init` commits "
        "one whose settings are comments.",
        *_render_tables("docyard.toml", WorkspaceConfig),
        "",
        "## server.toml",
        "",
        "`DOCYARD_CONFIG` names the file if `--config` is omitted. Paths are relative to the folder of the "
        "file. The [variable of a setting](#variables-of-servertoml) overrides the file; an empty variable "
        "sets nothing. Secrets are set by variables only.",
        "",
        "```console",
        "docyard config check --config server.toml   # all mistakes, each with its line or variable",
        "docyard config show --config server.toml    # each value, and where it comes from",
        "```",
        *_render_tables("server.toml", ServerSettings),
        "",
        "## sources.toml",
        "",
        "`NAME` is the namespace of a source. Paths are relative to the folder of the file. "
        "`docyard serve --sources sources.toml --check` reports all mistakes, each with its line "
        "([sources.md](sources.md)).",
        *_render_tables("sources.toml", SourcesFile),
        *_render_variables(),
    ]
    return "\n".join(lines) + "\n"


def _render_tables(file: str, model: type[BaseModel]) -> Iterator[str]:
    for table in list_tables(model):
        if table.header:
            more = ", a table for each" if table.header.startswith("[[") else ""
            yield from ("", f"### {file}: {table.title}", "", f"`{table.header}`{more}. {table.meaning}")
        yield from ("", "| setting | type | default | meaning | example |", "|---|---|---|---|---|")
        for setting in table.settings:
            default = setting.schema.get("default")
            shown_default = f"`{format_toml(default)}`" if default is not None else "not set"
            cells = (
                f"`{setting.name}`",
                describe_type(setting.schema),
                "*required*" if setting.is_required else shown_default,
                setting.schema.get("description", ""),
                "a variable" if _is_secret(setting) else f"`{setting.name} = {format_toml(setting.example)}`",
            )
            yield f"| {' | '.join(map(_escape_cell, cells))} |"


def _escape_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _is_secret(setting: Setting) -> bool:
    return describe_type(setting.schema) == "secret"


def _render_variables() -> Iterator[str]:
    from docyard.settings.file import format_variable, list_fields

    yield from (
        "",
        "## Variables",
        "",
        "An option of a command overrides its variable.",
        "",
        "| variable | option | meaning |",
        "|---|---|---|",
    )
    for variable, option in sorted(find_option_variables().items()):
        yield f"| `{variable}` | `{option.opts[-1]}` | {_escape_cell(option.help or '')} |"
    yield from ("", "No option has these values:", "", "| variable | meaning | page |", "|---|---|---|")
    for variable, meaning, page in _OTHER_VARIABLES:
        yield f"| `{variable}` | {meaning} | [{page.partition('#')[0]}]({page}) |"
    yield from (
        "",
        "### Variables of server.toml",
        "",
        'In a variable, a list is a JSON array, such as `["docs.example.org"]`.',
        "",
        "| setting | variable |",
        "|---|---|",
    )
    for field in list_fields():
        yield f"| `{'.'.join(field.location)}` | `{format_variable(field.location)}` |"


def find_option_variables() -> Mapping[str, click.Option]:
    """Return an option of a command for each variable that an option reads."""
    from docyard.cli.main import docyard

    context = click.Context(docyard, info_name="docyard")
    return {
        str(option.envvar): option
        for command in _list_commands(docyard, context)
        for option in command.params
        if isinstance(option, click.Option) and option.envvar
    }


def _list_commands(group: click.Group, context: click.Context) -> Iterator[click.Command]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from _list_commands(command, click.Context(command, info_name=name, parent=context))
