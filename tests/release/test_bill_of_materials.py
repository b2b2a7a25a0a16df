"""The bill of materials has the locked libraries of Docyard, and none of development."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard import __version__
from release.bill_of_materials import BillError, find_runtime_names, select_lines, write_bill

ROOT = Path(__file__).resolve().parents[2]
LOCK = """\
# generated
anyio==4.16.0 \\
    --hash=sha256:59bb \\
    --hash=sha256:c66a
ruff==0.14.0 \\
    --hash=sha256:0869
"""


def test_entry_of_a_lock_file_has_its_hashes() -> None:
    assert select_lines(LOCK, {"anyio"}) == [
        "anyio==4.16.0 \\\n    --hash=sha256:59bb \\\n    --hash=sha256:c66a\n"
    ]


def test_library_without_an_entry_returns_error_with_the_command() -> None:
    with pytest.raises(BillError, match="mcp; run `make lock`"):
        select_lines(LOCK, {"anyio", "mcp"})


def test_runtime_names_have_extras_and_nested_requirements_and_no_tool_of_development() -> None:
    names = find_runtime_names(ROOT)
    assert {"mcp", "pydantic-core", "sqlalchemy", "onnxruntime", "pycparser"} <= names
    assert not {"pytest", "mypy", "ruff", "hypothesis", "hatchling", "cyclonedx-bom"} & names


@pytest.mark.process
def test_two_bills_have_equal_bytes_and_the_locked_versions(tmp_path: Path) -> None:
    bills = [tmp_path / "1.json", tmp_path / "2.json"]
    for bill in bills:
        write_bill(ROOT, tmp_path / bill.stem, bill, 1_700_000_000)
    assert bills[0].read_bytes() == bills[1].read_bytes()
    contents = json.loads(bills[0].read_bytes())
    assert contents["bomFormat"] == "CycloneDX"
    root = contents["metadata"]["component"]
    assert (root["name"], root["version"]) == ("docyard", __version__)
    assert contents["metadata"]["timestamp"].startswith("2023-11-14T22:13:20")
    assert {component["name"] for component in contents["components"]} == find_runtime_names(ROOT)
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert all(
        f"\n{component['name']}=={component['version']} " in lock for component in contents["components"]
    )
