"""What the documentation says of the code is true of it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from docyard.cli.main import COMMANDS
from docyard.cli.reference import find_stale_pages
from templates import builtin_types, parse_type
from tests.loops import loop_over
from tools.toolsets import all_tools
from workspace.config.config import WorkspaceConfig
from workspace.config.taxonomy import Taxonomy, read_manifest
from workspace.frontmatter.reader import read

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

pytestmark = pytest.mark.docs


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@loop_over("page", PAGES, ids=lambda page: page.name)
def test_links_between_files_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    missing = [
        target for target in targets if target and ":" not in target and not (page.parent / target).exists()
    ]
    assert missing == []


def test_the_readme_begins_with_the_two_commands() -> None:
    assert re.findall(r"^make (\w+)", blocks("README.md", "console")[0], re.MULTILINE) == ["demo", "test"]


@loop_over("page", ["README.md", "CONTRIBUTING.md"])
def test_make_recipes_and_commands_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    recipes = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)) <= recipes
    assert set(re.findall(r"(?:^|`)docyard ([a-z]+)", text, re.MULTILINE)) <= set(COMMANDS)


def test_each_promise_of_reliability_names_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    rows = re.findall(r"^\| (?!fault|---)[^|]+ \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    assert len(rows) > 30
    assert all("tests/" in row for row in rows)
    missing = [
        f"{file}::{name}"
        for file, name in named
        if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert missing == []


def test_the_settings_in_the_readme_are_the_defaults() -> None:
    [text] = [block for block in blocks("README.md", "toml") if block.startswith("root = ")]
    settings = tomllib.loads(text)
    shown = WorkspaceConfig.model_validate(settings)
    assert shown == WorkspaceConfig()
    fields = WorkspaceConfig.model_fields.items()
    assert "\n# [forge] " in text  # which is off unless it stands there
    assert settings.keys() | {"forge"} == {setting.alias or name for name, setting in fields}


def test_the_example_of_a_manifest_is_one() -> None:
    settings, manifest = blocks("docs/taxonomy.md", "toml")
    config = WorkspaceConfig.read(settings.encode())
    [front_matter] = blocks("docs/taxonomy.md", "markdown")
    own = read(front_matter.strip("-\n"))
    taxonomy = Taxonomy(
        config.taxonomy_keys,
        {"docs": read_manifest(manifest.encode(), ".taxonomy.toml", tuple(config.taxonomy_keys))}.get,
    )
    assert taxonomy.values("docs/a.md", own) == {
        "language": ("go",),
        "scope": ("global-guide", "sdk specific"),
        "tags": ("network", "sdk"),
        "type": ("runbook",),
    }
    text = (ROOT / "docs" / "taxonomy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(docs/[^`]+)` \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) == 3
    for path, cells in rows:
        said = dict(zip(("scope", "tags", "language"), cells.split("|"), strict=True))
        stated = {key: tuple(re.findall("`([^`]+)`", cell)) for key, cell in said.items()}
        assert taxonomy.values(path, {}) == {key: values for key, values in stated.items() if values}


@loop_over("package", ["workspace", "index", "tools", "docyard"])
def test_every_module_has_its_place_in_the_architecture(package: str) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    [room] = re.findall(rf"^## [^\n]*\(`{package}/`\)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", room))
    modules = {path.name for path in (ROOT / package).glob("[!_]*.py")}
    folders = {f"{path.parent.name}/" for path in (ROOT / package).glob("*/__init__.py")}
    assert modules | folders <= named
    there = {path.name for path in (ROOT / package).rglob("*.py")}
    assert {name for name in named if name.endswith(".py") and "/" not in name} <= there


def test_the_built_in_types_are_listed_with_their_sections() -> None:
    text = (ROOT / "docs" / "templates.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    expected = {
        kind.name: ", ".join(section.title for section in kind.sections) for kind in builtin_types().values()
    }
    assert {
        name: "" if row.startswith("none") else row for name, row in listed if name in expected
    } == expected


def test_the_example_of_a_type_is_one() -> None:
    toml, markdown = blocks("docs/templates.md", "toml")[0], blocks("docs/templates.md", "markdown")[0]
    kind = parse_type("incident_review", toml.encode(), markdown.encode())
    assert [section.title for section in kind.sections if section.guidance] == ["Timeline", "What changes"]


def test_the_generated_pages_are_not_stale() -> None:
    assert find_stale_pages() == [], "run `make docs`"


def test_every_tool_and_command_is_documented() -> None:
    tools = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    commands = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert re.findall(r"^### (\w+)$", tools, re.MULTILINE) == [tool.name for tool in all_tools()]
    assert set(re.findall(r"^## docyard (\w+)$", commands, re.MULTILINE)) == set(COMMANDS)
