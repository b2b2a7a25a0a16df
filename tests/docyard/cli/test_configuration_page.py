"""The reference of the configuration has every setting, with an example that its file accepts."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from docyard import environment
from docyard.cli.configuration_page import (
    Table,
    describe_type,
    find_option_variables,
    format_toml,
    list_tables,
    render_configuration_page,
)
from docyard.settings.file import ServerSettings, list_fields
from index.sources.settings import SourcesFile
from tests.loops import loop_over
from workspace.config.config import WorkspaceConfig

pytestmark = pytest.mark.docs

FILES: list[type[BaseModel]] = [WorkspaceConfig, ServerSettings, SourcesFile]


def nest(table: Table, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file with one table."""
    value: Any = [settings] if table.header.startswith("[[") else settings
    for name in reversed([name for name in table.title.split(".") if name]):
        value = {name: value}
    return dict(value)


def find_mistakes(model: type[BaseModel], content: dict[str, Any], setting: str) -> list[Any]:
    """Return the mistakes of a setting, and not those of other settings, which its table may lack."""
    try:
        model.model_validate(content)
    except ValidationError as error:
        return [mistake for mistake in error.errors() if setting in mistake["loc"]]
    return []


@loop_over("model", FILES)
def test_each_example_is_accepted_by_its_file(model: type[BaseModel]) -> None:
    for table in list_tables(model):
        for setting in table.settings:
            assert setting.schema.get("description", "").endswith("."), (table.header, setting.name)
            if describe_type(setting.schema) == "secret":
                continue
            assert setting.example is not None, (table.header, setting.name)
            line = f"{setting.name} = {format_toml(setting.example)}"
            assert find_mistakes(model, nest(table, tomllib.loads(line)), setting.name) == []


def test_wrong_example_would_be_a_mistake() -> None:
    assert find_mistakes(SourcesFile, {"sources": {"NAME": {"every": "soon"}}}, "every")
    assert find_mistakes(WorkspaceConfig, {"protect": [{"approvals": "2"}]}, "approvals")


@loop_over("model", FILES)
def test_each_table_of_a_file_has_a_meaning(model: type[BaseModel]) -> None:
    tables = list(list_tables(model))
    assert len({table.title for table in tables}) == len(tables)
    assert all(table.meaning.endswith(".") for table in tables if table.header)


def test_tables_of_docyard_toml_are_all_its_settings() -> None:
    names = {field.alias or name for name, field in WorkspaceConfig.model_fields.items()}
    tables = list(list_tables(WorkspaceConfig))
    top, *others = tables
    assert {setting.name for setting in top.settings} | {
        table.title.partition(".")[0] for table in others
    } == names


def test_page_names_every_variable() -> None:
    page = render_configuration_page()
    variables = {
        value
        for value in vars(environment).values()
        if isinstance(value, str) and value.startswith("DOCYARD_")
    }
    assert find_option_variables().keys() < variables
    assert [name for name in sorted(variables) if f"| `{name}` |" not in page] == []
    assert all(f"`{'.'.join(field.location)}`" in page for field in list_fields())


@loop_over(
    ("value", "expected"),
    [
        ({}, "{}"),
        ({"a": "x|y", "b": ["é"]}, '{ a = "x|y", b = ["é"] }'),
        (True, "true"),
        (0.5, "0.5"),
    ],
    ids=["empty", "table", "boolean", "number"],
)
def test_value_is_written_as_toml_on_one_line(value: object, expected: str) -> None:
    text = format_toml(value)
    assert text == expected
    assert tomllib.loads(f"value = {text}") == {"value": value}


def test_schema_without_a_type_is_refused() -> None:
    with pytest.raises(ValueError, match="without a type"):
        describe_type({"title": "Anything"})
