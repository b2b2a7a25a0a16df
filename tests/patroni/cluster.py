"""etcd, and PostgreSQL under Patroni with the files of `deploy/patroni`."""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from tests.patroni.network import Machine, Network

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy" / "patroni"
PATRONI_FOLDER = ROOT / ".venv-patroni"
POSTGRES_FOLDER = Path("/usr/lib/postgresql/15/bin")
PYTHON = Path("/usr/bin/python3")  # any user may run it
DATABASE_PASSWORD = "CHANGE-4"
PROGRAMS = ("etcd", "ip", "setpriv", "unshare")

HEALTH_TIMEOUT_S = 120.0
_REQUEST_TIMEOUT_S = 2.0


def find_missing_programs() -> list[str]:
    """Return what is missing for a cluster."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if sys.platform != "linux" or os.geteuid() != 0:
        missing.append("root on Linux")
    if not (POSTGRES_FOLDER / "initdb").exists():
        missing.append("postgresql-15")
    if not (PATRONI_FOLDER / "patroni").is_dir() or not PYTHON.exists():
        missing.append("patroni")
    return missing


def read_configuration() -> dict[str, Any]:
    """Return the configuration of Patroni."""
    values: dict[str, Any] = yaml.safe_load((DEPLOY / "patroni.yml").read_text())
    return values


def read_ttl_s() -> float:
    """Return the seconds without a renewal after which the primary server counts as down."""
    return float(read_configuration()["bootstrap"]["dcs"]["ttl"])


class Cluster:
    """Three machines with etcd, and three with PostgreSQL under Patroni."""

    def __init__(self, network: Network, folder: Path) -> None:
        configuration = read_configuration()
        self.loop_wait_s: float = configuration["bootstrap"]["dcs"]["loop_wait"]
        self._scope: str = configuration["scope"]
        self._etcd_hosts: list[str] = configuration["etcd3"]["hosts"].split(",")
        # An unprivileged user may not be able to enter the folder of the repository.
        self._patroni_folder = folder / "patroni"
        shutil.copytree(PATRONI_FOLDER, self._patroni_folder)
        self._configuration_file = folder / "patroni.yml"
        shutil.copy(DEPLOY / "patroni.yml", self._configuration_file)
        self.etcd_machines = [
            network.add_machine(f"etcd{number}", host.partition(":")[0], folder / f"etcd{number}")
            for number, host in enumerate(self._etcd_hosts, 1)
        ]
        self.machines = [
            network.add_machine(f"db{number}", f"192.0.2.{10 + number}", folder / f"db{number}")
            for number in (1, 2, 3)
        ]

    def start(self) -> None:
        """Start all machines, and create the user and the database of Docyard."""
        for machine in self.etcd_machines:
            self._start_etcd(machine)
        for machine in self.machines:
            self.start_machine(machine)
        self.wait_until_healthy()
        primary = self.find_primary()
        password = self._read_variables(primary)["PATRONI_SUPERUSER_PASSWORD"]
        primary.run(
            *(POSTGRES_FOLDER / "psql", "--host=127.0.0.1", "--username=postgres", "--no-psqlrc"),
            f"--file={DEPLOY / 'database.sql'}",
            variables={"PGPASSWORD": password},
        )

    @property
    def url(self) -> str:
        """The URL of the primary server, which names all machines."""
        return self._build_url("read-write")

    @property
    def read_url(self) -> str:
        """The URL of a replica, or of the primary server while there is none."""
        return self._build_url("prefer-standby")

    def _build_url(self, target: str) -> str:
        hosts = ",".join(machine.address for machine in self.machines)
        return f"postgresql://docyard:{DATABASE_PASSWORD}@{hosts}/docyard?target_session_attrs={target}"

    def start_machine(self, machine: Machine) -> None:
        """Start Patroni, which starts PostgreSQL."""
        command = (PYTHON, "-m", "patroni", self._configuration_file)
        variables = {**self._read_variables(machine), "PYTHONPATH": str(self._patroni_folder)}
        machine.start(command, variables, unprivileged=True)

    def _start_etcd(self, machine: Machine) -> None:
        names = ",".join(f"{other.name}=http://{other.address}:2380" for other in self.etcd_machines)
        client_url, peer_url = f"http://{machine.address}:2379", f"http://{machine.address}:2380"
        command = (
            *("etcd", "--name", machine.name, "--data-dir", machine.folder / "data"),
            *("--listen-client-urls", client_url, "--advertise-client-urls", client_url),
            *("--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url),
            *("--initial-cluster", names, "--initial-cluster-state", "new", "--logger", "zap"),
        )
        machine.start(command, {}, unprivileged=True)

    def _read_variables(self, machine: Machine) -> dict[str, str]:
        """Return the variables of the example for a machine."""
        text = (DEPLOY / "patroni.env").read_text()
        replacements = {
            "PATRONI_NAME=db1": f"PATRONI_NAME={machine.name}",
            "192.0.2.11": machine.address,
            "/var/lib/postgresql": str(machine.folder),
            "15/docyard": "data",
        }
        for old, new in replacements.items():
            assert old in text
            text = text.replace(old, new)
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        return dict(line.split("=", 1) for line in lines)

    def read_roles(self) -> dict[str, str]:
        """Return the role of each running member: "leader", "sync_standby" or "replica"; empty if unknown."""
        for machine in self.machines:
            with suppress(OSError):
                answer = _request(f"http://{machine.address}:8008/cluster")
                return {
                    member["name"]: member["role"]
                    for member in answer["members"]
                    if member["state"] in ("running", "streaming")
                }
        return {}

    def find_primary(self) -> Machine:
        """Return the machine of the primary server."""
        [machine] = [machine for machine in self.machines if self.read_roles().get(machine.name) == "leader"]
        return machine

    def list_replicas(self) -> list[Machine]:
        """Return the machines of the replicas."""
        return [machine for machine in self.machines if self.read_roles().get(machine.name) != "leader"]

    def wait_until_healthy(self) -> None:
        """Wait until there are a primary server and two synchronous replicas."""
        wait_until(
            lambda: sorted(self.read_roles().values()) == ["leader", "sync_standby", "sync_standby"],
            HEALTH_TIMEOUT_S,
        )

    def read_lease_s(self) -> float:
        """Return the seconds after which the primary server counts as down, unless it renews its lease."""
        key = base64.b64encode(f"/service/{self._scope}/leader".encode()).decode()
        url = f"http://{self._etcd_hosts[0]}/v3"
        [entry] = _request(f"{url}/kv/range", {"key": key})["kvs"]
        return float(_request(f"{url}/lease/timetolive", {"ID": entry["lease"]})["TTL"])


def wait_until(condition: Callable[[], bool], timeout_s: float) -> None:
    """Wait until a condition is true. Raises TimeoutError."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not reached within {timeout_s:.0f} s")
        time.sleep(0.2)


def _request(url: str, body: Any = None) -> Any:
    data = json.dumps(body).encode() if body is not None else None
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=_REQUEST_TIMEOUT_S) as response:
        return json.load(response)
