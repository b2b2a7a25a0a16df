"""The bill of materials of a release: the locked libraries of Docyard and its extras, as CycloneDX JSON."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from docyard import __version__
from release.programs import ReleaseError
from release.registry_entry import read_project


class BillError(ReleaseError):
    """The bill of materials cannot be written."""


def write_bill(source: Path, home: Path, target: Path, time: int) -> None:
    """Write the bill of materials of a source folder to `target`; `home` is a new folder for temporary files.

    The libraries of development are omitted. `time` is the time of the bill, in seconds. Raises BillError.
    """
    home.mkdir()
    lines = select_lines(
        (source / "requirements.lock").read_text(encoding="utf-8"), find_runtime_names(source)
    )
    (home / "requirements.txt").write_text("".join(lines), encoding="utf-8")
    # The tool reads no dynamic version, and the bill would be that of an unknown version.
    project = (source / "pyproject.toml").read_text(encoding="utf-8")
    dynamic = 'dynamic = ["version"]'
    if project.count(dynamic) != 1:
        raise BillError(f"pyproject.toml must have the line {dynamic} once")
    project = project.replace(dynamic, f'version = "{__version__}"')
    (home / "pyproject.toml").write_text(project, encoding="utf-8")
    command = (
        *(sys.executable, "-m", "cyclonedx_py", "requirements", str(home / "requirements.txt")),
        *("--pyproject", str(home / "pyproject.toml"), "--output-reproducible", "--validate"),
        *("--of", "JSON", "-o", str(target)),
    )
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(time)}
    process = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    if process.returncode:
        raise BillError(f"the bill of materials cannot be written: {process.stderr}")


def find_runtime_names(source: Path) -> set[str]:
    """Return the names of all libraries that Docyard and its extras require, directly or not.

    They must be installed in this environment. Markers are evaluated for this platform.
    """
    project = read_project(source)["project"]
    extras = (line for extra in project["optional-dependencies"].values() for line in extra)
    pending_requirements = [Requirement(line) for line in (*project["dependencies"], *extras)]
    visited_requirements = set[tuple[str, frozenset[str]]]()
    while pending_requirements:
        requirement = pending_requirements.pop()
        visit = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if visit in visited_requirements:
            continue
        visited_requirements.add(visit)
        environments = [{"extra": extra} for extra in ("", *sorted(requirement.extras))]
        for line in metadata.requires(requirement.name) or ():
            nested_requirement = Requirement(line)
            marker = nested_requirement.marker
            if marker is None or any(map(marker.evaluate, environments)):
                pending_requirements.append(nested_requirement)
    return {name for name, _ in visited_requirements}


def select_lines(lock: str, names: set[str]) -> list[str]:
    """Return the entries of a lock file with these names, each with its hashes and a line break at its end.

    Raises BillError if a name has no entry.
    """
    entries = [
        line.replace("\0", "\\\n") + "\n"
        for line in lock.replace("\\\n", "\0").splitlines()
        if line and not line.startswith("#")
    ]
    entry_by_name = {
        canonicalize_name(Requirement(entry.partition("\\\n")[0]).name): entry for entry in entries
    }
    if missing_names := sorted(names - entry_by_name.keys()):
        raise BillError(f"requirements.lock has no entry for {', '.join(missing_names)}; run `make lock`")
    return [entry for name, entry in entry_by_name.items() if name in names]
