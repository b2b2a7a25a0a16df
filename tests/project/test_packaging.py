"""The wheel in a separate environment: its contents, its requirements, and its start."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
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

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("docyard", "tools", "index", "workspace", "templates")

# Distributions, each with the distribution that requires an exact version of it.
REQUIRED_BY = {"markupsafe": "jinja2", "mcp-types": "mcp", "pydantic-core": "pydantic"}

PRINT_SITE_PACKAGES = "import sysconfig; print(sysconfig.get_path('purelib'))"


def run_process(*command: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=300
    )


def run_command(*command: object, cwd: Path) -> str:
    process = run_process(*command, cwd=cwd)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def read_lock_file() -> dict[str, list[str]]:
    """Return the requirements of the lock file, each with its hashes."""
    text = (ROOT / "requirements.lock").read_text().replace("\\\n", "")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    parts = (line.partition("--hash=") for line in lines)
    return {name.strip(): re.findall(r"sha256:[0-9a-f]{64}", hashes) for name, _, hashes in parts}


def write_locked_versions(folder: Path) -> Path:
    """Write the versions of the lock file into a folder, without hashes.

    With hashes in its constraints, pip would also require a hash of the new wheel.
    """
    versions = folder / "versions.txt"
    versions.write_text("\n".join(read_lock_file()))
    return versions


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wheel_folder = tmp_path_factory.mktemp("wheel")
    run_command(
        sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", wheel_folder, cwd=ROOT
    )
    return next(wheel_folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of a new environment with only Docyard and its dependencies."""
    home = tmp_path_factory.mktemp("environment")
    # With pip and compiled files, this would take three times as long.
    run_command(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check")
    install = (*pip, "install", "--no-compile")
    process = run_process(
        *install, "-c", write_locked_versions(home), "--only-binary", ":all:", wheel, cwd=home
    )
    if process.returncode and "after connection broken" in process.stderr:
        # Without a package index, the packages of the test environment are used.
        run_command(*install, "--no-index", "--no-deps", wheel, cwd=home)
        site_packages = sysconfig.get_path("purelib")
        Path(
            run_command(python, "-c", PRINT_SITE_PACKAGES, cwd=home).strip(), "site_packages.pth"
        ).write_text(f"{site_packages}\n")
    else:
        assert process.returncode == 0, process.stderr
    return python


def test_each_locked_package_has_hashes_and_no_host() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    packages = read_lock_file()
    assert len(packages) > 50
    assert [name for name, hashes in packages.items() if not hashes] == []
    names = {canonicalize_name(Requirement(line).name) for line in packages}
    # The editable install runs without isolation, so its build dependencies must be installed.
    assert {"hatchling", "pathspec", "pluggy", "packaging", "trove-classifiers"} <= names


def test_environment_is_installed_with_hashes() -> None:
    lines = (ROOT / "Makefile").read_text().splitlines()
    [install] = [line for line in lines if "pip install" in line and "requirements.lock" in line]
    assert "--require-hashes" in install


@pytest.mark.process
def test_wheel_has_five_typed_packages_and_their_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.partition("/")[0] for name in names} == {
        *PACKAGES,
        f"docyard-{__version__}.dist-info",
        f"docyard-{__version__}.data",
    }
    assert f"docyard-{__version__}.data/data/share/man/man1/docyard-search.1" in names
    assert {f"{package}/py.typed" for package in PACKAGES} <= names
    data = {
        path.relative_to(ROOT).as_posix()
        for pattern in ("*/type.toml", "*/document.md")
        for path in (ROOT / "templates").glob(pattern)
    }
    assert data
    assert data <= names


