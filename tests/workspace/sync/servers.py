"""Servers of bare repositories for the transports of Git: `git daemon`, HTTP and SSH."""

from __future__ import annotations

import base64
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

HOST = "127.0.0.1"
MAX_POLLS, POLL_INTERVAL_S = 400, 0.025
TOKEN = "tok-5f2a91c07be3"
SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


def build_git_environment() -> dict[str, str]:
    """Return the environment of a server, without the user's configuration."""
    return {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "LC_ALL": "C"}


def find_free_port() -> int:
    """Return an unused port."""
    with closing(socket.socket()) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def wait_for_server(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server accepts connections. Raises AssertionError if it ends or does not listen."""
    for _ in range(MAX_POLLS):
        with suppress(OSError), closing(socket.create_connection((HOST, port), 1)):
            return
        assert process.poll() is None, "the server has ended"
        time.sleep(POLL_INTERVAL_S)
    raise AssertionError("the server does not listen")


@contextmanager
def stop_server_at_exit(process: subprocess.Popen[bytes], port: int) -> Iterator[int]:
    """Yield the port of a started server when it accepts connections, and stop the server at the end."""
    try:
        wait_for_server(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def run_git_daemon(folder: Path) -> Iterator[str]:
    """Run `git daemon` with anonymous push, and yield the base URL of a folder's repositories."""
    port = find_free_port()
    program = Path(subprocess.check_output(["git", "--exec-path"], text=True).strip(), "git-daemon")
    if not program.exists():  # some systems have it in a separate package
        pytest.skip("git-daemon is not installed")
    arguments = ["--reuseaddr", f"--listen={HOST}", f"--port={port}", f"--base-path={folder}", "--export-all"]
    process = subprocess.Popen(
        [program, *arguments, "--enable=receive-pack", str(folder)],
        env=build_git_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with stop_server_at_exit(process, port):
        yield f"git://{HOST}:{port}"


@contextmanager
def run_http_server(folder: Path, token: str | None = TOKEN) -> Iterator[str]:
    """Run `git http-backend` behind a small server that requires `token` if given; yield the base URL."""

    class GitBackendHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.respond(b"")

        def do_POST(self) -> None:
            self.respond(self.read_body())

        def read_body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "") == "chunked":
                chunks = []
                while size := int(self.rfile.readline().strip() or b"0", 16):
                    chunks.append(self.rfile.read(size))
                    self.rfile.readline()
                return b"".join(chunks)
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))

        def respond(self, request_body: bytes) -> None:
            credentials = base64.b64decode(self.headers.get("Authorization", "").removeprefix("Basic "))
            if token is not None and credentials.partition(b":")[2] != token.encode():
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            env = build_git_environment() | {
                "GIT_PROJECT_ROOT": str(folder),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REMOTE_USER": "ada",
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(request_body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            }
            process = subprocess.run(
                ["git", "http-backend"], input=request_body, env=env, capture_output=True, check=False
            )
            header, _, content = process.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(b": ", 1) for line in header.split(b"\r\n") if b": " in line)
            self.send_response(int(fields.pop(b"Status", b"200").split()[0]))
            for name, value in fields.items():
                self.send_header(name.decode(), value.decode())
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(OSError):  # the client may have disconnected
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer((HOST, 0), GitBackendHandler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def run_ssh_server(folder: Path, home: Path) -> Iterator[tuple[str, int]]:
    """Run a local sshd that accepts the key `home/.ssh/id_ed25519`; yield user and port."""
    key_folder = home / ".ssh"
    key_folder.mkdir(mode=0o700, exist_ok=True)
    sshd_folder = folder / "sshd"
    sshd_folder.mkdir()
    for key in (key_folder / "id_ed25519", sshd_folder / "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    shutil.copy(key_folder / "id_ed25519.pub", sshd_folder / "authorized")
    port = find_free_port()
    (sshd_folder / "config").write_text(
        f"ListenAddress {HOST}\nPort {port}\nHostKey {sshd_folder}/host\n"
        f"AuthorizedKeysFile {sshd_folder}/authorized\n"
        "StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\nLogLevel ERROR\n"
        "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nMaxStartups 100\n"
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    process = subprocess.Popen(
        [SSHD, "-D", "-e", "-f", str(sshd_folder / "config")],
        stdout=subprocess.DEVNULL,
        stderr=(sshd_folder / "log").open("wb"),
    )
    host_key = " ".join((sshd_folder / "host.pub").read_text().split()[:2])
    (key_folder / "known_hosts").write_text(f"[{HOST}]:{port} {host_key}\n")
    with stop_server_at_exit(process, port):
        user = subprocess.check_output(["id", "-un"], text=True).strip()
        yield user, port
