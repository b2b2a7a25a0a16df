"""The checks of the platform, and that `tools`, `index` and others are Docyard's own packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docyard import __version__
from docyard.startup import OWN_PACKAGES, UnsupportedPlatform, check_own_packages, check_platform
from tests.loops import loop_over

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.smoke


def add_foreign_package(folder: Path, name: str) -> Path:
    """Create a package of another project, which ends the process when it is imported."""
    package = folder / name
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('the foreign package was imported')\n")
    return package


def run_python(*arguments: str, cwd: Path, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    if path is not None:
        environment["PYTHONPATH"] = path
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=60
    )


def test_platform_with_file_locks_is_accepted() -> None:
    check_platform()


def test_platform_without_file_locks_raises_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)  # Python finds no such module, as on Windows
    with pytest.raises(UnsupportedPlatform, match="fcntl"):
        check_platform()


@pytest.mark.process
@loop_over("command", ["--version", "serve", "init"])
def test_each_command_on_a_platform_without_file_locks_is_refused_with_a_fix(command: str) -> None:
    code = (
        f"import sys; sys.modules['fcntl'] = None; sys.argv = ['docyard', {command!r}]; "
        "from docyard.__main__ import main; sys.exit(main())"
    )
    process = run_python("-c", code, cwd=ROOT)
    assert (process.returncode, process.stdout) == (3, "")
    assert process.stderr.startswith("error: Docyard does not run on ")
    assert "  fix: Use Docyard on Linux. On Windows, run `wsl --install`" in process.stderr
    assert "Traceback" not in process.stderr


def test_own_packages_are_accepted() -> None:
    check_own_packages()


@pytest.mark.process
@loop_over("name", OWN_PACKAGES)
def test_foreign_package_returns_error_with_both_paths_and_fix(name: str, tmp_path: Path) -> None:
    package = add_foreign_package(tmp_path, name)
    code = "import docyard.__main__ as start; start.main()"
    process = run_python("-P", "-c", code, cwd=ROOT, path=os.pathsep.join((str(tmp_path), str(ROOT))))
    assert "ImportError" in process.stderr
    assert str(package) in process.stderr
    assert str(ROOT / name) in process.stderr
    assert "pipx" in process.stderr
    assert "the foreign package" not in process.stderr


def test_missing_package_raises_import_error(tmp_path: Path) -> None:
    with pytest.raises(ImportError, match="no such package"):
        check_own_packages(str(tmp_path), ["no_such_package_here"])


def test_foreign_module_raises_import_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lonely_module.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"lonely_module\.py"):
        check_own_packages(str(tmp_path), ["lonely_module"])


@pytest.mark.process
def test_current_directory_is_not_searched_for_packages(tmp_path: Path) -> None:
    """Run `python -m docyard` in a folder with a foreign package of each name."""
    for name in (*OWN_PACKAGES, "click"):
        add_foreign_package(tmp_path, name)
    process = run_python("-m", "docyard", "--version", cwd=tmp_path, path=str(ROOT))
    assert process.returncode == 0, process.stderr
    assert __version__ in process.stdout


@pytest.mark.process
def test_source_checkout_runs_from_its_root() -> None:
    process = run_python("-m", "docyard", "--version", cwd=ROOT)
    assert process.returncode == 0, process.stderr
