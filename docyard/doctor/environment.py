"""Checks of the environment: Python, the libraries against what Docyard asks for, and writable folders."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from docyard import environment
from docyard.doctor.finding import FIX_COMMAND, Finding, Severity
from docyard.doctor.index import check_disks, is_read_only
from docyard.doctor.installation import (
    EXTRAS,
    Installation,
    Requirement,
    find_installation,
    find_installed_version,
    list_requirements,
)
from workspace.git.private_folder import FOLDER, is_closed_to_us, is_open_to_others, make_private_folder

AREA = "environment"
OLDEST_PYTHON = (3, 11)


def check_surroundings(common_dir: Path | None, worktree: Path | None) -> Iterator[Finding]:
    """Yield what is wrong around the repository. `common_dir` and `worktree` are None where there is none."""
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        yield Finding(
            Severity.ERROR,
            AREA,
            f"this Python is older than {wanted}",
            f"Install docyard with Python {wanted}.",
        )
    yield from check_libraries(list_requirements(), find_installation())
    if common_dir is not None and is_open_to_others(common_dir):
        yield Finding(
            Severity.WARNING,
            AREA,
            "other users can enter docyard in the repository's Git folder, so they can hold its lock and "
            "stop all writes",
            f"{FIX_COMMAND}, as the owner of that folder",
            partial(_close, common_dir),
        )
    for folder, what in _written(common_dir, worktree):
        if common_dir is not None and folder == common_dir / FOLDER and is_closed_to_us(common_dir):
            yield Finding(
                Severity.WARNING,
                AREA,
                f"{what} belongs to another user, so nothing can be committed by this one",
                "Write as that user, or share the repository with a group (git config core.sharedRepository "
                "group); `docyard serve --read-only` works as it is.",
            )
        elif not folder.is_dir():
            yield Finding(
                Severity.WARNING,
                AREA,
                f"{what} is no folder, so nothing can be committed",
                "Move what stands there aside.",
            )
        elif not environment.is_writable(folder) and not is_read_only(folder):
            yield Finding(
                Severity.WARNING,
                AREA,
                f"{what} cannot be written by this user, so nothing can be committed",
                "Change its owner or permissions, or use `docyard serve --read-only`.",
            )
    yield from check_disks(_written(common_dir, worktree))
    if environment.find_home() is None:
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


def _close(common_dir: Path) -> str | None:
    make_private_folder(common_dir)
    if is_open_to_others(common_dir):
        return None
    return "closed docyard in the repository's Git folder to other users"


def _written(common_dir: Path | None, worktree: Path | None) -> Iterator[tuple[Path, str]]:
    """Yield the folders that a commit writes into, with words for them."""
    if common_dir is not None:
        yield common_dir, "the repository's Git folder"
        for name in ("objects", "refs/heads"):
            yield common_dir / name, f"{name} in the repository's Git folder"
        for name in ("docyard", "docyard/pending"):  # these are made when they are needed
            if os.path.lexists(common_dir / name):
                yield common_dir / name, f"{name} in the repository's Git folder"
    if worktree is not None:
        yield worktree, "the work tree"


def check_libraries(required: Iterable[Requirement], installation: Installation) -> Iterator[Finding]:
    """Compare what is installed with what is required; a missing extra is a note, not a problem."""
    extras: dict[str, list[Requirement]] = {}
    for one in required:
        if one.extra is not None:
            extras.setdefault(one.extra, []).append(one)
        elif problem := _problem(one):
            message = f"{problem}; docyard needs {one.specification}"
            yield Finding(Severity.ERROR, AREA, message, installation.repair_command(one.specification))
    for extra, members in extras.items():
        problems = [problem for one in members if (problem := _problem(one))]
        if problems:
            wanted = [one.specification for one in members]
            yield Finding(
                Severity.NOTE,
                AREA,
                f"{', '.join(problems)}; {', '.join(wanted)} is needed only for " + EXTRAS[extra],
                installation.extra_command(extra, wanted),
            )


def _problem(required: Requirement) -> str:
    """Describe what is wrong with an installed library; empty if nothing is."""
    installed = find_installed_version(required.name)
    if installed is None:
        return f"{required.name} is not installed"
    return "" if required.is_met_by(installed) else f"{required.name} is {installed}"
