"""Packages are read late, and then wholly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docyard.packages import read_late

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = "a_package_to_read_late"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("from . import other\nVALUE = 'read'\n")
    (tmp_path / name / "part.py").write_text("PART = 'part'\n")
    (tmp_path / name / "other.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for module in (name, f"{name}.part", f"{name}.other"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return name


def test_a_submodule_does_not_read_its_package(package: str) -> None:
    read_late(package)
    part = __import__(f"{package}.part", fromlist=["PART"])
    assert part.PART == "part"
    assert f"{package}.other" not in sys.modules


def test_what_is_asked_for_is_there(package: str) -> None:
    read_late(package)
    assert __import__(package, fromlist=["VALUE"]).VALUE == "read"
    assert f"{package}.other" in sys.modules
    with pytest.raises(AttributeError):
        _ = sys.modules[package].nothing


def test_what_is_imported_or_missing_is_left_alone() -> None:
    before = sys.modules["pytest"]
    read_late("pytest", "no_package_of_this_name")
    assert sys.modules["pytest"] is before
    assert "no_package_of_this_name" not in sys.modules


def test_a_server_starts_without_the_clients_of_the_sdk() -> None:
    code = """
import sys
import docyard.protocol.server
assert not {"mcp.client", "mcp.server.mcpserver"} & sys.modules.keys()
from mcp import ClientSession
from mcp.server import MCPServer
assert "mcp.client" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_write_asks_for_a_branch_without_all_that_proposals_are() -> None:
    code = """
import sys
from workspace.writing import is_for_proposal, trailers_of
assert not is_for_proposal("main") and trailers_of("main", None) == {}
assert not {"workspace.proposals.proposal", "workspace.history"} & sys.modules.keys()
from workspace.proposals import Proposals, State
assert "workspace.proposals.proposal" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
