"""Commands that add or repair a package; they depend on the files that the installer of docyard created."""

from __future__ import annotations

import json
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from docyard.cli.main import main
from docyard.doctor.finding import Finding, Severity
from docyard.doctor.installation import (
    EXTRAS,
    Installer,
    find_installation,
    find_portable_requirement,
    list_requirements,
    parse_requirements,
)
from tests.loops import loop_over

ROOT = Path(__file__).resolve().parents[3]
WHEEL = "file:///tmp/docyard-0.1.0-py3-none-any.whl"
UV_CONFIGURATION = "home = /usr/bin\nimplementation = CPython\nuv = 0.9.0\n"


@pytest.fixture(autouse=True)
def clear_program_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    folder = tmp_path / "docyard"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n")
    return folder


def add_package(prefix: Path, name: str, origin: object = None) -> None:
    folder = prefix / "lib" / "python3.12" / "site-packages" / f"{name}-0.1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 0.1.0\n")
    if origin is not None:
        (folder / "direct_url.json").write_text(json.dumps(origin))


def build_extra_command(prefix: Path, extra: str = "math") -> str:
    installation = find_installation(prefix, prefix / "bin" / "python")
    return installation.build_extra_command(extra, ["latex2mathml>=3.77"])


def build_repair_command(prefix: Path) -> str:
    return find_installation(prefix, prefix / "bin" / "python").build_repair_command("click>=8.2")


def test_plain_environment_uses_its_own_pip(prefix: Path) -> None:
    assert build_extra_command(prefix) == f"{prefix}/bin/python -m pip install 'docyard[math]'"
    assert build_repair_command(prefix) == f"{prefix}/bin/python -m pip install 'click>=8.2'"


