"""Python processes with preloaded imports of the server: `build_python_command()` replaces `sys.executable`.

Imports take most of the time of a server's start. One process runs the imports and forks a child for each
start. The child has the descriptors, arguments, environment and folder of the requesting process, and runs
`__main__` from its first line. Cold starts are tested by `tests/soak/`, and in `tests/docyard/mcp_server/` by
`test_stdio.py` and `test_late_imports.py`.

    python -m tests.fork_server serve SOCKET  runs the imports, and forks until its input ends
    python tests/fork_server.py run SOCKET …  is the child's proxy: forwards signals, and exits like the child
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from functools import cache
from os.path import dirname

_ROOT = dirname(dirname(__file__))
_PRELOADED_MODULES = (
    "docyard.commands.serve",
    "docyard.mcp_server.server",
    "index.service",
    "tools.dispatcher",
)
_MAX_REQUEST_BYTES = 1 << 20  # a request contains arguments and an environment
_INTEGER_BYTES = 4  # of a process id or an exit code on the socket


def build_python_command() -> list[str]:
    """Return the start of a command that accepts the arguments of `python`: `-m MODULE …` or a script."""
    if not hasattr(os, "fork"):
        return [sys.executable]
    return [sys.executable, "-I", "-S", __file__, "run", _start_server()]


@cache
def _start_server() -> str:
    """Start the forking process of this pytest process, and return the path of its socket.

    The forking process exits with the pytest process.
    """
    import atexit
    import subprocess
    import tempfile

    folder = tempfile.TemporaryDirectory(prefix="fork-server-")
    path = os.path.join(folder.name, "socket")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fork_server", "serve", path],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    atexit.register(folder.cleanup)
    atexit.register(process.stdin.close)
    assert process.stdout.readline() == b"ready\n", "the forking process did not start"
    return path


def serve(path: str) -> None:
    """Listen on the socket `path`, and fork a child for each request, until the standard input ends."""
    import gc
    import select
    from importlib import import_module

    for name in _PRELOADED_MODULES:
        import_module(name)
    # The server does not wait for children: a process for each request waits for its child.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        while True:
            ready_inputs, _, _ = select.select([listener.fileno(), 0], [], [])
            if 0 in ready_inputs:
                break
            connection, _ = listener.accept()
            if os.fork():
                connection.close()
                continue
            listener.close()
            _serve_request(connection)
            return


def _serve_request(connection: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    data, descriptors, _, _ = socket.recv_fds(connection, _MAX_REQUEST_BYTES, 3)
    while not data.endswith(b"\n"):
        data += connection.recv(_MAX_REQUEST_BYTES)
    child = os.fork()
    if child:
        for descriptor in (0, 1, 2, *descriptors):
            os.close(descriptor)
        connection.sendall(child.to_bytes(_INTEGER_BYTES, "big"))
        threading.Thread(target=_kill_with_proxy, args=(connection, child), daemon=True).start()
        _, status = os.waitpid(child, 0)
        connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(_INTEGER_BYTES, "big", signed=True))
        os._exit(0)
    connection.close()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # Python streams cache whether their descriptor is seekable or a terminal, so create them again.
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    _run_main(**json.loads(data))


def _kill_with_proxy(connection: socket.socket, child: int) -> None:
    """Kill the forked child if its proxy was killed, because SIGKILL cannot be forwarded."""
    if not connection.recv(1):
        os.kill(child, signal.SIGKILL)


def _run_main(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    import runpy

    import pygit2

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    home = environment.get("HOME", "")
    # libgit2 searches for the user's configuration at import, before the environment is set.
    levels = pygit2.enums.ConfigLevel
    pygit2.settings.search_path[levels.GLOBAL] = home
    pygit2.settings.search_path[levels.XDG] = os.path.join(
        environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git"
    )
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


def run(path: str, arguments: list[str]) -> int:
    """Request a forked child that runs the arguments; return its exit code, or exit by its signal."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        request = {"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}
        data = json.dumps(request).encode() + b"\n"
        sent_count = socket.send_fds(connection, [data], [0, 1, 2])
        connection.sendall(data[sent_count:])
        child = int.from_bytes(_receive_integer(connection), "big")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: os.kill(child, number))
        # Only the forked child may have the pipes open.
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        code = int.from_bytes(_receive_integer(connection), "big", signed=True)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _receive_integer(connection: socket.socket) -> bytes:
    data = b""
    while len(data) < _INTEGER_BYTES:
        chunk = connection.recv(_INTEGER_BYTES - len(data))
        if not chunk:
            raise SystemExit("the forking process has exited")
        data += chunk
    return data


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        os._exit(run(sys.argv[2], sys.argv[3:]))
