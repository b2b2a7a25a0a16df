"""Checks of the environment: Python, the libraries against what Docyard asks for, and writable folders."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from docyard import environment
from docyard.checkup.disks import check_disks, is_read_only
from docyard.checkup.finding import Finding, Severity

AREA = "environment"
OLDEST_PYTHON = (3, 11)

# A requirement without extras and markers, such as "click>=8.2" or "whoosh==2.7.4" (PEP 508).
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(>=|==)\s*([0-9][0-9.]*)\s*(?:,.*)?$")


def check_surroundings(common_dir: Path | None, worktree: Path | None) -> Iterator[Finding]:
    """What is wrong around the repository. `common_dir` and `worktree` are None where there is none."""
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        yield Finding(
            Severity.ERROR,
            AREA,
            f"this Python is older than {wanted}",
            f"Install docyard with Python {wanted}.",
        )
    yield from check_libraries(_requirements())
    for folder, what in _written(common_dir, worktree):
        if not folder.is_dir():
            yield Finding(
                Severity.WARNING,
                AREA,
                f"{what} is no folder, so nothing can be committed",
                "Move what stands there aside.",
            )
        elif not environment.writable(folder) and not is_read_only(folder):
            yield Finding(
                Severity.WARNING,
                AREA,
                f"{what} cannot be written by this user, so nothing can be committed",
                "Change its owner or permissions, or use `docyard serve --read-only`.",
            )
    yield from check_disks(_written(common_dir, worktree))
    if environment.home() is None:
        yield Finding(
            Severity.WARNING,
            AREA,
            "this user has no home folder, so no key for cursors can be kept",
            "Set HOME.",
        )
    if shutil.which("git") is None:
        yield Finding(
            Severity.NOTE, AREA, "the git program is not installed; docyard does not need it, people often do"
        )


def _written(common_dir: Path | None, worktree: Path | None) -> Iterator[tuple[Path, str]]:
    """The folders that a commit writes into, with words for them."""
    if common_dir is not None:
        yield common_dir, "the repository's Git folder"
        for name in ("objects", "refs/heads"):
            yield common_dir / name, f"{name} in the repository's Git folder"
        for name in ("docyard", "docyard/pending"):  # these are made when they are needed
            if os.path.lexists(common_dir / name):
                yield common_dir / name, f"{name} in the repository's Git folder"
    if worktree is not None:
        yield worktree, "the work tree"


def check_libraries(requirements: list[str]) -> Iterator[Finding]:
    """Compare what is installed with requirements such as "click>=8.2"; others are not looked at."""
    for requirement in requirements:
        found = _REQUIREMENT.match(requirement.partition(";")[0])
        if found is None:
            continue
        name, relation, wanted = found.groups()
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            message = f"{name} is not installed; docyard needs {requirement}"
        else:
            if _fits(installed, relation, wanted):
                continue
            message = f"{name} is {installed}; docyard needs {requirement}"
        yield Finding(Severity.ERROR, AREA, message, f'python -m pip install "{requirement}"')


def _requirements() -> list[str]:
    try:
        return metadata.requires("docyard") or []
    except metadata.PackageNotFoundError:  # run from its source, without being installed
        return []


def _fits(installed: str, relation: str, wanted: str) -> bool:
    have, need = _numbers(installed), _numbers(wanted)
    length = max(len(have), len(need))
    have, need = have + [0] * (length - len(have)), need + [0] * (length - len(need))
    return have >= need if relation == ">=" else have == need


def _numbers(version: str) -> list[int]:
    """The release numbers of a version: 1.21.0rc1 is [1, 21, 0]."""
    release = re.match(r"[0-9]+(\.[0-9]+)*", version)
    return [int(number) for number in release.group().split(".")] if release else []
