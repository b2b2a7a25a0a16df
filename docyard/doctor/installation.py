"""The installation of Docyard, and the commands that change it.

A command for another installer fails, or changes another environment: pipx and uv keep each tool in a
separate environment, which often has no pip.
"""

from __future__ import annotations

import enum
import json
import re
import shlex
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import packaging.requirements
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

PACKAGE_NAME = "docyard"

EXTRAS: Mapping[str, str] = {
    "eval": "the plots of `docyard eval`",
    "local": "search by meaning with a model on this machine",
    "math": "formulas on the page (`--math`)",
    "parquet": "the export of a server's records as Parquet",
    "postgres": "the database of a server in PostgreSQL",
    "server": "servers with a file (`docyard serve --config`): organizations, identity, notifications",
    "tokens": "exact counts of tokens, which are estimated without it",
    "vectors": "fast searches by meaning in more than 200,000 sections",
}
"""Each extra and its purpose."""

# The folders of uv's cache that contain the environments of `uvx`.
_UVX_ENVIRONMENT = re.compile(r"(?:archive|environments)-v\d+")

_PIPX_METADATA_FILE = "pipx_metadata.json"
_UV_RECEIPT_FILE = "uv-receipt.toml"


class Requirement(NamedTuple):
    """A required library. If `extra` is set, only that extra requires the library."""

    name: str
    versions: SpecifierSet
    extra: str | None = None

    @property
    def specification(self) -> str:
        """Return the name and the versions, without a marker, in an installer's format."""
        return f"{self.name}{self.versions}"

    def is_met_by(self, installed_version: str) -> bool:
        """Return True if an installed version is allowed. An invalid version is not allowed."""
        try:
            return self.versions.contains(installed_version, prereleases=True)
        except InvalidVersion:
            return False


class Installer(enum.Enum):
    """A program that installs packages into environments."""

    PIP = "pip"
    UV_PIP = "uv pip"
    PIPX = "pipx"
    UV_TOOL = "uv tool"
    UVX = "uvx"


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment that contains Docyard. `source` is the requirement that it was installed from.

    `uv tool install` removes packages and changes the Python version, unless its command repeats them. For
    this installer, `other_packages` are the other packages that the user installed in the environment, and
    `python_version` is the version that the user chose.
    """

    installer: Installer
    prefix: Path
    executable: Path
    source: str = PACKAGE_NAME
    other_packages: tuple[str, ...] = ()
    python_version: str | None = None

    def build_extra_command(self, extra: str, requirements: Iterable[str]) -> str:
        """Return the command that installs an extra: by its name, or by its `requirements`."""
        if self.installer is Installer.PIPX:
            return shlex.join(["pipx", "inject", self.prefix.name, *requirements])
        if self.installer in (Installer.UV_TOOL, Installer.UVX):
            return self._build_uv_command([*self.other_packages, *requirements])
        return self._build_pip_command([f"{PACKAGE_NAME}[{extra}]"])

    def build_repair_command(self, requirement: str) -> str:
        """Return the command that installs a required version of a library."""
        if self.installer is Installer.PIPX:
            return shlex.join(["pipx", "runpip", self.prefix.name, "install", requirement])
        if self.installer in (Installer.UV_TOOL, Installer.UVX):
            return self._build_uv_command([*self.other_packages, requirement])
        return self._build_pip_command([requirement])

    def _build_pip_command(self, packages: list[str]) -> str:
        if self.installer is Installer.UV_PIP:
            return shlex.join(["uv", "pip", "install", "--python", str(self.executable), *packages])
        if find_spec("pip") is None:
            return shlex.join(["pip", "--python", str(self.executable), "install", *packages])
        # pip refuses to change a system-managed Python without this option (PEP 668).
        options = ["--break-system-packages"] if _is_system_managed(self.prefix) else []
        return shlex.join(
            [_find_python_command(self.executable), "-m", "pip", "install", *options, *packages]
        )

    def _build_uv_command(self, packages: Iterable[str]) -> str:
        """Return the `uv tool install` command with all packages, because uv removes all other packages."""
        options = [part for package in dict.fromkeys(packages) for part in ("--with", package)]
        if self.installer is Installer.UVX:
            source_options = [] if self.source == PACKAGE_NAME else ["--from", self.source]
            return shlex.join(["uvx", *source_options, *options, PACKAGE_NAME])
        python_options = ["--python", self.python_version] if self.python_version else []
        return shlex.join(["uv", "tool", "install", *python_options, *options, self.source])


def find_installation(prefix: Path | None = None, executable: Path | None = None) -> Installation:
    """Return the installation of this process, or of another environment's prefix."""
    prefix = prefix or Path(sys.prefix)
    executable = executable or Path(sys.executable)
    source = _find_source(prefix)
    if (prefix / _PIPX_METADATA_FILE).is_file():
        return Installation(Installer.PIPX, prefix, executable, source)
    if (prefix / _UV_RECEIPT_FILE).is_file():
        return _read_uv_receipt(prefix, executable, source)
    if any(_UVX_ENVIRONMENT.fullmatch(part) for part in prefix.parts):
        return Installation(Installer.UVX, prefix, executable, source)
    if _is_created_by_uv(prefix) and find_spec("pip") is None:
        return Installation(Installer.UV_PIP, prefix, executable, source)
    return Installation(Installer.PIP, prefix, executable, source)