def test_command_for_active_environment_starts_with_python(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (prefix / "bin" / "python").write_text("#!/bin/sh\n")
    (prefix / "bin" / "python").chmod(0o755)
    monkeypatch.setenv("PATH", str(prefix / "bin"))
    assert build_extra_command(prefix) == "python -m pip install 'docyard[math]'"


def test_environment_without_pip_uses_other_pip(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docyard.doctor.installation.find_spec", lambda name: None)
    assert build_extra_command(prefix) == f"pip --python {prefix}/bin/python install 'docyard[math]'"
    (prefix / "pyvenv.cfg").write_text(UV_CONFIGURATION)
    assert build_extra_command(prefix) == f"uv pip install --python {prefix}/bin/python 'docyard[math]'"
    assert build_repair_command(prefix) == f"uv pip install --python {prefix}/bin/python 'click>=8.2'"


def test_externally_managed_python_uses_break_system_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    monkeypatch.setattr("docyard.doctor.installation.sysconfig.get_path", lambda name: str(tmp_path))
    assert "-m pip install --break-system-packages 'docyard[math]'" in build_extra_command(tmp_path)


def test_pipx_environment_uses_inject_with_its_name(prefix: Path) -> None:
    (prefix / "pyvenv.cfg").write_text(UV_CONFIGURATION)  # pipx creates its environments with uv if it can
    (prefix / "pipx_metadata.json").write_text("{}")
    assert build_extra_command(prefix) == "pipx inject docyard 'latex2mathml>=3.77'"
    assert build_repair_command(prefix) == "pipx runpip docyard install 'click>=8.2'"
    renamed_prefix = prefix.rename(prefix.with_name("docyard-next"))
    assert build_extra_command(renamed_prefix) == "pipx inject docyard-next 'latex2mathml>=3.77'"


@pytest.mark.parametrize(
    ("receipt", "origin", "expected"),
    [
        ('[{ name = "docyard" }]', None, "--with 'latex2mathml>=3.77' docyard"),
        (
            '[{ name = "docyard", extras = ["eval"], specifier = "==0.1.0" }]',
            None,
            "--with 'latex2mathml>=3.77' 'docyard[eval]==0.1.0'",
        ),
        (
            '[{ name = "docyard", path = "/tmp/x.whl" }, { name = "rs-bpe", specifier = ">=0.1" }]',
            {"url": WHEEL, "archive_info": {}},
            f"--with 'rs-bpe>=0.1' --with 'latex2mathml>=3.77' 'docyard @ {WHEEL}'",
        ),
        (
            '[{ name = "docyard", extras = ["eval", "tokens"], git = "https://example.org/d?rev=v1" }]\n'
            'python = "3.12"',
            {
                "url": "https://example.org/d",
                "vcs_info": {"vcs": "git", "requested_revision": "v1", "commit_id": "0" * 40},
            },
            "--python 3.12 --with 'latex2mathml>=3.77' 'docyard[eval,tokens] @ git+https://example.org/d@v1'",
        ),
        ("[", {"url": WHEEL}, f"--with 'latex2mathml>=3.77' 'docyard @ {WHEEL}'"),
    ],
)
def test_uv_tool_is_reinstalled_with_all_packages_of_receipt(
    prefix: Path, receipt: str, origin: object, expected: str
) -> None:
    (prefix / "pyvenv.cfg").write_text(UV_CONFIGURATION)
    (prefix / "uv-receipt.toml").write_text(f"[tool]\nrequirements = {receipt}\n")
    add_package(prefix, "docyard", origin)
    assert build_extra_command(prefix) == f"uv tool install {expected}"


@loop_over("folder", ["archive-v0", "environments-v2"])
def test_uvx_environment_uses_uvx_with_package(tmp_path: Path, folder: str) -> None:
    prefix = tmp_path / folder / "4u1fip40Z8F-AaWO"
    prefix.mkdir(parents=True)
    (prefix / "pyvenv.cfg").write_text(UV_CONFIGURATION)
    assert build_extra_command(prefix) == "uvx --with 'latex2mathml>=3.77' docyard"
    add_package(prefix, "docyard", {"url": WHEEL})
    assert (
        build_extra_command(prefix) == f"uvx --from 'docyard @ {WHEEL}' --with 'latex2mathml>=3.77' docyard"
    )


GIT_URL = "https://example.org/docyard.git"


@loop_over(
    ("origin", "requirement"),
    [
        (None, "docyard==0.1.0"),
        ({"url": "file:///home/ann/docyard", "dir_info": {"editable": True}}, None),
        ({"url": "https://example.org/docyard-0.1.0-py3-none-any.whl", "archive_info": {}}, None),
        (
            {"url": GIT_URL, "vcs_info": {"vcs": "git", "requested_revision": "main", "commit_id": "ab12"}},
            f"docyard @ git+{GIT_URL}@ab12",
        ),
        ({"url": "ssh://git@example.org/docyard.git", "vcs_info": {"vcs": "git", "commit_id": "ab12"}}, None),
        ({"url": "https://ann@example.org/d.git", "vcs_info": {"vcs": "git", "commit_id": "ab12"}}, None),
        ({"url": GIT_URL, "vcs_info": {"vcs": "git"}}, None),
        ([], None),
    ],
)
def test_portable_requirement_is_a_version_of_an_index_or_a_commit(
    tmp_path: Path, origin: object, requirement: str | None
) -> None:
    add_package(tmp_path, "docyard", origin)
    package = tmp_path / "lib" / "python3.12" / "site-packages" / "docyard"
    package.mkdir()
    (package / "__init__.py").touch()
    assert find_portable_requirement("0.1.0", tmp_path) == requirement
    assert find_portable_requirement("0.2.0", tmp_path) is None


@loop_over("version", ["0.1.0.dev3", "0.1.0+local"])
def test_development_version_has_no_portable_requirement(tmp_path: Path, version: str) -> None:
    site_packages = tmp_path / "lib" / "python3.12" / "site-packages"
    folder = site_packages / f"docyard-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.4\nName: docyard\nVersion: {version}\n")
    (site_packages / "docyard").mkdir()
    (site_packages / "docyard" / "__init__.py").touch()
    assert find_portable_requirement(version, tmp_path) is None


def test_missing_installation_has_no_portable_requirement(tmp_path: Path) -> None:
    assert find_portable_requirement("0.1.0", tmp_path) is None


def test_extras_equal_those_in_pyproject() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(EXTRAS) == set(project["optional-dependencies"])
    lines = [
        *project["dependencies"],
        *(
            f"{line}; extra == '{extra}'"
            for extra, requirements in project["optional-dependencies"].items()
            for line in requirements
        ),
    ]
    assert len(parse_requirements(lines)) == len(lines)
    assert len(list_requirements()) == len(metadata.requires("docyard") or ()) > 0


def test_environment_of_the_tests_was_created_by_pip_or_uv() -> None:
    assert find_installation().installer in (Installer.PIP, Installer.UV_PIP)


def test_doctor_prints_problems_first_and_extras_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = [
        Finding(Severity.NOTE, "environment", "x is not installed", "pip install x", extra="math"),
        Finding(Severity.NOTE, "environment", "y is not installed", "pip install y", extra="eval"),
        Finding(Severity.NOTE, "repository", "a note"),
        Finding(Severity.WARNING, "repository", "a problem", "a fix"),
    ]
    monkeypatch.setattr("docyard.commands.doctor.list_findings", lambda *_: findings)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "warning (repository): a problem",
        "  fix: a fix",
        "note (repository): a note",
        "Optional extras not installed: math, eval; --json has their commands.",
        "Problems found: 1.",
    ]
    main(["doctor", "--json"])
    assert "pip install x" in capsys.readouterr().out
