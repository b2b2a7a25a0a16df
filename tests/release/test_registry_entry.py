"""`server.json` states the name, the version and the command of the package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click import Group
from click.testing import CliRunner

from docyard import __version__
from docyard.cli.main import docyard
from release.registry_entry import (
    ENTRY_FILE,
    EntryError,
    build_entry,
    check_entry,
    format_entry,
    read_project,
)
from tests.loops import loop_over

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.docs


def test_server_json_is_generated_from_the_metadata() -> None:
    assert ENTRY_FILE.read_text(encoding="utf-8") == format_entry(), "run `make docs`"


def test_versions_and_identifier_are_those_of_the_package() -> None:
    entry = build_entry()
    packages = entry["packages"]
    assert isinstance(packages, list)
    assert [entry["version"], packages[0]["version"]] == [__version__] * 2
    assert packages[0]["identifier"] == read_project()["project"]["name"]


def test_readme_has_the_name_of_the_entry() -> None:
    """The registry finds this line in the description of the package on PyPI."""
    assert read_project()["project"]["readme"] == "README.md"
    names = re.findall(r"mcp-name: (\S+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert names == [build_entry()["name"]]


def test_entry_has_the_form_of_the_registry() -> None:
    check_entry(build_entry())


INVALID_VALUES = {
    "name": "docyard",
    "description": "x" * 101,
    "version": "^1.0.0",
    "packages": [{"registryType": "pypi", "identifier": "docyard", "version": "latest"}],
    "website": "https://example.org",
}


@loop_over(("field", "value"), INVALID_VALUES.items())
def test_invalid_value_is_refused_with_its_path(field: str, value: object) -> None:
    with pytest.raises(EntryError, match=r"\$\.packages|" + field):
        check_entry({**build_entry(), field: value})


@loop_over("field", ["$schema", "name", "title", "description", "version", "packages"])
def test_missing_field_is_refused(field: str) -> None:
    entry = {name: value for name, value in build_entry().items() if name != field}
    with pytest.raises(EntryError, match="is a required property"):
        check_entry(entry)


def test_arguments_are_those_of_the_command() -> None:
    packages = build_entry()["packages"]
    assert isinstance(packages, list)
    command, folder = packages[0]["packageArguments"]
    assert isinstance(docyard, Group)
    result = CliRunner().invoke(docyard, [command["value"], "--help"])
    assert result.exit_code == 0
    assert re.search(rf"{folder['name']}\b(?!-)", result.output)
