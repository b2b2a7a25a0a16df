"""Machines as network namespaces at one bridge. Each has one link, which can be cut.

`run_isolated` starts a Python module in namespaces of its own: its processes end with it, and neither its
addresses nor its names meet those of the machine. Only such a process creates a Network.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

BRIDGE = "bridge0"
CLIENT_ADDRESS = "192.0.2.1"
MEMORY_FOLDER = "/dev/shm"
"""A file system of `run_isolated` that ends with it: killed servers leave shared memory there."""

UNPRIVILEGED_ID = 65534  # PostgreSQL refuses to run as root

_NAMES_FOLDER = "/run/netns"
# The shell stays: it is the parent of processes whose own parent was killed, and waits for them.
_START_SCRIPT = f"""
mkdir -p {_NAMES_FOLDER} && mount -t tmpfs none {_NAMES_FOLDER} &&
mount -t tmpfs -o mode=1777 none {MEMORY_FOLDER} && "$@"
exit "$?"
"""


def run_isolated(module: str, *arguments: str, timeout_s: float) -> Iterator[str]:
    """Run `python -m MODULE` in new namespaces, and yield its lines. Raises AssertionError if it fails."""
    namespaces = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
    python = (sys.executable, "-m", module, *arguments)
    process = subprocess.Popen(
        ["unshare", *namespaces, "sh", "-c", _START_SCRIPT, "sh", *python], stdout=subprocess.PIPE, text=True
    )
    watch = threading.Timer(timeout_s, process.kill)
    watch.start()
    try:
        assert process.stdout is not None
        yield from process.stdout
        assert process.wait() == 0, f"{module} has failed"
    finally:
        watch.cancel()
        process.kill()
        process.wait()


class Network:
    """A bridge, and this process as a client at it."""

    def __init__(self) -> None:
        _run_ip("link", "set", "lo", "up")
        _run_ip("link", "add", BRIDGE, "type", "bridge")
        _run_ip("address", "add", f"{CLIENT_ADDRESS}/24", "dev", BRIDGE)
        _run_ip("link", "set", BRIDGE, "up")

    def add_machine(self, name: str, address: str, folder: Path) -> Machine:
        """Return a new machine, which has a folder for its files."""
        _run_ip("netns", "add", name)
        _run_ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        _run_ip("link", "set", name, "master", BRIDGE, "up")
        _run_ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
        for link in ("eth0", "lo"):
            _run_ip("-n", name, "link", "set", link, "up")
        folder.mkdir()
        os.chown(folder, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
        return Machine(name, address, folder)


class Machine:
    """A network namespace, its address, its folder, and the processes in it."""

    def __init__(self, name: str, address: str, folder: Path) -> None:
        self.name = name
        self.address = address
        self.folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(
        self, command: Sequence[str | Path], variables: Mapping[str, str], *, unprivileged: bool
    ) -> None:
        """Start a process, which writes its log to the file `log` of the folder."""
        user = ("setpriv", f"--reuid={UNPRIVILEGED_ID}", f"--regid={UNPRIVILEGED_ID}", "--clear-groups")
        log: IO[bytes]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                ["ip", "netns", "exec", self.name, *(user if unprivileged else ()), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder), **variables},
                cwd=self.folder,
            )
        self._processes.append(process)

    def run(self, *command: str | Path, variables: Mapping[str, str]) -> None:
        """Run a command until it ends."""
        done = subprocess.run(
            ["ip", "netns", "exec", self.name, *command],
            capture_output=True,
            text=True,
            env={**os.environ, **variables},
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def list_processes(self) -> dict[int, str]:
        """Return the names of the processes by id."""
        output = _run_ip("netns", "pids", self.name)
        return {int(id): _read_name(int(id)) for id in output.split()}

    def kill(self, *names: str) -> None:
        """Kill the processes with these names, or all."""
        while any(not names or name in names for name in self.list_processes().values()):
            self.send_signal(signal.SIGKILL, *names)
            for process in self._processes:
                process.poll()
            time.sleep(0.01)

    def send_signal(self, number: signal.Signals, *names: str) -> None:
        """Send a signal to the processes with these names, or to all."""
        for id, name in self.list_processes().items():
            if not names or name in names:
                try:
                    os.kill(id, number)
                except ProcessLookupError:  # it has just ended
                    continue

    def cut(self) -> None:
        """Cut the link between the machine and the bridge."""
        _run_ip("link", "set", self.name, "down")

    def join(self) -> None:
        """Restore the link."""
        _run_ip("link", "set", self.name, "up")

    def block(self, *others: Machine) -> None:
        """Drop all packets to and from other machines."""
        for other in others:
            _run_ip("-n", self.name, "route", "add", "blackhole", f"{other.address}/32")

    def unblock(self, *others: Machine) -> None:
        """Let packets pass again."""
        for other in others:
            _run_ip("-n", self.name, "route", "del", "blackhole", f"{other.address}/32")


def _read_name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:  # it has just ended
        return ""


def _run_ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"
    return done.stdout
