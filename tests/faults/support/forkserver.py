"""A process that has imported all modules, and forks a child for each request in a few milliseconds.

`python -m tests.faults.support.forkserver`, with the shim loaded, reads requests from its standard input and
writes one line of JSON for each request. `ForkServer` is its client.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.faults.support import actions, shim
from tests.faults.support.shim import Call, Fault

ROOT = Path(__file__).resolve().parents[3]
_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """The action of a child, its repository, and the fault to inject at the call with the number `point`."""

    action: str
    repository: str
    options: Mapping[str, Any]
    root: str
    log: str
    point: int = 0
    fault: int = Fault.NONE
    error_number: int = 0
    stopped_pipe: str = os.devnull
    resume_pipe: str = os.devnull


@dataclass(frozen=True, slots=True)
class ChildResult:
    """The result of a child: True if killed, the response of the action, and the state-changing calls."""

    was_killed: bool
    response: Mapping[str, Any]
    calls: list[Call]

    @property
    def is_committed(self) -> bool:
        """Return True if the response reports a new commit."""
        return bool(self.response.get("committed"))


class ForkServer:
    """The client of the fork server, which runs as a child process of the tests."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._folder = folder

        self._log = folder / "log"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.support.forkserver"],
            cwd=ROOT,
            env={
                **os.environ,
                "LD_PRELOAD": str(library),
                "GIT_CONFIG_GLOBAL": os.devnull,
                "GIT_CONFIG_SYSTEM": os.devnull,
                "HOME": str(folder),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        if self._read_line() != {"ready": True}:
            raise AssertionError("the fork server did not start")

    def run(self, action: str, repository: Path, **options: Any) -> ChildResult:
        """Run an action in a child. `options` may contain a fault: `point`, `fault` and `error_number`."""
        self.start(action, repository, **options)
        return self.finish()

    def start(
        self,
        action: str,
        repository: Path,
        *,
        point: int = 0,
        fault: Fault = Fault.NONE,
        error_number: int = 0,
        root: Path | None = None,
        stopped_pipe: Path | None = None,
        resume_pipe: Path | None = None,
        **options: Any,
    ) -> None:
        """Start an action. Only calls on paths below `root` (default: the repository) are counted."""
        self._log.unlink(missing_ok=True)
        request = ActionRequest(
            action,
            str(repository),
            options,
            str(root or repository),
            str(self._log),
            point,
            int(fault),
            error_number,
            str(stopped_pipe or os.devnull),
            str(resume_pipe or os.devnull),
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(request)).encode() + b"\n")
        self._process.stdin.flush()

    def finish(self) -> ChildResult:
        """Wait for the action of `start`, and return its result.

        Raises AssertionError if the action raised an unexpected error, or ended by a signal except SIGKILL.
        """
        report = self._read_line()
        calls = shim.read_log(self._log)
        if report["signal"] not in (0, signal.SIGKILL):
            raise AssertionError(f"the child ended with signal {report['signal']} after {calls[-3:]}")
        response = report["response"]
        if "unexpected_error" in response:
            raise AssertionError(response["unexpected_error"])
        return ChildResult(report["signal"] == signal.SIGKILL, response, calls)

    def run_stopped(
        self, action: str, repository: Path, point: int, while_stopped: Callable[[], None], **options: Any
    ) -> ChildResult:
        """Run an action that stops before the call `point`; call `while_stopped`; then continue the action.

        If the action ends before that call, `while_stopped` is not called.
        """
        stopped_pipe, resume_pipe = self._folder / "stopped", self._folder / "resume"
        for path in (stopped_pipe, resume_pipe):
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        self.start(
            action,
            repository,
            point=point,
            fault=Fault.STOP,
            stopped_pipe=stopped_pipe,
            resume_pipe=resume_pipe,
            **options,
        )
        # Each open() waits for the child, which opens the pipes in the same order.
        with (
            stopped_pipe.open("rb", buffering=0) as stopped_stream,
            resume_pipe.open("wb", buffering=0) as resume_stream,
        ):
            if stopped_stream.read(1):
                try:
                    while_stopped()
                finally:
                    resume_stream.write(b".")
        return self.finish()

    def close(self) -> None:
        """Stop the server."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=_TIMEOUT_S)

    def _read_line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], 2 * _TIMEOUT_S)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            raise AssertionError("the fork server does not respond")
        response: dict[str, Any] = json.loads(line)
        return response


def main() -> None:
    """Run the requests of the standard input until its end."""
    with tempfile.TemporaryDirectory() as folder:
        actions.run_all_actions(Path(folder))
    gc.collect()
    gc.freeze()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(_run_request(ActionRequest(**json.loads(line)))), flush=True)


def _run_request(request: ActionRequest) -> dict[str, Any]:
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        # The alarm kills a child that does not end.
        signal.alarm(_TIMEOUT_S)
        with os.fdopen(write_end, "wb") as stream:
            stream.write(json.dumps(_run_action(request)).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    return {
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        "response": json.loads(text or b"{}"),
    }


def _run_action(request: ActionRequest) -> Mapping[str, object]:
    log = os.open(request.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    stopped_pipe, resume_pipe = (
        os.open(request.stopped_pipe, os.O_WRONLY),
        os.open(request.resume_pipe, os.O_RDONLY),
    )

    def arm() -> None:
        shim.arm(
            request.root,
            request.point,
            Fault(request.fault),
            request.error_number,
            log,
            stopped_pipe,
            resume_pipe,
        )

    start = time.perf_counter()
    try:
        response = actions.ACTIONS[request.action](Path(request.repository), arm, **request.options)
    except Exception:
        return {"unexpected_error": traceback.format_exc()}
    finally:
        shim.disarm()
    return {**response, "seconds": time.perf_counter() - start}


if __name__ == "__main__":
    main()
