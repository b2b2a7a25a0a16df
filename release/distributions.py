"""The wheel and the source archive of a commit, built twice with equal bytes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from release.programs import ReleaseError

PACKAGES = ("docyard", "tools", "index", "workspace", "templates")
SHARED_DATA = "share"
"""The folder of manual pages and completion scripts, which an installation has outside the packages."""

_DATA_FOLDER = re.compile(r"^[^/]+\.data/data/")


class DistributionError(ReleaseError):
    """A distribution has wrong contents, or cannot be built twice with equal bytes."""


class Distributions(NamedTuple):
    """The two distributions of a version."""

    wheel: Path
    sdist: Path


def find_changed_files(repository: Path) -> list[str]:
    """Return the files of the working tree that differ from the last commit, untracked ones included."""
    status = _run_git(repository, "status", "--porcelain", "-z", "--no-renames").decode()
    return [entry[3:] for entry in status.split("\0") if entry]


def export_commit(repository: Path, target: Path) -> int:
    """Write the files of the last commit to a new folder. Return the time of the commit, in seconds."""
    target.mkdir()
    archive = target.with_suffix(".tar")
    archive.write_bytes(_run_git(repository, "archive", "--format=tar", "HEAD"))
    _extract(archive, target)
    archive.unlink()
    return int(_run_git(repository, "log", "-1", "--format=%ct"))


def build_and_compare(source: Path, target: Path, time: int) -> Distributions:
    """Build both distributions, then build them from the source archive in another folder.

    `time` is the time of all files in the distributions, in seconds (`SOURCE_DATE_EPOCH`). Raises
    DistributionError if the wheel does not contain exactly the files of the packages, or if the bytes of the
    two builds differ.
    """
    files = _build(source, target, time)
    check_wheel(files.wheel, source)
    copy = target.with_name("extracted")
    copy.mkdir()
    _extract(files.sdist, copy)
    [root] = copy.iterdir()
    second_files = _build(root, target.with_name("second"), time)
    for file, second_file in zip(files, second_files, strict=True):
        compare_files(file, second_file)
    return files


def compare_files(file: Path, second_file: Path) -> None:
    """Raise DistributionError if the files of two builds differ."""
    if file.read_bytes() != second_file.read_bytes():
        raise DistributionError(f"{file.name} differs from the {second_file.name} of a second build")


def check_wheel(wheel: Path, source: Path) -> None:
    """Raise DistributionError unless the wheel contains exactly the files of the folders in `source`."""
    with zipfile.ZipFile(wheel) as archive:
        names = {
            _DATA_FOLDER.sub("", name)
            for name in archive.namelist()
            if not name.partition("/")[0].endswith(".dist-info")
        }
    expected_names = {
        path.relative_to(source).as_posix()
        for folder in (*PACKAGES, SHARED_DATA)
        for path in (source / folder).rglob("*")
        if path.is_file()
    }
    if names != expected_names:
        missing_names, other_names = sorted(expected_names - names), sorted(names - expected_names)
        raise DistributionError(
            f"{wheel.name} has wrong contents: missing {missing_names[:5]}, unexpected {other_names[:5]}"
        )


def _build(source: Path, target: Path, time: int) -> Distributions:
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(time)}
    command = (sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(target))
    process = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
    if process.returncode:
        raise DistributionError(f"hatchling failed in {source.name}: {process.stderr}")
    [wheel], [sdist] = target.glob("*.whl"), target.glob("*.tar.gz")
    return Distributions(wheel, sdist)


def _extract(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as files:
        files.extractall(target, filter="data")


def _run_git(repository: Path, *arguments: str) -> bytes:
    return subprocess.run(
        ["git", "-C", str(repository), *arguments], stdout=subprocess.PIPE, check=True
    ).stdout
