"""Processes of Python that have the server's imports: `warm.python()` in place of `sys.executable`.

Most of what a server's start costs are imports, the same each time. One process makes them and is forked for
each start: a process of its own with the descriptors, the arguments, the environment and the folder of who
asked, which runs `__main__` from its first line. Cold starts are made by `tests/soak/`, and in
`tests/docyard/mcp_server/` by `test_stdio.py` and `test_late_imports.py`.

    python -m tests.warm serve SOCKET    makes the imports, and forks until its input ends
    python tests/warm.py run SOCKET …    stands for what is forked: passes on signals, ends as it ends
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
_IMPORTS = ("docyard.commands.serve", "docyard.mcp_server.server", "index.service", "tools.registry")
_MOST = 1 << 20  # bytes of a request: arguments and environment
_CODE = 4  # bytes of a number on the wire


def python() -> list[str]:
    """The beginning of a command that takes what `python` takes: `-m MODULE …`, or the path of a script."""
    if not hasattr(os, "fork"):
        return [sys.executable]
    return [sys.executable, "-I", "-S", __file__, "run", _started()]


@cache
def _started() -> str:
    """The socket of the one process of this run, or of this worker of it, that is forked; it ends with it."""
    import atexit
    import subprocess
    import tempfile

    folder = tempfile.TemporaryDirectory(prefix="warm-")
    path = os.path.join(folder.name, "socket")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.warm", "serve", path],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    atexit.register(folder.cleanup)
    atexit.register(process.stdin.close)
    assert process.stdout.readline() == b"ready\n", "the process that is forked did not start"
    return path


def serve(path: str) -> None:
    """Fork for each request, until the standard input ends."""
    import gc
    import select
    from importlib import import_module

    for name in _IMPORTS:
        import_module(name)
    # Who forks does not wait: each request has a process that waits for what it asked for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(64)
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([listening.fileno(), 0], [], [])
            if 0 in ready:
                break
            asked, _ = listening.accept()
            if os.fork():
                asked.close()
                continue
            listening.close()
            _attend(asked)
            return


def _attend(asked: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    data, descriptors, _, _ = socket.recv_fds(asked, _MOST, 3)
    while not data.endswith(b"\n"):
        data += asked.recv(_MOST)
    child = os.fork()
    if child:
        for descriptor in (0, 1, 2, *descriptors):
            os.close(descriptor)
        asked.sendall(child.to_bytes(_CODE, "big"))
        threading.Thread(target=_end_with, args=(asked, child), daemon=True).start()
        _, status = os.waitpid(child, 0)
        asked.sendall(os.waitstatus_to_exitcode(status).to_bytes(_CODE, "big", signed=True))
        os._exit(0)
    asked.close()
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    # The streams know what they were opened on: whether it seeks, whether it is a terminal.
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    _become(**json.loads(data))


def _end_with(asked: socket.socket, child: int) -> None:
    """Kill what was forked when what stands for it was killed, which cannot pass that on."""
    if not asked.recv(1):
        os.kill(child, signal.SIGKILL)


def _become(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    import runpy

    import pygit2

    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    home = environment.get("HOME", "")
    # libgit2 looked for the user's configuration as it was imported.
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
    """Have a process forked that does this, and end as it does."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(path)
        request = {"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}
        data = json.dumps(request).encode() + b"\n"
        sent = socket.send_fds(asked, [data], [0, 1, 2])
        asked.sendall(data[sent:])
        child = int.from_bytes(_exactly(asked), "big")
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(child, number))
        # Only the process that was asked for may hold the ends of the pipes.
        for descriptor in (0, 1, 2):
            os.close(descriptor)
        code = int.from_bytes(_exactly(asked), "big", signed=True)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


def _exactly(asked: socket.socket) -> bytes:
    data = b""
    while len(data) < _CODE:
        more = asked.recv(_CODE - len(data))
        if not more:
            raise SystemExit("the process that forks is gone")
        data += more
    return data


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        os._exit(run(sys.argv[2], sys.argv[3:]))
