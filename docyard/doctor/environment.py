"""Checks of the environment: the Python version, the required libraries, and writable folders."""

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
from workspace.git.private_folder import (
    PRIVATE_FOLDER_NAME,
    is_accessible_to_others,
    is_inaccessible,
    make_private_folder,
)

AREA = "environment"
MIN_PYTHON_VERSION = (3, 11)


def check_repository_state(common_dir: Path | None, worktree: Path | None) -> Iterator[Finding]:
    """Yield problems of Python, its libraries, the folders that commits write to, the home folder, and git.

    `common_dir` and `worktree` are None if they do not exist.
    """
    if sys.version_info < MIN_PYTHON_VERSION:
        min_version = ".".join(map(str, MIN_PYTHON_VERSION))
        yield Finding(
            Severity.ERROR,
            AREA,
            f"this Python is older than {min_version}",
            f"Install docyard with Python {min_version}.",
        )
    yield from check_libraries(list_requirements(), find_installation())
    if common_dir is not None and is_accessible_to_others(common_dir):
        yield Finding(
            Severity.WARNING,
            AREA,
            "other users can open the folder docyard in the repository's Git folder, so they can hold its "
            "lock and block all writes",
            f"{FIX_COMMAND}, as the owner of that folder",
            partial(_restrict_access, common_dir),
        )
    for folder, label in _list_written_folders(common_dir, worktree):
        if (
            common_dir is not None
            and folder == common_dir / PRIVATE_FOLDER_NAME
            and is_inaccessible(common_dir)
        ):
            yield Finding(
                Severity.WARNING,
                AREA,
                f"{label} belongs to another user, so this user cannot commit",
                "Write as that user, or share the repository with a group (git config core.sharedRepository "
                "group); `docyard serve --read-only` works without a change.",
            )
        elif not folder.is_dir():
            yield Finding(
                Severity.WARNING,
                AREA,
                f"{label} is not a folder, so nothing can be committed",
                f"Move {folder} away.",
            )
        elif not environment.is_writable(folder) and not is_read_only(folder):
            yield Finding(
                Severity.WARNING,
                AREA,
                f"{label} cannot be written by this user, so nothing can be committed",
                "Change its owner or permissions, or use `docyard serve --read-only`.",
            )
    yield from check_disks(_list_written_folders(common_dir, worktree))
    if environment.find_home() is None:
        yield Finding(
            Severity.WARNING,
            AREA,
            "this user has no home folder, so the key for cursors cannot be stored",
            "Set HOME.",
        )
    if shutil.which("git") is None:
        yield Finding(
            Severity.NOTE,
            AREA,
            "the git program is not installed; docyard does not need it, but its fixes name git commands",
        )


def _restrict_access(common_dir: Path) -> str | None:
    make_private_folder(common_dir)
    if is_accessible_to_others(common_dir):
        return None
    return "removed other users' access to the folder docyard in the repository's Git folder"


def _list_written_folders(common_dir: Path | None, worktree: Path | None) -> Iterator[tuple[Path, str]]:
    """Yield the folders that a commit writes to, each with a label for messages."""
    if common_dir is not None:
        yield common_dir, "the repository's Git folder"
        for name in ("objects", "refs/heads"):
            yield common_dir / name, f"{name} in the repository's Git folder"
        for name in ("docyard", "docyard/pending"):  # these are created on demand
            if os.path.lexists(common_dir / name):
                yield common_dir / name, f"{name} in the repository's Git folder"
    if worktree is not None:
        yield worktree, "the work tree"


def check_libraries(requirements: Iterable[Requirement], installation: Installation) -> Iterator[Finding]:
    """Yield missing and outdated libraries; a missing extra is a note, not a problem."""
    extras: dict[str, list[Requirement]] = {}
    for requirement in requirements:
        specification = requirement.specification
        if requirement.extra is not None:
            extras.setdefault(requirement.extra, []).append(requirement)
        elif problem := _describe_problem(requirement):
            message = f"{problem}; docyard needs {specification}"
            yield Finding(Severity.ERROR, AREA, message, installation.build_repair_command(specification))
    for extra, extra_requirements in extras.items():
        problems = [
            problem for requirement in extra_requirements if (problem := _describe_problem(requirement))
        ]
        if problems:
            specifications = [requirement.specification for requirement in extra_requirements]
            yield Finding(
                Severity.NOTE,
                AREA,
                f"{', '.join(problems)}; {', '.join(specifications)} is needed only for " + EXTRAS[extra],
                installation.build_extra_command(extra, specifications),
                extra=extra,
            )


def _describe_problem(requirement: Requirement) -> str:
    """Describe why a library does not meet its requirement; empty if it does."""
    installed_version = find_installed_version(requirement.name)
    if installed_version is None:
        return f"{requirement.name} is not installed"
    return "" if requirement.is_met_by(installed_version) else f"{requirement.name} is {installed_version}"
