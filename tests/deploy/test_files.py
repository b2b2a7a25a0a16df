"""The files of `deploy/`: the configuration, the image, and the units of systemd."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from docyard.cli.main import main
from docyard.organizations.file import read_organizations_file
from docyard.settings.file import read_configuration
from docyard.terminal.exits import Exit
from tests.loops import loop_over

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
UNITS = ("docyard.service", "docyard-team.service")
MAX_EXPOSURE = 1.5  # of 10; `systemd-analyze security` calls less than 2 "OK"


def read_instructions() -> list[tuple[str, str]]:
    """Return the instructions of the Containerfile and their arguments."""
    text = "\n".join(
        line for line in (DEPLOY / "Containerfile").read_text().splitlines() if not line.startswith("#")
    )
    lines = text.replace("\\\n", " ").splitlines()
    parts = [line.strip().partition(" ") for line in lines if line.strip()]
    return [(name, " ".join(arguments.split())) for name, _, arguments in parts]


def find_arguments(name: str) -> list[str]:
    return [arguments for instruction, arguments in read_instructions() if instruction == name]


def read_unit(name: str) -> dict[str, list[str]]:
    """Return the values of a unit by setting."""
    values: dict[str, list[str]] = {}
    for line in (DEPLOY / name).read_text().splitlines():
        setting, separator, value = line.partition("=")
        if separator and not line.startswith("#"):
            values.setdefault(setting, []).append(value)
    return values


def test_configuration_has_no_mistakes_and_no_secrets(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    text = (DEPLOY / "server.toml").read_text()
    file.write_text(text.replace("/var/lib/docyard", str(tmp_path)))  # the folder must exist
    assert main(["config", "check", "--config", str(file)]) == Exit.DONE
    settings = read_configuration(DEPLOY / "server.toml").settings
    assert settings.http.allow_hosts == ("docs.example.org",)
    assert read_organizations_file(DEPLOY / "organizations.toml")


def test_image_runs_as_a_user_without_a_name_and_has_no_secrets() -> None:
    known = {
        *("FROM", "COPY", "RUN", "ENV", "USER", "WORKDIR", "VOLUME"),
        *("EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"),
    }
    assert {name for name, _ in read_instructions()} <= known
    assert find_arguments("USER") == ["10001:10001"]  # Kubernetes checks that the number is not 0
    names = [name for name, _ in read_instructions()]
    assert "RUN" not in names[names.index("USER") :]
    assert not re.search(r"(?i)password|secret|ARG ", (DEPLOY / "Containerfile").read_text())
    for source in find_arguments("COPY")[0].split()[:-1]:
        assert source == "dist/*.whl" or (ROOT / source).is_file()


def test_image_has_a_health_check_of_the_port_that_it_exposes() -> None:
    [port] = find_arguments("EXPOSE")
    assert f"127.0.0.1:{port}/healthz" in find_arguments("HEALTHCHECK")[0]
    [environment] = find_arguments("ENV")
    variables = dict(item.split("=", 1) for item in shlex.split(environment))
    assert variables["DOCYARD_SERVER__HTTP__LISTEN"] == f"0.0.0.0:{port}"
    assert find_arguments("STOPSIGNAL") == ["SIGTERM"]


@pytest.mark.process
def test_versions_of_the_image_are_those_of_the_lock_file(tmp_path: Path) -> None:
    [command] = [command for command in find_arguments("RUN") if "requirements.lock" in command]
    command = command.replace("/build/requirements.lock", str(ROOT / "requirements.lock"))
    subprocess.run(["sh", "-euc", command.replace("/build", str(tmp_path))], check=True)
    requirements = [Requirement(line) for line in (tmp_path / "versions.txt").read_text().splitlines()]
    # One version of a library depends on that of Python.
    environment = {"python_version": "3.13", "python_full_version": "3.13.0"}
    names = [item.name for item in requirements if item.marker is None or item.marker.evaluate(environment)]
    assert len(names) == len(set(names))
    assert {"mcp", "alembic", "psycopg", "uvicorn"} <= set(names)
    assert all(re.fullmatch(r"==[^,*]+", str(item.specifier)) for item in requirements)


@loop_over("unit", UNITS)
def test_unit_runs_without_privileges(unit: str) -> None:
    values = read_unit(unit)
    assert values["User"] == ["docyard"]
    assert values["CapabilityBoundingSet"] == [""]
    assert values["ProtectSystem"] == ["strict"]
    assert values["StateDirectory"] == ["docyard"]
    stop_timeout_s = int(values["TimeoutStopSec"][0])
    assert stop_timeout_s > 25  # `_STOP_TIMEOUT_S` of the supervisor


@pytest.mark.process
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("unit", UNITS)
def test_systemd_accepts_the_unit_and_calls_it_little_exposed(unit: str, tmp_path: Path) -> None:
    text = (
        (DEPLOY / unit).read_text().replace("/opt/docyard/bin/docyard", shutil.which("true") or "/bin/true")
    )
    (tmp_path / unit).write_text(text)
    verify = subprocess.run(["systemd-analyze", "verify", tmp_path / unit], capture_output=True, text=True)
    assert unit not in verify.stderr
    command = ["systemd-analyze", "security", "--offline=yes", tmp_path / unit]
    output = subprocess.run(command, capture_output=True, text=True).stdout
    match = re.search(r"Overall exposure level for \S+: ([\d.]+)", output)
    assert match is not None, output
    assert float(match[1]) <= MAX_EXPOSURE


def test_source_distribution_includes_the_files() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "/deploy" in settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
