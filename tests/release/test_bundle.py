"""The MCP bundle: its manifest and its files. `make dist` starts it with uv."""

from __future__ import annotations

import json
import tomllib
import zipfile
from pathlib import Path

import pytest

from docyard import __version__
from release.bundle import BundleError, build_manifest, find_packing_command, pack_bundle, write_bundle_files
from release.registry_entry import build_entry

ROOT = Path(__file__).resolve().parents[2]
NODE_ENVIRONMENT = ROOT / ".venv-node"
COMMIT_TIME = 1_700_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the files of a bundle whose wheel is not a real one."""
    wheel = tmp_path / f"docyard-{__version__}-py3-none-any.whl"
    wheel.write_bytes(b"wheel")
    write_bundle_files(wheel, ROOT / "requirements.lock", tmp_path / "bundle")
    return tmp_path / "bundle"


def test_manifest_has_the_name_and_version_of_the_registry_entry() -> None:
    manifest, entry = build_manifest(), build_entry()
    assert (manifest["version"], manifest["description"]) == (entry["version"], entry["description"])
    assert manifest["name"] == "docyard"


def test_manifest_lists_the_default_tools() -> None:
    tools = build_manifest()["tools"]
    assert isinstance(tools, list)
    assert {"edit_document", "get_doc", "search_documents"} <= {tool["name"] for tool in tools}


def test_project_of_the_bundle_requires_its_wheel_and_the_locked_versions(folder: Path) -> None:
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dependencies"] == ["docyard"]
    assert (folder / project["tool"]["uv"]["sources"]["docyard"]["path"]).read_bytes() == b"wheel"
    assert any(line.startswith("mcp==") for line in project["tool"]["uv"]["constraint-dependencies"])
    assert json.loads((folder / "manifest.json").read_text(encoding="utf-8")) == build_manifest()


def test_missing_tool_returns_error_with_the_command_that_installs_it(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="make dist"):
        find_packing_command(tmp_path)


@pytest.fixture(scope="module")
def packing_command() -> list[str]:
    try:
        return find_packing_command(NODE_ENVIRONMENT)
    except BundleError as error:
        pytest.skip(str(error))


@pytest.mark.process
def test_two_packings_have_equal_bytes(packing_command: list[str], folder: Path, tmp_path: Path) -> None:
    first, second = (
        pack_bundle(packing_command, folder, tmp_path / name, COMMIT_TIME) for name in ("1.mcpb", "2.mcpb")
    )
    assert first.read_bytes() == second.read_bytes()
    assert sorted(zipfile.ZipFile(first).namelist()) == sorted(file.name for file in folder.iterdir())


@pytest.mark.process
def test_invalid_manifest_is_refused(packing_command: list[str], folder: Path, tmp_path: Path) -> None:
    manifest = build_manifest() | {"server": {"type": "binary"}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BundleError, match="entry_point"):
        pack_bundle(packing_command, folder, tmp_path / "one.mcpb", COMMIT_TIME)
