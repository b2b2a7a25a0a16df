"""A process with all imports that forks a child for each order in a few milliseconds.

`python -m tests.faults.support.forkserver`, with the shim loaded, reads orders from its input and writes one
line for each. `ForkServer` is its client.
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
class Order:
    """The action of a child, its repository, and the fault to inject at one of its calls."""

    action: str
    repository: str
    options: Mapping[str, Any]
    root: str
    log: str
    point: int = 0
    fault: int = Fault.NONE
    error: int = 0
    stopped: str = os.devnull
    go: str = os.devnull


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a child: True if it was killed, the response of its action, and its calls."""

    killed: bool
    answer: Mapping[str, Any]
    calls: list[Call]

    @property
    def committed(self) -> bool:
        """Return True if the response reports a new commit."""
        return bool(self.answer.get("committed"))


class ForkServer:
    """The server as a child process of the tests."""

    def __init__(self, library: Path, folder: Path) -> None:
        self._folder = folder
        self._number = 0
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
        if self._read() != {"ready": True}:
            raise AssertionError("the fork server did not start")

    def run(self, action: str, repository: Path, **options: Any) -> Ended:
        """Run an action in a child, with the fault of `point`, `fault` and `error`, if any."""
        self.start(action, repository, **options)
        return self.finish()

    def start(
        self,
        action: str,
        repository: Path,
        *,
        point: int = 0,
        fault: Fault = Fault.NONE,
        error: int = 0,
        root: Path | None = None,
        stopped: Path | None = None,
        go: Path | None = None,
        **options: Any,
    ) -> None:
        """Start an action. Only calls below `root` (default: the repository) are counted."""
        self._log.unlink(missing_ok=True)
        order = Order(
            action,
            str(repository),
            options,
            str(root or repository),
            str(self._log),
            point,
            int(fault),
            error,
            str(stopped or os.devnull),
            str(go or os.devnull),
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
        self._process.stdin.flush()

    def finish(self) -> Ended:
        """Wait for the end of the action of `start`. An exception other than WorkspaceError is a failure."""
        report = self._read()
        calls = shim.read_log(self._log)
        if report["signal"] not in (0, signal.SIGKILL):
            raise AssertionError(f"the child died of signal {report['signal']} after {calls[-3:]}")
        answer = report["answer"]
        if "bug" in answer:
            raise AssertionError(answer["bug"])
        return Ended(report["signal"] == signal.SIGKILL, answer, calls)

    def run_stopped(
        self, action: str, repository: Path, point: int, meanwhile: Callable[[], None], **options: Any
    ) -> Ended:
        """Run an action that stops before one of its calls, and continues after `meanwhile`.

        If the action ends before that call, `meanwhile` does not run.
        """
        stopped, go = self._folder / "stopped", self._folder / "go"
        for path in (stopped, go):
            path.unlink(missing_ok=True)
            os.mkfifo(path)
        self.start(action, repository, point=point, fault=Fault.STOP, stopped=stopped, go=go, **options)
        # Each opening waits for the child, which opens the files in the same order.
        with stopped.open("rb", buffering=0) as stopped_end, go.open("wb", buffering=0) as go_end:
            if stopped_end.read(1):
                try:
                    meanwhile()
                finally:
                    go_end.write(b".")
        return self.finish()

    def close(self) -> None:
        """End the server."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=_TIMEOUT_S)

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], 2 * _TIMEOUT_S)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            raise AssertionError("the fork server does not respond")
        answer: dict[str, Any] = json.loads(line)
        return answer


def main() -> None:
    """Run orders until the input ends."""
    with tempfile.TemporaryDirectory() as folder:
        actions.warm(Path(folder))
    gc.collect()
    gc.freeze()
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(_run_order(Order(**json.loads(line)))), flush=True)


def _run_order(order: Order) -> dict[str, Any]:
    answers, answer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(answers)
        # The system kills a blocked child.
        signal.alarm(_TIMEOUT_S)
        with os.fdopen(answer, "wb") as stream:
            stream.write(json.dumps(_run_action(order)).encode())
        os._exit(0)
    os.close(answer)
    with os.fdopen(answers, "rb") as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    return {
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0,
        "answer": json.loads(text or b"{}"),
    }


def _run_action(order: Order) -> Mapping[str, object]:
    log = os.open(order.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    stopped, go = os.open(order.stopped, os.O_WRONLY), os.open(order.go, os.O_RDONLY)

    def arm() -> None:
        shim.arm(order.root, order.point, Fault(order.fault), order.error, log, stopped, go)

    start = time.perf_counter()
    try:
        answer = actions.ACTIONS[order.action](Path(order.repository), arm, **order.options)
    except Exception:
        return {"bug": traceback.format_exc()}
    finally:
        shim.disarm()
    return {**answer, "seconds": time.perf_counter() - start}


if __name__ == "__main__":
    main()
