"""A measurement in a process of its own, so that its memory is its own and no earlier one has warmed it.

python -m benchmarks.child MODULE ARGUMENTS-AS-JSON     prints what MODULE.measure gave, as JSON
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


class MeasurementFailed(Exception):
    """A child process ended with an error; its last words are the message."""


def environment(home: Path) -> dict[str, str]:
    """The variables of a child: what Docyard keeps for a user goes to `home`, and is gone with it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOCYARD_", "GIT_"))}
    return kept | {"XDG_STATE_HOME": str(home / "state"), "XDG_CACHE_HOME": str(home / "cache")}


def measure(module: str, home: Path, **arguments: Any) -> dict[str, Any]:
    """What `benchmarks.<module>.measure(**arguments)` gives in a fresh process, and its `peak_mb`."""
    command = [sys.executable, "-m", "benchmarks.child", module, json.dumps(arguments, default=str)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(home), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise MeasurementFailed(f"{module}: {done.stderr.strip()}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def peak_mb() -> float:
    """The most memory that this process has held, in MB.

    Linux keeps in `ru_maxrss` what the parent held when it started this process, so the high-water mark of
    the address space (proc(5), VmHWM) comes first.
    """
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    except (OSError, IndexError, ValueError):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    found = import_module(f"benchmarks.{sys.argv[1]}").measure(**json.loads(sys.argv[2]))
    print(json.dumps({**found, "peak_mb": peak_mb()}))
