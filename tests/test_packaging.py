"""The wheel, in an environment of its own: what it holds, what it claims, and that it starts."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docyard import __version__

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("docyard", "tools", "index", "workspace", "templates")

# A distribution that another one brings in its own exact version.
COMES_WITH = {"markupsafe": "jinja2", "mcp-types": "mcp", "pydantic-core": "pydantic"}

SITE = "import sysconfig; print(sysconfig.get_path('purelib'))"


def start(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
    )


def run(*command: object, cwd: Path) -> str:
    done = start(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", out, cwd=ROOT)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment that holds Docyard and what it depends on, and nothing else."""
    home = tmp_path_factory.mktemp("environment")
    # With a pip of its own, and everything compiled, this takes three times as long.
    run(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check")
    install = (*pip, "install", "--no-compile")
    installed = start(*install, "-c", ROOT / "requirements.lock", "--only-binary", ":all:", wheel, cwd=home)
    if installed.returncode and "after connection broken" in installed.stderr:
        # No package index within reach: borrow what the tests themselves run on.
        run(*install, "--no-index", "--no-deps", wheel, cwd=home)
        borrowed = sysconfig.get_path("purelib")
        Path(run(python, "-c", SITE, cwd=home).strip(), "borrowed.pth").write_text(f"{borrowed}\n")
    else:
        assert installed.returncode == 0, installed.stderr
    return python


def test_the_wheel_holds_five_typed_packages_and_their_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.partition("/")[0] for name in names} == {*PACKAGES, f"docyard-{__version__}.dist-info"}
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    data = {
        path.relative_to(ROOT).as_posix()
        for pattern in ("*/type.toml", "*/document.md")
        for path in (ROOT / "templates").glob(pattern)
    }
    assert data
    assert data <= names


@pytest.mark.slow  # its environment is made anew
def test_it_starts_beside_a_users_own_tools(python: Path, tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").write_text("raise SystemExit('not ours')\n")
    assert __version__ in run(python.with_name("docyard"), "--version", cwd=tmp_path)
    assert __version__ in run(python, "-m", "docyard", "--version", cwd=tmp_path)


@pytest.mark.slow
def test_each_name_belongs_to_docyard_alone(python: Path, tmp_path: Path) -> None:
    code = "import json; from importlib.metadata import packages_distributions as p; print(json.dumps(p()))"
    owners = json.loads(run(python, "-c", code, cwd=tmp_path))
    assert {name: set(owners[name]) for name in PACKAGES} == {name: {"docyard"} for name in PACKAGES}


def test_each_import_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = (line for extra in project["optional-dependencies"].values() for line in extra)
    declared = {canonicalize_name(Requirement(line).name) for line in (*project["dependencies"], *extras)}
    owners = metadata.packages_distributions()
    undeclared = {
        f"{path.relative_to(ROOT)} imports {name}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name in outside_imports(path)
        if not {COMES_WITH.get(owner, owner) for owner in map(canonicalize_name, owners.get(name, ()))}
        & declared
    }
    assert undeclared == set()


OURS_ALONE = {*sys.stdlib_module_names, *PACKAGES}


def outside_imports(path: Path) -> set[str]:
    names = set[str]()
    # Most modules import nothing from outside: no line of theirs begins so, and they need not be parsed.
    begun = re.findall(rb"^\s*(?:import|from) +(\w+)(.*)", path.read_bytes(), re.MULTILINE)
    if all(
        name.decode() in OURS_ALONE and b"," not in rest.partition(b" import ")[0] for name, rest in begun
    ):
        return names
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names - OURS_ALONE
