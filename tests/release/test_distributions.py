"""The wheel and the source archive of a commit."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from release.distributions import (
    PACKAGES,
    DistributionError,
    build_and_compare,
    check_wheel,
    export_commit,
    find_changed_files,
)
from tests.repositories import create_repository

BUILD_FILES = {
    "pyproject.toml": """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "sample"
version = "1.2"
requires-python = ">=3.11"

[tool.hatch.build.targets.wheel]
packages = ["docyard", "tools", "index", "workspace", "templates"]

[tool.hatch.build.targets.sdist]
include = ["/docyard", "/tools", "/index", "/workspace", "/templates"]
""",
    **{f"{package}/__init__.py": "" for package in PACKAGES},
    "docyard/page.html": "<p>\n",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a folder with one file in each package."""
    folder = tmp_path / "source"
    for package in PACKAGES:
        (folder / package).mkdir(parents=True)
        (folder / package / "py.typed").touch()
    return folder


def write_wheel(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("docyard-1.0.dist-info/METADATA", *names):
            archive.writestr(name, "")
    return path


def test_wheel_with_all_files_of_the_packages_is_accepted(source: Path, tmp_path: Path) -> None:
    check_wheel(write_wheel(tmp_path / "w.whl", *(f"{package}/py.typed" for package in PACKAGES)), source)


def test_wheel_has_exactly_the_shared_data(source: Path, tmp_path: Path) -> None:
    (source / "share/man/man1").mkdir(parents=True)
    (source / "share/man/man1/docyard.1").touch()
    modules = [f"{package}/py.typed" for package in PACKAGES]
    page = "docyard-1.0.data/data/share/man/man1/docyard.1"
    check_wheel(write_wheel(tmp_path / "w.whl", *modules, page), source)
    with pytest.raises(DistributionError, match=r"missing \['share/man/man1/docyard\.1'\]"):
        check_wheel(write_wheel(tmp_path / "w.whl", *modules), source)


def test_wheel_with_a_test_is_refused(source: Path, tmp_path: Path) -> None:
    names = (*(f"{package}/py.typed" for package in PACKAGES), "tests/test_one.py")
    with pytest.raises(DistributionError, match=r"tests/test_one\.py"):
        check_wheel(write_wheel(tmp_path / "w.whl", *names), source)


def test_wheel_without_a_data_file_is_refused(source: Path, tmp_path: Path) -> None:
    with pytest.raises(DistributionError, match=r"missing \['templates/py\.typed'\]"):
        check_wheel(
            write_wheel(tmp_path / "w.whl", *(f"{package}/py.typed" for package in PACKAGES[:-1])), source
        )


def test_export_has_the_commit_and_no_uncommitted_file(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repository", {"docyard/one.py": "one = 1\n"})
    (repo.path / "docyard" / "one.py").write_text("one = 2\n")
    (repo.path / "docyard" / "two.py").touch()
    assert export_commit(repo.path, tmp_path / "export") > 0
    assert {file.name: file.read_text() for file in (tmp_path / "export" / "docyard").iterdir()} == {
        "one.py": "one = 1\n"
    }
    assert find_changed_files(repo.path) == ["docyard/one.py", "docyard/two.py"]


@pytest.mark.process
def test_two_builds_have_equal_bytes(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repository", BUILD_FILES)
    time = export_commit(repo.path, tmp_path / "source")
    files = build_and_compare(tmp_path / "source", tmp_path / "built", time)
    assert [file.name for file in files] == ["sample-1.2-py3-none-any.whl", "sample-1.2.tar.gz"]
    assert "docyard/page.html" in zipfile.ZipFile(files.wheel).namelist()


@pytest.mark.process
def test_failed_build_returns_the_error_of_the_builder(tmp_path: Path) -> None:
    repo = create_repository(tmp_path / "repository", {"pyproject.toml": "[project]\nname = 'sample'\n"})
    time = export_commit(repo.path, tmp_path / "source")
    with pytest.raises(DistributionError, match="version"):
        build_and_compare(tmp_path / "source", tmp_path / "built", time)


@pytest.mark.process
def test_file_that_the_source_archive_omits_makes_the_second_build_differ(tmp_path: Path) -> None:
    omission = 'exclude = ["/docyard/page.html"]\n'
    repo = create_repository(
        tmp_path / "repository", {**BUILD_FILES, "pyproject.toml": BUILD_FILES["pyproject.toml"] + omission}
    )
    time = export_commit(repo.path, tmp_path / "source")
    with pytest.raises(DistributionError, match="differs"):
        build_and_compare(tmp_path / "source", tmp_path / "built", time)
