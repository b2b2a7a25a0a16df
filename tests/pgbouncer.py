"""PgBouncer before a server of PostgreSQL, with the file of `deploy/patroni`."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.postgres_server import START_TIMEOUT_S, PostgresServer, build_user_options

_EXAMPLE = Path(__file__).resolve().parents[1] / "deploy" / "patroni" / "pgbouncer.ini"
_USERS = ("docyard", "reader")


def find_pgbouncer() -> str | None:
    """Return the path of the program; None if it is not installed."""
    return shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")


@contextmanager
def run_pgbouncer(program: str, server: PostgresServer) -> Iterator[int]:
    """Run a pooler for all databases of a server, and yield its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="docyard-pgbouncer-"))
    users_file, configuration_file = folder / "userlist.txt", folder / "pgbouncer.ini"
    users_file.write_text("".join(f'"{name}" ""\n' for name in _USERS))
    replacements = {
        r"^docyard = .*$": f"* = host=127.0.0.1 port={server.port}",
        r"^listen_addr = .*$": "listen_addr = 127.0.0.1",
        r"^listen_port = .*$": f"listen_port = {port}\nunix_socket_dir =",
        r"^auth_type = .*$": "auth_type = trust",
        r"^auth_file = .*$": f"auth_file = {users_file}",
    }
    text = _EXAMPLE.read_text()
    for pattern, line in replacements.items():
        text, count = re.subn(pattern, line, text, flags=re.MULTILINE)
        assert count == 1, pattern
    configuration_file.write_text(text)
    folder.chmod(0o755)
    process = subprocess.Popen(
        [program, configuration_file], stderr=subprocess.DEVNULL, cwd="/", **build_user_options()
    )
    try:
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None, "PgBouncer has ended"
                assert time.monotonic() < deadline, "PgBouncer does not answer"
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)
