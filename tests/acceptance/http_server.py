"""A server process over HTTP, and raw requests to it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests import fork_server
from tests.acceptance.server import build_user_environment

TIMEOUT_S = 60.0


class HttpServer:
    """A server process that has printed its URL and accepts requests."""

    def __init__(self, options: list[str], home: Path, variables: Mapping[str, str] | None = None) -> None:
        home.mkdir(exist_ok=True)
        self._log = home / "stderr"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*fork_server.build_python_command(), "-m", "docyard", "serve", *options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**build_user_environment(home), **(variables or {})},
            )
        assert self.process.stdout is not None
        self.url_line = self.process.stdout.readline()
        assert self.url_line.endswith("\n"), self.read_log()
        url = urlsplit(self.url_line.strip())
        assert url.hostname
        assert url.port
        self.host, self.port = url.hostname, url.port
        self.base_url = f"http://{url.netloc}"
        self.token = parse_qs(url.query).get("token", [""])[0]

    def read_log(self) -> str:
        """Return the standard error of the server so far."""
        return self._log.read_text()

    def send_raw_request(self, *lines: str, body: bytes = b"") -> str:
        """Send a request with these lines and `Connection: close`; return the complete response as text."""
        with socket.create_connection((self.host, self.port), timeout=TIMEOUT_S) as connection:
            connection.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1") + body)
            response = b""
            while chunk := connection.recv(65_536):
                response += chunk
        return response.decode()

    def stop(self, signal_number: int = signal.SIGTERM) -> tuple[int, str]:
        """Stop the server with a signal; return its exit code and its remaining standard output."""
        self.process.send_signal(signal_number)
        assert self.process.stdout is not None
        code = self.process.wait(TIMEOUT_S)
        return code, self.process.stdout.read()


@contextmanager
def serve_over_http(
    home: Path, *options: str | os.PathLike[str], variables: Mapping[str, str] | None = None
) -> Iterator[HttpServer]:
    """Start a server with these options and variables; without `--http`, it listens on a free local port."""
    arguments = [os.fspath(option) for option in options]
    listen_option = [] if "--http" in arguments else ["--http", "127.0.0.1:0"]
    server = HttpServer([*listen_option, *arguments], home, variables)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait()
        assert server.process.stdout is not None
        server.process.stdout.close()