@pytest.fixture(scope="module")
def python_without_extras(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with the wheel and its requirements, but no extras.

    The libraries are links to the libraries of the test environment, so no package index is needed.
    """
    home = tmp_path_factory.mktemp("without-extras")
    run_command(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    python = home / "bin" / "python"
    site = Path(run_command(python, "-c", PRINT_SITE_PACKAGES, cwd=home).strip())
    pip = (sys.executable, "-m", "pip", "--python", python, "--quiet", "--disable-pip-version-check")
    run_command(*pip, "install", "--no-compile", "--no-index", "--no-deps", wheel, cwd=home)
    for distribution in find_requirements("docyard"):
        for name in {Path(str(file)).parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(Path(str(distribution.locate_file(name))))
    return python


def find_requirements(name: str) -> list[metadata.Distribution]:
    """Return the transitive requirements of a distribution without its extras."""
    distributions: dict[str, metadata.Distribution] = {}
    pending_requirements = [(name, frozenset[str]())]
    visited_requirements = set()
    while pending_requirements:
        name_and_extras = pending_requirements.pop()
        if name_and_extras in visited_requirements:
            continue
        visited_requirements.add(name_and_extras)
        distribution = metadata.distribution(name_and_extras[0])
        if name_and_extras[0] != name:
            distributions[name_and_extras[0]] = distribution
        for line in distribution.requires or ():
            requirement = Requirement(line)
            environments = [{"extra": extra} for extra in (name_and_extras[1] or {""})]
            if requirement.marker is None or any(map(requirement.marker.evaluate, environments)):
                pending_requirements.append(
                    (canonicalize_name(requirement.name), frozenset(requirement.extras))
                )
    return list(distributions.values())


@pytest.fixture
def new_repository(tmp_path: Path) -> Path:
    """Return the repository of a new user, with one document and one commit."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "guide.md").write_text("# Guide\n\nFirst words.\n")
    for command in (
        "init -q -b main",
        "config user.name Ann",
        "config user.email ann@example.org",
        "add .",
        "commit -qm First",
    ):
        run_command("git", *command.split(), cwd=folder)
    return folder


def check_health(program: Path | str, repository: Path, *prefix: str) -> dict[str, str]:
    """Run `doctor`, which must report no problem; return the fix of each note about a missing library."""
    process = run_process(*prefix, program, "doctor", cwd=repository)
    assert (process.returncode, process.stdout.splitlines()[-1:]) == (0, ["Nothing is wrong."]), process
    report = json.loads(run_command(*prefix, program, "doctor", "--json", cwd=repository))
    assert report["healthy"] is True
    assert {finding["severity"] for finding in report["findings"]} <= {"note"}
    return {
        finding["message"].partition(" ")[0]: finding["fix"]
        for finding in report["findings"]
        if "is not installed; " in finding["message"]
    }


@pytest.mark.process
def test_doctor_finds_no_problem_with_an_installed_wheel(
    python_without_extras: Path, new_repository: Path
) -> None:
    fixes = check_health(python_without_extras.with_name("docyard"), new_repository)
    assert fixes.keys() == {
        "alembic",
        "latex2mathml",
        "matplotlib",
        "numkong",
        "onnxruntime",
        "psycopg",
        "pyarrow",
        "rs-bpe",
    }
    assert fixes["latex2mathml"] == f"pip --python {python_without_extras} install 'docyard[math]'"


def run_installer(*command: object, cwd: Path) -> None:
    """Run an installer; skip the test if no package index is reachable."""
    process = run_process(*command, cwd=cwd)
    if process.returncode and re.search(
        r"after connection broken|error sending request|dns error", process.stderr
    ):
        pytest.skip("no package index is reachable")
    assert process.returncode == 0, process.stderr


@pytest.mark.slow  # requests each library from a package index
@pytest.mark.parametrize("installer", ["pip", "pipx", "uv", "uvx"])
def test_suggested_command_installs_an_extra_next_to_docyard(
    wheel: Path, new_repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installer: str
) -> None:
    if installer != "pip" and shutil.which(installer) is None:
        pytest.skip(f"{installer} is not installed")
    for name in ("PIPX_HOME", "PIPX_BIN_DIR", "UV_TOOL_DIR", "UV_TOOL_BIN_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    program = (
        tmp_path / {"pipx": "PIPX_BIN_DIR", "uv": "UV_TOOL_BIN_DIR"}.get(installer, "venv/bin") / "docyard"
    )
    prefix = ["uvx", "--quiet", "--from", str(wheel)] if installer == "uvx" else []
    if installer == "pip":
        run_command(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
        pip = (tmp_path / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet")
        run_installer(
            *pip, "-c", write_locked_versions(tmp_path), "--only-binary", ":all:", wheel, cwd=tmp_path
        )
    elif installer == "uvx":
        run_installer(*prefix, "docyard", "--version", cwd=tmp_path)
    else:
        run_installer(*(["uv", "tool"] if installer == "uv" else ["pipx"]), "install", wheel, cwd=tmp_path)
    fix = check_health("docyard" if prefix else program, new_repository, *prefix)["latex2mathml"]
    if prefix:
        *prefix, name = shlex.split(fix)
        assert "latex2mathml" not in check_health(name, new_repository, *prefix)
    else:
        run_command("sh", "-c", fix, cwd=tmp_path)
        assert "latex2mathml" not in check_health(program, new_repository)


@pytest.mark.slow  # creates a new environment
def test_console_script_starts_with_foreign_packages_on_path(python: Path, tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").write_text("raise SystemExit('wrong package')\n")
    assert __version__ in run_command(python.with_name("docyard"), "--version", cwd=tmp_path)
    assert __version__ in run_command(python, "-m", "docyard", "--version", cwd=tmp_path)


@pytest.mark.slow
def test_no_package_name_collides_with_another_distribution(python: Path, tmp_path: Path) -> None:
    code = "import json; from importlib.metadata import packages_distributions as p; print(json.dumps(p()))"
    owners = json.loads(run_command(python, "-c", code, cwd=tmp_path))
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
        for name in find_outside_imports(path)
        if not {REQUIRED_BY.get(owner, owner) for owner in map(canonicalize_name, owners.get(name, ()))}
        & declared
    }
    assert undeclared == set()


OWN_OR_STANDARD = {*sys.stdlib_module_names, *PACKAGES}


def find_outside_imports(path: Path) -> set[str]:
    names = set[str]()
    # A module without an import of a library, like most modules, is not parsed.
    matches = re.findall(rb"^\s*(?:import|from) +(\w+)(.*)", path.read_bytes(), re.MULTILINE)
    if all(
        name.decode() in OWN_OR_STANDARD and b"," not in rest.partition(b" import ")[0]
        for name, rest in matches
    ):
        return names
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names - OWN_OR_STANDARD