def format_extra_command(extra: str) -> str:
    """Return the command that installs one of Docyard's extras into the environment of this process."""
    specifications = [
        requirement.specification for requirement in list_requirements() if requirement.extra == extra
    ]
    return find_installation().build_extra_command(extra, specifications)


def list_requirements() -> list[Requirement]:
    """Return the requirements of the installed Docyard; an empty list if Docyard is not installed."""
    try:
        return parse_requirements(metadata.requires(PACKAGE_NAME) or [])
    except metadata.PackageNotFoundError:
        return []


def parse_requirements(lines: Iterable[str]) -> list[Requirement]:
    """Parse requirements such as "click>=8.2" or "matplotlib>=3.10; extra == 'eval'" (PEP 508).

    Requirements that this Python does not need, and those of unknown extras, are omitted.
    """
    requirements = []
    for line in lines:
        parsed_requirement = packaging.requirements.Requirement(line)
        for extra in (None, *EXTRAS):
            if parsed_requirement.marker is None or parsed_requirement.marker.evaluate(
                {"extra": extra or ""}
            ):
                requirements.append(Requirement(parsed_requirement.name, parsed_requirement.specifier, extra))
                break
    return requirements


def find_installed_version(name: str) -> str | None:
    """Return the version of an installed library; None if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def find_portable_requirement(version: str, prefix: Path | None = None) -> str | None:
    """Return the requirement with which another machine installs this version, or None if none is known.

    A package from an index is pinned to its version, and one from a Git URL to its commit. A folder or a file
    is known to this machine only. A development version, or code that runs without an installation, is not
    known to an index.
    """
    distribution = next(_list_distributions(prefix or Path(sys.prefix), PACKAGE_NAME), None)
    if distribution is None or distribution.version != version:
        return None
    origin = _read_origin(distribution)
    if origin is None:
        is_installed = Path(str(distribution.locate_file(f"{PACKAGE_NAME}/__init__.py"))).is_file()
        parsed_version = Version(version)
        is_release = not parsed_version.is_devrelease and parsed_version.local is None
        return f"{PACKAGE_NAME}=={version}" if is_installed and is_release else None
    url, version_control = str(origin.get("url")), origin.get("vcs_info")
    if not isinstance(version_control, dict) or not url.startswith("https://") or "@" in url:
        return None
    kind, commit = version_control.get("vcs"), version_control.get("commit_id")
    return f"{PACKAGE_NAME} @ {kind}+{url}@{commit}" if kind and commit else None


def _find_source(prefix: Path, name: str = PACKAGE_NAME) -> str:
    """Return the requirement that a package was installed from: its name, or a direct reference (PEP 610)."""
    for distribution in _list_distributions(prefix, name):
        origin = _read_origin(distribution)
        if origin is None or "url" not in origin:
            continue
        url, version_control = str(origin["url"]), origin.get("vcs_info")
        if isinstance(version_control, dict) and version_control.get("vcs"):
            revision = version_control.get("requested_revision")
            url = f"{version_control['vcs']}+{url}" + (f"@{revision}" if revision else "")
        return f"{name} @ {url}"
    return name


def _list_distributions(prefix: Path, name: str) -> Iterator[metadata.Distribution]:
    folders = list({*prefix.glob("lib/python3*/site-packages"), *prefix.glob("Lib/site-packages")})
    yield from metadata.distributions(name=name, path=[str(folder) for folder in folders])


def _read_origin(distribution: metadata.Distribution) -> Mapping[str, Any] | None:
    """Return the direct reference that a package was installed from (PEP 610); None for an index."""
    text = distribution.read_text("direct_url.json")
    if text is None:
        return None
    try:
        origin = json.loads(text)
    except ValueError:
        return {}
    return origin if isinstance(origin, dict) else {}


def _read_uv_receipt(prefix: Path, executable: Path, source: str) -> Installation:
    """Return the installation that the receipt of `uv tool install` describes."""
    try:
        receipt = tomllib.loads((prefix / _UV_RECEIPT_FILE).read_text(encoding="utf-8"))["tool"]
        entries = [entry for entry in receipt["requirements"] if isinstance(entry, dict)]
    except (OSError, ValueError, LookupError, TypeError):
        return Installation(Installer.UV_TOOL, prefix, executable, source)
    own_entries: list[Mapping[str, Any]] = []
    other_packages: list[str] = []
    for entry in entries:
        if entry.get("name") == PACKAGE_NAME and not own_entries:
            own_entries.append(entry)
        else:
            other_packages.append(_parse_receipt_entry(entry, prefix))
    python_version = receipt.get("python")
    if own_entries and source == PACKAGE_NAME:
        source = _parse_receipt_entry(own_entries[0], prefix)
    elif own_entries and own_entries[0].get("extras"):
        source = source.replace(PACKAGE_NAME, f"{PACKAGE_NAME}[{','.join(own_entries[0]['extras'])}]", 1)
    return Installation(
        Installer.UV_TOOL,
        prefix,
        executable,
        source,
        tuple(other_packages),
        python_version if isinstance(python_version, str) else None,
    )


def _parse_receipt_entry(entry: Mapping[str, Any], prefix: Path) -> str:
    """Return an entry of a receipt as a requirement."""
    name = str(entry.get("name", ""))
    extras = f"[{','.join(entry['extras'])}]" if entry.get("extras") else ""
    if entry.get("specifier") or not {"path", "directory", "editable", "url", "git"} & entry.keys():
        return f"{name}{extras}{entry.get('specifier', '')}"
    return _find_source(prefix, name).replace(name, f"{name}{extras}", 1)


def _is_created_by_uv(prefix: Path) -> bool:
    """Return True if uv created the virtual environment."""
    try:
        lines = (prefix / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return False
    return any(line.partition("=")[0].strip() == "uv" for line in lines)


def _is_system_managed(prefix: Path) -> bool:
    stdlib_folder = sysconfig.get_path("stdlib")
    is_virtual = (prefix / "pyvenv.cfg").exists()
    return not is_virtual and Path(stdlib_folder, "EXTERNALLY-MANAGED").exists()


def _find_python_command(executable: Path) -> str:
    """Return "python" if a shell finds this interpreter by that name, else its path."""
    command = shutil.which("python")
    return (
        "python"
        if command and Path(command).absolute() == executable.with_name("python")
        else str(executable)
    )
