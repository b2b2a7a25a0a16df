"""The documentation matches the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from docyard.cli.main import COMMANDS
from docyard.cli.reference import find_stale_pages
from templates import builtin_types, parse_type
from tests.loops import loop_over
from tools.toolsets import SOURCES_TOOLSET, all_tools, load_toolset
from workspace.config.config import WorkspaceConfig
from workspace.config.taxonomy import Taxonomy, read_manifest
from workspace.frontmatter.reader import parse_front_matter

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("benchmarks/*.md"), *(ROOT / "docs").rglob("*.md")])

pytestmark = pytest.mark.docs


def find_code_blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@loop_over("page", PAGES, ids=lambda page: page.name)
def test_links_between_files_resolve(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    missing = [
        target for target in targets if target and ":" not in target and not (page.parent / target).exists()
    ]
    assert missing == []


def test_readme_has_both_commands_of_a_checkout() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^## From a checkout\n\n```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert re.findall(r"^make (\w+)", block, re.MULTILINE) == ["demo", "test"]


def test_pages_install_without_pipx_by_the_same_commands() -> None:
    [start_block] = re.findall(
        r"^### Without pipx\n.*?^```sh\n(.*?)^```$",
        (ROOT / "docs" / "start.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    assert start_block in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(start.md#without-pipx)" in (ROOT / "docs" / "first-proposal.md").read_text(encoding="utf-8")


def test_readme_links_to_every_page_of_docs() -> None:
    linked_pages = set(
        re.findall(r"\]\(docs/([a-z-]+\.md)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    )
    assert linked_pages == {path.name for path in (ROOT / "docs").glob("*.md")}


def test_site_and_its_index_have_every_page_of_docs() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert sorted(re.findall(r"[a-z-]+\.md", navigation)) == sorted(pages)
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(([a-z-]+\.md)", index)) == pages - {"index.md"}


@loop_over("page", ["README.md", "CONTRIBUTING.md", "docs/start.md"])
def test_make_recipes_and_commands_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    recipes = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)) <= recipes
    assert set(re.findall(r"(?:^|`)docyard ([a-z]+)", text, re.MULTILINE)) <= set(COMMANDS)


@loop_over(("page", "row_count"), [("reliability.md", 30), ("compatibility.md", 15)])
def test_each_row_of_guarantees_names_an_existing_test(page: str, row_count: int) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named_tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    rows = re.findall(r"^\| (?!fault|what|---)[^|]+ \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    assert len(rows) >= row_count
    assert all("tests/" in row for row in rows)
    missing = [
        f"{file}::{name}"
        for file, name in named_tests
        if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert missing == []


def test_example_of_a_manifest_is_valid() -> None:
    settings, manifest = find_code_blocks("docs/taxonomy.md", "toml")
    config = WorkspaceConfig.read(settings.encode())
    [front_matter] = find_code_blocks("docs/taxonomy.md", "markdown")
    values = parse_front_matter(front_matter.strip("-\n"))
    taxonomy = Taxonomy(
        config.taxonomy_keys,
        {"docs": read_manifest(manifest.encode(), ".taxonomy.toml", tuple(config.taxonomy_keys))}.get,
    )
    assert taxonomy.values("docs/a.md", values) == {
        "language": ("go",),
        "scope": ("global-guide", "sdk specific"),
        "tags": ("network", "sdk"),
        "type": ("runbook",),
    }
    text = (ROOT / "docs" / "taxonomy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(docs/[^`]+)` \| (.*) \|$", text, re.MULTILINE)
    assert len(rows) == 3
    for path, cells in rows:
        columns = dict(zip(("scope", "tags", "language"), cells.split("|"), strict=True))
        stated_values = {key: tuple(re.findall("`([^`]+)`", cell)) for key, cell in columns.items()}
        assert taxonomy.values(path, {}) == {key: values for key, values in stated_values.items() if values}


PACKAGES = ["workspace", "index", "tools", "docyard"]


def read_rows(package: str) -> list[tuple[str, int]]:
    """Return the folder or module, and the layer, of each row in a package's table."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    [table] = re.findall(rf"^## `{package}/`[^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (\d+) \| `([\w/.]+)` \| \S[^|]* \|$", table, re.MULTILINE)
    return [(f"{package}/{name}".rstrip("/"), int(layer)) for layer, name in rows]


@loop_over("package", PACKAGES)
def test_architecture_has_one_row_for_each_folder_and_module(package: str) -> None:
    top = ROOT / package
    modules = {path.relative_to(ROOT).as_posix() for path in top.glob("*.py") if path.name != "__init__.py"}
    folders = {path.parent.relative_to(ROOT).as_posix() for path in top.rglob("*/__init__.py")}
    assert sorted(name for name, _ in read_rows(package)) == sorted((modules | folders) - {package})


@loop_over("package", PACKAGES)
def test_layers_of_the_architecture_match_the_contracts(package: str) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract.get("containers") == [package]]
    layer_numbers = {
        name.strip(): len(layers) - position for position, row in enumerate(layers) for name in row.split("|")
    }
    for name, layer in read_rows(package):
        assert layer == layer_numbers[name.split("/")[1].removesuffix(".py")], name


def test_modules_and_functions_named_in_the_architecture_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    missing = []
    for file, name in re.findall(r"`([a-z_]+/[\w/]+\.py)(?:: (\w+))?`", text):
        source = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else ""
        if not re.search(rf"\b(?:def|class) {name}\b" if name else ".", source):
            missing.append(f"{file}: {name}")
    assert missing == []


def test_built_in_types_are_listed_with_their_sections() -> None:
    text = (ROOT / "docs" / "templates.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    expected = {
        document_type.name: ", ".join(section.title for section in document_type.sections)
        for document_type in builtin_types().values()
    }
    assert {name: "" if row.startswith("none") else row for name, row in rows if name in expected} == expected


def test_example_of_a_type_is_valid() -> None:
    toml, markdown = (
        find_code_blocks("docs/templates.md", "toml")[0],
        find_code_blocks("docs/templates.md", "markdown")[0],
    )
    document_type = parse_type("incident_review", toml.encode(), markdown.encode())
    assert [section.title for section in document_type.sections if section.guidance] == [
        "Timeline",
        "What changes",
    ]


def test_generated_pages_are_current() -> None:
    assert find_stale_pages() == [], "run `make docs`"


def test_every_tool_and_command_is_documented() -> None:
    tools = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    commands = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    documented_tools = (*all_tools(), *load_toolset(SOURCES_TOOLSET))
    assert re.findall(r"^### (\w+)$", tools, re.MULTILINE) == [tool.name for tool in documented_tools]
    assert set(re.findall(r"^## docyard (\w+)$", commands, re.MULTILINE)) == set(COMMANDS)
